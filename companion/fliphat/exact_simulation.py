"""Exact simulation of one-step FLIPHAT on autoregressive contexts: the same law of regret
as `simulate`, with 2 K normals per round in place of K d.

While one estimate is in use, a row x is N(0, Sigma), and arms, rewards and regrets depend
on its two scores z = x'theta, mu = x'beta alone.  With the Cholesky factor L of their
covariance (z, mu) = L e for standard normals e, and x = H e + r with H = Cov(x, e) and a
residual r that is normal and independent of e, so of everything that was decided.  Given
all e and rewards, the moment u = sum clip(y_t) x_t of the rows that were played, of which
a release makes its one step, is

    u = H sum clip(y_t) e_t + (sum clip(y_t)^2)^(1/2) r,    r = v - H e(v),

where v is one fresh row for the whole episode: a fresh row has a residual of the law of
r.

Exact if every release is at most one step from zero, on the rows of one episode, and
nothing but rewards is clipped (`is_exact`); refused otherwise.  A test compares the law
with `simulate`.
"""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np

from companion.fliphat.environments import Autoregressive, draw_noise, draw_row
from companion.fliphat.fliphat import Params, clip, init, l1_project, sparse_dot, step
from companion.jit import borrowed, jit
from companion.kernels.linalg import dot
from companion.kernels.mechanisms import laplace, random_integer
from companion.simulate import as_result, go_on, need_run, parallel_map, stream
from companion.validate import need_choice

COLLINEAR = 1e-12  # share of the variance of mu beside z, below which z says all of mu


class KernelEnvironment(NamedTuple):
    """An `Autoregressive` environment in the form that kernels take, with work arrays."""

    K: int
    beta: np.ndarray  # (d,)
    support: np.ndarray  # the coordinates where beta is not zero
    phi: float
    uniform: bool
    noise: float
    H: np.ndarray  # (2, d) Cov(e, x)
    L: np.ndarray  # (3,) z = L_0 e_1, mu = L_1 e_1 + L_2 e_2
    x: np.ndarray  # (d,) a fresh row
    # (4,) of clip(y) e_1, clip(y) e_2, clip(y)^2 over an episode; regret so far
    sums: np.ndarray


def kernel_environment(env) -> KernelEnvironment:
    """The `KernelEnvironment` of an `Autoregressive` environment."""
    return KernelEnvironment(
        K=env.K,
        beta=env.beta,
        support=np.flatnonzero(env.beta),
        phi=env.phi,
        uniform=env.rewards == "uniform",
        noise=env.noise,
        H=np.zeros((2, env.d)),
        L=np.zeros(3),
        x=np.zeros(env.d),
        sums=np.zeros(4),
    )


@jit
def multiply_covariance(phi, v, out):
    """out (d,) <- Sigma v, Sigma_ij = phi^|i-j|: sums from the left and from the
    right."""
    d = v.shape[0]
    s = 0.0
    for i in range(d):
        s = phi * s + v[i]
        out[i] = s
    s = 0.0
    for i in range(d - 1, -1, -1):
        out[i] += phi * s
        s = phi * s + v[i]


@jit
def factor_scores(env, theta):
    """env.L, env.H <- Cholesky factor of the scores of this estimate, and Cov(e, x).

    A part of no variance (theta = 0; beta along theta, or 0) gets weight 0 and direction
    0.
    """
    first = env.H[0]
    second = env.H[1]
    multiply_covariance(env.phi, theta, first)
    multiply_covariance(env.phi, env.beta, second)
    a = np.sqrt(max(dot(theta, first), 0.0))
    variance = dot(env.beta, second)
    for i in range(theta.shape[0]):
        first[i] = first[i] / a if a > 0.0 else 0.0
    b = dot(env.beta, first)
    rest = variance - b * b
    c = np.sqrt(rest) if rest > COLLINEAR * variance else 0.0
    for i in range(theta.shape[0]):
        second[i] = (second[i] - b * first[i]) / c if c > 0.0 else 0.0
    env.L[0] = a
    env.L[1] = b
    env.L[2] = c


@jit
def play_round(env, at_random, bound, rng):
    """Draw the scores of the arms, play greedily or at random, draw the reward; env.sums
    take in clip(y) e, clip(y)^2 and the regret."""
    best_z = -np.inf
    best_mu = -np.inf
    played_mu = 0.0
    played_1 = 0.0
    played_2 = 0.0
    arm = random_integer(rng, env.K) if at_random else -1
    for k in range(env.K):
        e_1 = rng.standard_normal()
        e_2 = rng.standard_normal()
        z = env.L[0] * e_1
        mu = env.L[1] * e_1 + env.L[2] * e_2
        best_mu = max(best_mu, mu)
        if k == arm or (not at_random and z > best_z):
            best_z = z
            played_mu = mu
            played_1 = e_1
            played_2 = e_2
    y = clip(played_mu + draw_noise(rng, env.uniform, env.noise), bound)
    env.sums[0] += y * played_1
    env.sums[1] += y * played_2
    env.sums[2] += y * y
    env.sums[3] += best_mu - played_mu


