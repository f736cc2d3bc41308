"""The settings of the paper's experiments, and the errors of N-IHT for any number of rows.

Source: the FLIPHAT paper, section 6 and Theorem 4.1.
"""

import numpy as np

from companion.checks import need_array, need_int, need_positive
from companion.fliphat.accounting import exact_factor, gradient_sensitivity
from companion.fliphat.environments import gaussian_statistics
from companion.fliphat.policy import fliphat
from companion.fliphat.regression import Regression, niht_statistics, work_for
from companion.fliphat.residual import residual_fliphat
from companion.fliphat.shortcuts import simulate_sparse
from companion.simulate import need_seeds, over


def as_published(epsilon, d, T, *, signal, **options):
    """FLIPHAT with the paper's noise, b_max = |signal|_1, contexts not clipped; named by epsilon.

    options: as for `fliphat`.
    """
    options = {"calibration": "paper", "b_max": np.abs(signal).sum()} | options
    return fliphat(d, T, epsilon=epsilon, **options).renamed(f"ε = {epsilon:g}")


def honest_variants(epsilon, d, T, *, signal, sparsity, delta=0.01):
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


def scaling(worlds, budgets, T, seeds, executor=None):
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
    truth, ns, epsilons, seeds, executor=None, *, sparsity, delta, iterations=6, eta=0.4
):
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
