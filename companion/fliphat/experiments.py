"""Drivers of the chapter's figures, and theory's closed forms.

Source: the FLIPHAT paper, section 6 (settings), appendix C (lower bound), Theorem 4.1
(N-IHT).
"""

from __future__ import annotations

from functools import partial

import numpy as np
from scipy.optimize import brentq
from scipy.stats import binom, norm

from companion.fliphat import fliphat as algorithm
from companion.fliphat.environments import gaussian_statistics
from companion.fliphat.exact_simulation import simulate_one_step
from companion.fliphat.fliphat import fliphat, residual_fliphat
from companion.jit import jit
from companion.simulate import need_seeds
from companion.validate import need_array, need_int, need_positive, need_probability

# Settings


def as_published(
    epsilon: float,
    d: int,
    T: int,
    *,
    signal,
    **options,
):
    """FLIPHAT with the paper's noise, b_max = |signal|_1, raw contexts; named by epsilon.

    options: what else `fliphat` takes.
    """
    policy = fliphat(
        d,
        T,
        epsilon=epsilon,
        b_max=np.abs(signal).sum(),
        calibration="paper",
        **options,
    )
    return policy.renamed(f"ε = {epsilon:g}")


def private_variants(
    epsilon: float,
    d: int,
    T: int,
    *,
    signal,
    sparsity: int,
    delta: float,
):
    """{name: FLIPHAT with a proved guarantee}: "corrected" has the paper's constants,
    "one step", "warm start" and "three steps" clip gradients with all bounds 1.

    Like the published runs, they take the radius |signal|_1 of the l1 ball from the
    truth.
    """
    options = {"sparsity": sparsity, "epsilon": epsilon, "delta": delta}
    radius = np.abs(signal).sum()
    residual = partial(residual_fliphat, d, T, l1_radius=radius, **options)
    return {
        "corrected": fliphat(d, T, b_max=radius, **options),
        "one step": residual(iterations=1),
        "warm start": residual(iterations=1, warm_start=True),
        "three steps": residual(iterations=3),
    }


# Drivers


def final_regrets(settings, epsilons, T: int, seeds, *, noise: float = 1.0):
    """{epsilon: regret after T rounds of the published algorithm, (n_reps,
    len(settings))}.

    settings: {name: (environment, options of `as_published`)}; each has streams of its
    own, named after it.  noise: the share of the published noise that is drawn, above 0
    (that of epsilon / noise).  Raises ValueError as `simulate_one_step`.
    """
    noise = need_positive("noise", noise)
    final = []
    for name, (env, options) in settings.items():
        policies = [as_published(e / noise, env.d, T, **options) for e in epsilons]
        policies = [p.renamed(f"{p.name}, {name}") for p in policies]
        final.append(simulate_one_step(env, policies, T, seeds, grid=[T]).final)
    by_policy = np.stack(final, axis=2).swapaxes(0, 1)
    return dict(zip(epsilons, by_policy, strict=True))


@jit
def niht_from_gram(p, s, G, c, n, rng):
    """s.theta_hat <- Algorithm 1 from G = X'X, c = X'y of n rows (no clipping): cost free
    of n."""
    for m in range(p.iterations[0]):
        for j in range(p.d):
            s.moment[j] = c[j] - algorithm.sparse_dot(
                G[j],
                s.theta_hat,
                s.picks,
                s.n_picks[0],
            )
        algorithm.step(p, s, 0, m, n, rng)


def niht_errors(
    truth,
    ns,
    epsilons,
    seeds,
    *,
    sparsity: int,
    delta: float,
    iterations: int,
) -> np.ndarray:
    """Squared errors of N-IHT on n > d Gaussian rows with N(0, 1) errors, (n_reps,
    len(epsilons), len(ns)); one data set for all epsilons.

    truth (d,); noise by exact composition, as for contexts clipped to 3 and rewards to 6
    (the rows themselves are not clipped); radius |truth|_1; epsilons may be inf.  Raises
    ValueError on anything else.
    """
    truth = need_array("truth", truth, ("d",))
    seeds = need_seeds(seeds)
    radius = np.abs(truth).sum()
    problems = []
    for epsilon in epsilons:
        policy = residual_fliphat(
            len(truth),
            2,  # rounds: one release, on one row
            sparsity=sparsity,
            epsilon=epsilon,
            delta=delta,
            x_clip=3.0,
            residual_clip=6.0 + 3.0 * radius,
            l1_radius=radius,
            eta=0.4,
            iterations=iterations,
            min_rows=1,
        )
        problems.append(policy.params)
    errors = np.empty((len(seeds), len(problems), len(ns)))
    for r, seed in enumerate(seeds):
        rng = np.random.default_rng(seed)
        for i, n in enumerate(ns):
            G, c = gaussian_statistics(rng, n, truth, 1.0)
            for j, p in enumerate(problems):
                xi = p.xi_first / n  # n rows: the sensitivity is one n-th
                p = p._replace(xi_first=xi, xi_rest=xi)
                s = algorithm.init(p, 0)
                niht_from_gram(p, s, G, c, n, rng)
                errors[r, j, i] = ((s.theta_hat - truth) ** 2).sum()
    return errors


