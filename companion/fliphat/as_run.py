"""What the program behind the FLIPHAT paper's figures ran, where that departs from the paper:
reused noise.

The random key of the i-th pick of episode l equals that of pick i - 1 of episode l + 1, so the same
unit Laplace vectors come back, one place earlier.  False positives persist, and Theorem 5.1's
proof, which needs fresh noise, does not apply: no guarantee. Used only by the cell that explains
the published numbers for many arms.  (Its other departures need no code: the iteration rate is 0.16
where the paper prints 1.6, contexts are not clipped; both are arguments of `fliphat`.)
"""

import numpy as np

from companion.fliphat.episodes import Params, init
from companion.fliphat.regression import l1_project
from companion.fliphat.shortcuts import aggregated_is_exact, need_sparse_run
from companion.fliphat.two_scores import play_episode, scored
from companion.jit import jit
from companion.kernels.mechanisms import laplace
from companion.simulate import over, stream


@jit
def release(p, s, n, episode, rng, pool):
    """One step from zero; pick i uses the unit Laplace vector pool[episode + i]."""
    w, xi = s.work, p.xi_first[episode]
    w.taken[:], s.theta_hat[:] = False, 0.0
    for j in range(p.d):
        w.v[j] = p.eta * 2.0 / n * w.moment[j]
    for i in range(p.sparsity):
        best, at = -np.inf, 0
        for j in range(p.d):
            z = abs(w.v[j]) + xi * pool[episode + i, j]
            if not w.taken[j] and z > best:
                best, at = z, j
        w.taken[at] = True
        s.picks[i] = at
    for i in range(p.sparsity):
        s.theta_hat[s.picks[i]] = w.v[s.picks[i]] + laplace(rng, xi)
    l1_project(s.theta_hat, s.picks, p.sparsity, p.l1_radius, w.magnitudes)
    return p.sparsity


@jit
def run(p, s, w, rng, noise_rng, pool, grid, regret):
    """`runs.run_scores` with the reused noise."""
    size, episode = 0, 0
    for i in range(pool.shape[0]):
        for j in range(p.d):
            pool[i, j] = laplace(noise_rng, 1.0)
    while 1 << episode <= grid[-1]:
        play_episode(p, s, w, episode, size, rng, grid, regret)
        if 2 << episode <= grid[-1] and p.iterations[episode] == 1:
            size = release(p, s, 1 << episode, episode, noise_rng, pool)
        episode += 1


def final_regret(env, policy, T: int, seeds, executor=None) -> np.ndarray:
    """Regret after T rounds, (n_reps,), of a one-step policy with the program's noise.

    Arguments as in `simulate_sparse`, one policy; raises ValueError as it does, and for a policy
    of more than one step.
    """
    (policy,), T, seeds, _ = need_sparse_run(env, (policy,), T, seeds)
    if not (isinstance(policy.params, Params) and aggregated_is_exact(policy)):
        raise ValueError(
            f"policy must be a one-step FLIPHAT on unclipped contexts; got {policy.name!r}"
        )
    jobs = [(env, policy, T, seed) for seed in seeds]
    return np.array(over(_repetition, jobs, executor))


def _repetition(env, policy, T, seed):
    """Regret after T rounds of one repetition."""
    p = policy.params
    contexts, noise = stream(seed, f"contexts of {policy.name}"), stream(seed, policy.name)
    pool, grid, regret = np.empty((len(p.iterations) + p.sparsity, p.d)), np.array([T]), np.zeros(1)
    run(p, init(p, 0), scored(env), contexts, noise, pool, grid, regret)
    return regret[0]
