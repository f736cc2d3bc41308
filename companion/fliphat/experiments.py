"""The settings of the paper's experiments, errors of N-IHT for any number of rows, and the terms of
the regret proof on a run.

Source: the FLIPHAT paper, section 6 and Theorem 4.1.
"""

import numpy as np

from companion.fliphat.accounting import exact_factor, gradient_sensitivity
from companion.fliphat.environments import gaussian_statistics
from companion.fliphat.policy import fliphat
from companion.fliphat.regression import Regression, niht_statistics, work_for
from companion.fliphat.residual import residual_fliphat
from companion.fliphat.shortcuts import simulate_sparse
from companion.simulate import need_run, need_seeds, over, stream
from companion.validate import need_array, need_int, need_positive


def as_published(epsilon: float, d: int, T: int, *, signal: str, **options):
    """FLIPHAT with the paper's noise, b_max = |signal|_1, contexts not clipped; named by epsilon.

    options: as for `fliphat`.
    """
    options = {"calibration": "paper", "b_max": np.abs(signal).sum()} | options
    return fliphat(d, T, epsilon=epsilon, **options).renamed(f"ε = {epsilon:g}")


def honest_variants(
    epsilon: float, d: int, T: int, *, signal: str, sparsity: int, delta: float = 0.01
):
    """{name: residual FLIPHAT} with all bounds 1: "one step", "warm start", "three steps".

    Like the published runs, they take the radius |signal|_1 of the l1 ball from the truth.
    """
    options = {"sparsity": sparsity, "epsilon": epsilon, "delta": delta}
    options["l1_radius"] = np.abs(signal).sum()
    return {
        "one step": residual_fliphat(d, T, iterations=1, **options),
        "warm start": residual_fliphat(d, T, iterations=1, warm=True, **options),
        "three steps": residual_fliphat(d, T, iterations=3, **options),
    }


def scaling(worlds, budgets, T: int, seeds, executor=None):
    """{epsilon: regret after T rounds of the published algorithm, (n_reps, len(worlds))}.

    worlds: {name: (environment, options of `as_published`)}; each has streams of its own, named
    after it; budgets: values of epsilon.  Raises ValueError as `simulate_sparse`.
    """
    final = []
    for name, (env, options) in worlds.items():
        policies = [as_published(e, env.d, T, **options) for e in budgets]
        policies = [p.renamed(f"{p.name}, {name}") for p in policies]
        final.append(simulate_sparse(env, policies, T, seeds, executor, grid=[T]).final)
    return {e: np.stack([y[:, i] for y in final], axis=1) for i, e in enumerate(budgets)}


def niht_errors(
    truth: np.ndarray,
    ns,
    epsilons,
    seeds,
    executor=None,
    *,
    sparsity: int,
    delta: float,
    iterations: int = 6,
    eta: float = 0.4,
) -> np.ndarray:
    """Squared errors of N-IHT on n > d Gaussian rows with N(0, 1) errors, (n_reps, len(epsilons),
    len(ns)); one data set for all epsilons.

    truth (d,); noise by exact composition, as for contexts clipped to 3 and rewards to 6 (the rows
    themselves are not clipped); radius |truth|_1; epsilons may be inf.  Raises ValueError on
    anything else.
    """
    truth, eta = need_array("truth", truth, ("d",)), need_positive("eta", eta)
    iterations = need_int("iterations", iterations, 1)
    sparsity = need_int("sparsity", sparsity, 1, len(truth))
    ns = [need_int("ns", n, len(truth) + 1) for n in ns]
    factors = [exact_factor(sparsity * iterations, e, delta) for e in epsilons]
    jobs = [(s, truth, ns, factors, sparsity, iterations, eta) for s in need_seeds(seeds)]
    return np.stack(over(_errors, jobs, executor))


def _errors(seed, truth, ns, factors, sparsity, iterations, eta):
    """Errors of one repetition, (len(factors), len(ns))."""
    rng, d, radius = np.random.default_rng(seed), len(truth), np.abs(truth).sum()
    found = np.empty((len(factors), len(ns)))
    for i, n in enumerate(ns):
        G, c = gaussian_statistics(rng, n, truth, 1.0)
        for j, factor in enumerate(factors):
            xi = gradient_sensitivity(n, eta, 3.0, 6.0 + 3.0 * radius) * factor
            q = Regression(sparsity, iterations, eta, radius, np.inf, np.inf, np.inf, xi, xi)
            theta, picks, errors = np.zeros(d), np.zeros(sparsity, np.int64), np.empty(iterations)
            w = work_for(d, sparsity)
            niht_statistics(q, G, c, n, rng, theta, picks, 0, w, errors, truth)
            found[j, i] = errors[-1]
    return found


def regret_terms(env, policy, T: int, seeds, executor=None) -> np.ndarray:
    """Terms in the proof of Theorem 5.6, means over the rounds of an episode (n_reps, episodes, 4):
    regret, 2 phi, 2 phi in rounds whose gap is at most 2 phi, share of such rounds.

    phi = max_k |x_k'(estimate - beta)| in a round; in each, regret is at most 2 phi, and 0 if the
    gap is larger.  T, seeds, executor as in `simulate`; the last episode may be cut short.
    """
    (policy,), T, seeds, _ = need_run((policy,), T, seeds, None)
    return np.stack(over(_terms, [(env, policy, T, seed) for seed in seeds], executor))


def _terms(env, policy, T, seed):
    """`regret_terms` of one repetition."""
    p, state, found = policy.params, policy.init(policy.params), []
    blocks = env.blocks(T, stream(seed, "environment"))
    X, R, mu = (np.concatenate(part) for part in zip(*blocks, strict=True))
    noise = stream(seed, policy.name)
    for episode in range(int(T).bit_length()):
        rows = slice(2**episode - 1, min(2 ** (episode + 1) - 1, T))
        off = 2 * np.abs(X[rows] @ (state.theta_hat - env.beta)).max(axis=1)
        arms = np.empty(len(off), np.int64)
        state = policy.play(p, state, X[rows], R[rows], noise, arms)
        ranked = np.sort(mu[rows], axis=1)
        lost = ranked[:, -1] - mu[rows][np.arange(len(arms)), arms]
        close = ranked[:, -1] - ranked[:, -2] <= off
        found.append([lost.mean(), off.mean(), (off * close).mean(), close.mean()])
    return np.array(found)