@jit
def draw_moment(env, s, rng):
    """s.moment (d,) <- u of the module's formula."""
    draw_row(env.phi, rng, env.x)  # v
    scale = np.sqrt(env.sums[2])
    a = env.L[0]
    b = env.L[1]
    c = env.L[2]
    z = sparse_dot(env.x, s.theta_hat, s.picks, s.picks.shape[0])
    mu = sparse_dot(env.x, env.beta, env.support, env.support.shape[0])
    e_1 = z / a if a > 0.0 else 0.0  # e(v)
    e_2 = (mu - b * e_1) / c if c > 0.0 else 0.0
    weight_1 = env.sums[0] - scale * e_1
    weight_2 = env.sums[1] - scale * e_2
    for j in range(env.x.shape[0]):
        s.moment[j] = scale * env.x[j] + (weight_1 * env.H[0, j] + weight_2 * env.H[1, j])


@jit
def step_with_unit_noise(p, s, episode, n, unit_noise, rng):
    """`step` in which the noise of pick i is xi times unit_noise[i] (sparsity or more,
    d)."""
    xi = p.xi_first[episode]
    s.taken[:] = False
    for j in range(p.d):
        s.v[j] = p.eta * 2.0 / n * s.moment[j]
    for i in range(p.sparsity):
        best = -np.inf
        at = 0
        for j in range(p.d):
            z = abs(s.v[j]) + xi * unit_noise[i, j]
            if not s.taken[j] and z > best:
                best = z
                at = j
        s.taken[at] = True
        s.picks[i] = at
    for i in range(p.sparsity):
        s.theta_hat[s.picks[i]] = s.v[s.picks[i]] + laplace(rng, xi)
    l1_project(s.theta_hat, s.picks, p.sparsity, p.l1_radius, s.magnitudes)
    s.n_picks[0] = p.sparsity


@jit
def play_episodes(p, s, env, rng, noise_rng, reused, grid, regret):
    """Play to round grid[-1]; regret[i] <- cumulative regret after round grid[i].

    reused: empty, or (episodes + sparsity, d), overwritten with the unit noise of all
    releases.
    """
    p = borrowed(p)
    s = borrowed(s)
    env = borrowed(env)
    at = 0
    episode = 0
    for i in range(reused.shape[0]):
        for j in range(p.d):
            reused[i, j] = laplace(noise_rng, 1.0)
    while 1 << episode <= grid[-1]:
        released = episode < p.iterations.shape[0]
        bound = p.reward_clip[episode] if released else np.inf
        factor_scores(env, s.theta_hat)
        env.sums[:3] = 0.0
        for t in range(1 << episode, min((2 << episode) - 1, grid[-1]) + 1):
            play_round(env, s.n_picks[0] == 0, bound, rng)
            if t == grid[at]:
                regret[at] = env.sums[3]
                at += 1
        if released:
            draw_moment(env, s, rng)
        if 2 << episode <= grid[-1]:
            s.theta_hat[:] = 0.0
            s.n_picks[0] = 0
            if p.iterations[episode] == 1 and reused.shape[0] > 0:
                step_with_unit_noise(
                    p,
                    s,
                    episode,
                    1 << episode,
                    reused[episode:],
                    noise_rng,
                )
            elif p.iterations[episode] == 1:
                step(p, s, episode, 0, 1 << episode, noise_rng)
        episode += 1


def is_exact(policy) -> bool:
    """Whether `simulate_one_step` has the law of this FLIPHAT policy."""
    p = policy.params
    if not isinstance(p, Params):
        return False
    unclipped = p.row_clip == p.gradient_clip == p.residual_clip == np.inf
    one_step = p.iterations.max(initial=0) <= 1
    return unclipped and one_step and p.forget and not p.warm_start


def simulate_one_step(
    env,
    policies,
    T: int,
    seeds,
    *,
    grid=None,
    reuse_noise: bool = False,
):
    """`simulate` for one-step FLIPHAT policies on an `Autoregressive` environment.

    Arguments and result as in `companion.simulate.simulate`; but policies of one
    repetition draw contexts of their own.  reuse_noise=True is what the authors'
    program does: pick i of episode l has the unit noise of pick i - 1 of episode l + 1,
    which voids the guarantee. Raises ValueError on another environment, and on a policy
    for which this is not exact.
    """
    policies, T, seeds, grid = need_run(policies, T, seeds, grid)
    need_choice("reuse_noise", reuse_noise, (True, False))
    if not isinstance(env, Autoregressive):
        raise ValueError(
            f"env must be an Autoregressive environment; got {type(env).__name__}"
        )
    for p in policies:
        if not is_exact(p) or p.params.d != env.d:
            raise ValueError(
                "policies must be FLIPHAT of at most one step, from zero, on unclipped "
                f"contexts of dimension d={env.d}; got {p.name!r}"
            )
    jobs = [(env, policies, grid, reuse_noise, seed) for seed in seeds]
    return as_result(policies, grid, parallel_map(_repetition, jobs))


def _repetition(env, policies, grid, reuse_noise, seed):
    """One repetition: (regret (n_policies, n_grid), seconds (n_policies,)), contexts
    included."""
    regret = np.zeros((len(policies), len(grid)))
    seconds = np.zeros(len(policies))
    for i, policy in enumerate(policies):
        go_on()
        p = policy.params
        begin = time.thread_time()
        contexts = stream(seed, f"contexts of {policy.name}")
        noise = stream(seed, policy.name)
        noise_rows = len(p.iterations) + p.sparsity if reuse_noise else 0
        reused = np.empty((noise_rows, p.d))
        state = init(p, 0)
        arrays = kernel_environment(env)
        play_episodes(p, state, arrays, contexts, noise, reused, grid, regret[i])
        seconds[i] = time.thread_time() - begin
    return regret, seconds