# Exact loss of signs that are released with noise


def epsilon_of_signs(u: float, count: int, delta: float) -> float:
    """Exact epsilon at delta of `count` independent signs of u or -u plus unit Laplace
    noise."""
    right = np.arange(count + 1)
    # log(right / wrong) for each sign
    loss = (2 * right - count) * (u + np.log(2 - np.exp(-u)))
    chance = binom.pmf(right, count, 1 - 0.5 * np.exp(-u))

    def excess(epsilon):
        return chance @ -np.expm1(np.minimum(epsilon - loss, 0.0)) - delta

    if excess(0.0) <= 0.0:
        return 0.0
    return float(brentq(excess, 0.0, loss[-1]))


# What the printed noise of several steps guarantees


def printed_epsilon(
    epsilon: float,
    steps: int,
    *,
    sparsity: int,
    delta: float,
    x_max: float,
    factor: float = 4.0,
) -> float:
    """Epsilon that exact composition proves of a release of `steps` steps with the
    printed noise.

    One row moves a step by `factor` x_max times what Algorithm 1 takes: 4 for the loss of
    section 4, 2 for the halved loss of appendix E.2.  Its picks and values get the noise
    of Algorithm 3 with the budget (epsilon, delta) divided by steps.  A replaced row;
    steps >= 1.
    """
    multiplier = algorithm.paper_multiplier(sparsity, epsilon, delta, steps)
    ratio = factor * x_max / multiplier
    return algorithm.composition_epsilon(delta, sparsity * steps, ratio)


MOST_STEPS = 1000


def enough_steps(epsilon: float, **setting) -> int:
    """Least number of steps at which the printed noise is proved to give epsilon.

    setting: as for `printed_epsilon`.  Raises ValueError if MOST_STEPS are not enough.
    """
    for steps in range(1, MOST_STEPS + 1):
        if printed_epsilon(epsilon, steps, **setting) <= epsilon:
            return steps
    raise ValueError(
        f"epsilon={epsilon} needs more than {MOST_STEPS} steps of the printed noise"
    )


# Closed forms


def maximum_moment(K: int, power: float = 1) -> float:
    """E max(z_1, ..., z_K)^power for K >= 1 independent standard normal z."""
    K = need_int("K", K, 1)
    return norm.expect(lambda z: K * z**power * norm.cdf(z) ** (K - 1))


def random_regret(env, T: int) -> float:
    """Expected regret of random play in T rounds of an `Autoregressive` environment."""
    return need_int("T", T, 1) * maximum_moment(env.K) * env.reward_scale


def one_step_fixed_point(env, sparsity: int):
    """(theta, regret per round there) of one step from zero per episode, without noise
    and with ever more rows.

    The map sends theta to the `sparsity` largest entries of E[x x'beta] under greedy play
    for theta; it is iterated from beta 100 times.  The moments are our own (the chapter's
    proposition).
    """
    sparsity = need_int("sparsity", sparsity, 1, env.d)
    cov = env.phi ** np.abs(np.subtract.outer(np.arange(env.d), np.arange(env.d)))
    first = maximum_moment(env.K)
    second = maximum_moment(env.K, 2)
    theta = env.beta.copy()
    for _ in range(100):
        slope = theta @ cov @ env.beta / (theta @ cov @ theta)
        moment = cov @ env.beta + (second - 1) * slope * (cov @ theta)
        largest = np.argsort(-np.abs(moment))[:sparsity]
        theta = np.zeros(env.d)
        theta[largest] = moment[largest]
    best = np.sqrt(env.beta @ cov @ env.beta)
    played = theta @ cov @ env.beta / np.sqrt(theta @ cov @ theta)
    return theta, first * (best - played)


def zcdp_root(epsilon: float, delta: float) -> float:
    """The positive root z of epsilon - sqrt(z log(1/delta)) - z/4 + 5 z^(1/4) = 0
    (appendix C)."""
    epsilon = need_positive("epsilon", epsilon)
    delta = need_probability("delta", delta)
    # a polynomial in t = z^(1/4)
    t = np.roots([0.25, 0.0, np.sqrt(np.log(1 / delta)), -5.0, -epsilon])
    positive = (np.abs(t.imag) < 1e-9) & (t.real > 0)
    return float(t[positive].real.max() ** 4)
