"""Repeated runs for experiments: estimation on a design, and whole bandit runs, with every argument checked.

Kernels run without the global lock, so calls in threads run in parallel (`each`).
"""

import os
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from companion._jit import jit
from companion.checks import need_choice, need_float, need_int, need_positive
from companion.linalg import dot
from companion.lplr.baselines import (
    perturbed_inputs,
    ssp_estimate,
    ssp_model,
    ssp_params,
    ssp_sums,
)
from companion.lplr.fit import fit_messages, fit_sums, workspace
from companion.lplr.params import MAX_USERS, lplr_params
from companion.lplr.regret import EPOCHS, elimination, ldp_linucb_batched, space
from companion.lplr.tree import ACTIVE, Tree, interval, plant, predict, reset, tree_of
from companion.stats import Interval


class Trials(NamedTuple):
    """Estimation runs, one entry per repetition; expectations are over the design."""

    mad: np.ndarray  # mean absolute error of the plug-in estimate
    mse: np.ndarray  # mean square error of the plug-in estimate
    width: np.ndarray  # mean half-width, 1 where the interval is trivial
    covered: np.ndarray  # 1 if every point's interval holds its mean
    active: np.ndarray  # bins with a model


class Runs(NamedTuple):
    """Bandit runs, one entry per repetition."""

    regret: np.ndarray
    lost: np.ndarray  # optimal arms eliminated
    missed: np.ndarray  # intervals that missed their mean
    log: np.ndarray  # (n_reps, EPOCHS, 5) see `regret.elimination`


def each(jobs, workers=None):
    """Call every function of `jobs` (no arguments) in a pool of threads; the results in order."""
    with ThreadPoolExecutor(workers or os.cpu_count()) as pool:
        return [f.result() for f in [pool.submit(job) for job in jobs]]


def generator(seed, *key):
    """A random stream named by integers: `seed` and any number of further ones."""
    return np.random.default_rng([need_int("seed", seed, 0), *key])


def users(n):
    """n as an int in [1, MAX_USERS]."""
    return need_int("n", n, 1, MAX_USERS)


@jit
def _score(p, tree, points, means, prob, residual, out):
    """out <- (mad, mse, width, covered, active) of a fitted tree."""
    out[0] = out[1] = out[2] = out[4] = 0.0
    out[3] = 1.0
    for j in range(points.shape[0]):
        f, _ = predict(p, tree, points[j], residual)
        out[0] += prob[j] * abs(f - means[j])
        out[1] += prob[j] * (f - means[j]) ** 2
        f, width = interval(p, tree, points[j], residual)
        out[2] += prob[j] * width
        if abs(f - means[j]) > width + 1e-12:
            out[3] = 0.0
    for b in range(tree.start[p.d]):
        out[4] += tree.link[b, ACTIVE]


def estimate_lplr(design, p, n, n_reps, rng, *, signs=True):
    """n_reps >= 1 LPLR runs with p (`lplr_params`) on n users from a design, n // (2d) per stage.

    signs: labels are +1 or -1 (else noiseless).  Raises ValueError if n < 2d, n > 1e18 or p has another dimension.
    """
    K, d = design.points.shape
    n = need_int("n", n, 2 * d, MAX_USERS)
    if p.d != d:
        raise ValueError(f"p must have the design's dimension d={d}; got d={p.d}")
    out = np.zeros((need_int("n_reps", n_reps, 1), 5))
    zero, plays = np.zeros(K, dtype=np.int64), np.zeros(K, dtype=np.int64)
    forest, work, residual = plant(p, 1), workspace(K, d), np.empty(d)
    tree = Tree(*[a[0] for a in forest])
    law = (design.points, design.means, design.prob)
    for row in out:
        fit_sums(p, forest, *law, zero, n // (2 * d), bool(signs), rng, plays, work)
        _score(p, tree, *law, residual, row)
    return Trials(*out.T)


def fit_design(design, p, n, rng, *, signs=True):
    """One tree fitted with p to n users from a design, n // (2d) per stage; arguments as for `estimate_lplr`."""
    (K, d), n = design.points.shape, need_int("n", n, 2 * p.d, MAX_USERS)
    if p.d != d:
        raise ValueError(f"p must have the design's dimension d={d}; got d={p.d}")
    forest, zero = plant(p, 1), np.zeros(K, dtype=np.int64)
    fit_sums(
        p, forest, design.points, design.means, design.prob, zero, n // (2 * d), bool(signs), rng,
        np.zeros_like(zero), workspace(K, d),
    )  # fmt: skip
    return Tree(*[a[0] for a in forest])


def fit_users(p, phi, y, rng):
    """A tree fitted by Algorithm 2 to users phi (N, d) and y (N,), message by message, in their order.

    Raises ValueError on NaN, ||phi|| > 1, |y| > 1, or fewer than 2d users.
    """
    from companion.lplr_environments import SLACK

    phi, y = np.array(phi, dtype=float, ndmin=2), np.array(y, dtype=float, ndmin=1)
    if phi.ndim != 2 or phi.shape[1] != p.d or y.shape != phi.shape[:1] or len(y) < 2 * p.d:
        raise ValueError(
            f"phi must have shape (N, {p.d}) and y (N,), N >= {2 * p.d}; got {phi.shape} and {y.shape}"
        )
    if not (np.linalg.norm(phi, axis=1) <= 1 + SLACK).all():
        raise ValueError("phi must be finite with norms at most 1; got a larger norm or NaN")
    if not (np.abs(y) <= 1 + SLACK).all():
        raise ValueError("y must be in [-1, 1]; got a value outside or NaN")
    tree = plant(p)
    reset(p, tree)
    fit_messages(p, tree, np.ascontiguousarray(phi), y, rng)
    return tree


def read(p, tree, points):
    """Estimates and half-widths (0 and 1 where trivial), two arrays (K,), of a fitted tree at points (K, d)."""
    points, residual = np.ascontiguousarray(points, dtype=float), np.empty(p.d)
    pairs = [interval(p, tree, x, residual) for x in points]
    return tuple(np.array(a) for a in zip(*pairs, strict=True))


@jit
def _theta_error(model, points, means, prob, out):
    out[0] = out[1] = 0.0
    for j in range(points.shape[0]):
        error = dot(points[j], model.theta) - means[j]
        out[0] += prob[j] * abs(error)
        out[1] += prob[j] * error**2


@jit
def _ssp_loop(q, model, points, means, prob, n, signs, rng, seen, tail, out):
    plays = np.zeros_like(seen)
    for i in range(out.shape[0]):
        ssp_sums(q, model, points, means, prob, n, signs, rng, seen, tail, plays)
        ssp_estimate(model)
        _theta_error(model, points, means, prob, out[i])


def estimate_ssp(design, n, n_reps, rng, epsilon=1.0, *, signs=True):
    """(mad, mse), each (n_reps,): perturbed sufficient statistics of n users, least squares in the unit ball."""
    K, d = design.points.shape
    out = np.zeros((need_int("n_reps", n_reps, 1), 2))
    seen, tail = np.zeros(K, dtype=np.int64), np.empty(K)
    _ssp_loop(
        ssp_params(d, epsilon), ssp_model(d), design.points, design.means, design.prob, users(n), bool(signs),
        rng, seen, tail, out,
    )  # fmt: skip
    return out.T


@jit
def _inputs_loop(alpha, model, points, means, prob, theta, n, rng, out):
    for i in range(out.shape[0]):
        perturbed_inputs(points, theta, alpha, n, rng, model)
        ssp_estimate(model)
        _theta_error(model, points, means, prob, out[i])


def estimate_inputs(design, n, n_reps, rng, epsilon=1.0):
    """(mad, mse), each (n_reps,): debiased moments of perturbed inputs, users drawn one by one (n up to 1e7 is sensible)."""
    if not np.allclose(design.prob, design.prob[0]):
        raise ValueError("design must have equal chances for perturbed inputs")
    out = np.zeros((need_int("n_reps", n_reps, 1), 2))
    _inputs_loop(
        need_positive("epsilon", epsilon), ssp_model(design.d), design.points, design.means, design.prob,
        design.theta, users(n), rng, out,
    )  # fmt: skip
    return out.T


KINDS = {"lplr": 0, "ssp": 1, "exact": 2, "none": 3}


def eliminate_with(
    oracle, bandit, T, n_reps, rng, *, epsilon=1.0, per_action=False, n0=64, z=None, **options
):
    """RegCB.Elimination (Algorithm 1) on a `Contexts` bandit for T rounds, n_reps times, exact in law.

    oracle: "lplr" (options go to `lplr_params`), "ssp" (epsilon = inf: least squares), "exact" or "none" (never learns).
    per_action: one LPLR oracle per action, as printed, with actions told apart by their position; else one pooled oracle.
    epsilon in (0, inf]; n0 >= 1: epochs have 2^tau n0 rounds.  Raises ValueError on anything else.
    """
    kind = KINDS[need_choice("oracle", oracle, tuple(KINDS))]
    (C, A, d), T = bandit.X.shape, need_int("T", T, 4 * bandit.X.shape[2], MAX_USERS)
    z = {} if z is None else {"z": z}
    p = lplr_params(d, T, epsilon, **options, **z) if kind == 0 else lplr_params(d, 2)
    q = ssp_params(d, epsilon, **z) if kind == 1 else ssp_params(d)
    owner = np.tile(np.arange(A) if per_action else np.zeros(A, dtype=np.int64), C).astype(np.int64)
    n_reps = need_int("n_reps", n_reps, 1)
    log, regret = np.zeros((n_reps, EPOCHS, 5)), np.zeros(n_reps)
    points = np.ascontiguousarray(bandit.X.reshape(C * A, d))
    forest, model = plant(p, A if per_action else 1), ssp_model(d)
    work = space(C, A, d, workspace(C * A, d))
    for i in range(n_reps):
        regret[i] = elimination(
            kind, p, q, forest, model, points, bandit.mu, bandit.prob, owner, T, need_int("n0", n0, 1), rng,
            work, log[i],
        )  # fmt: skip
    return Runs(regret, log[:, :, 0].max(axis=1), log[:, :, 1].sum(axis=1), log)


@jit
def _linucb_loop(points, mu, prob, T, sigma, bonus, failure, rng, work, arrays, out):
    for i in range(out.shape[0]):
        out[i] = ldp_linucb_batched(
            points, mu, prob, T, sigma, bonus, failure, rng, work, arrays
        )


def ldp_linucb_regret(bandit, T, n_reps, rng, *, epsilon=1.0, delta=1e-6, bonus=1.0, failure=0.1):
    """Regret (n_reps,) of LDP-LinUCB (Zheng et al. 2020) with refits at growing times; (epsilon, delta)-local privacy.

    sigma = 4 sqrt(2 ln(1.25/delta))/epsilon; bonus in (0, inf) multiplies its shift and its exploration radius.
    """
    C, A, d = bandit.X.shape
    T = need_int("T", T, 2, MAX_USERS)
    delta = need_float("delta", delta, 0.0, 1.0, open_low=True, open_high=True)
    sigma = 4 * np.sqrt(2 * np.log(1.25 / delta)) / need_positive("epsilon", epsilon)
    out = np.zeros(need_int("n_reps", n_reps, 1))
    arrays = (*[np.zeros((d, d)) for _ in range(4)], np.zeros(d), np.zeros(d))
    _linucb_loop(
        np.ascontiguousarray(bandit.X.reshape(C * A, d)), bandit.mu, bandit.prob, T, sigma,
        need_positive("bonus", bonus), failure, rng, space(C, A, d, workspace(C * A, d)), arrays, out,
    )  # fmt: skip
    return out


def worst_case(regret):
    """Largest mean over instances: regret (m, instances, n_reps) at m horizons -> (m,)."""
    return np.asarray(regret).mean(axis=2).max(axis=1)


def worst_case_exponent(T, regret, seed, level=0.95, draws=2000):
    """Slope of log worst-case regret against log T, with a bootstrap interval over repetitions.

    T (m,), regret (m, instances, n_reps).  Every draw resamples the repetitions of every run, and takes the worst instance anew.
    """
    return _bootstrap(regret, lambda worst: np.polyfit(np.log(T), np.log(worst), 1)[0], seed, level, draws)


def crossing(T, ours, theirs, seed, level=0.95, draws=2000):
    """Horizon from which the worst case of `ours` stays below that of `theirs`, linear in logarithms; inf if it never does.

    T (m,); ours, theirs (m, instances, n_reps).  The interval is a bootstrap over repetitions.
    """
    both = np.concatenate([ours, theirs])
    return _bootstrap(both, lambda worst: _last_crossing(T, worst), seed, level, draws)


def _last_crossing(T, worst):
    gap = np.log(worst[: len(T)]) - np.log(worst[len(T) :])
    above = np.flatnonzero(gap > 0)
    if len(above) == 0:
        return float(T[0])
    i = above[-1]
    if i == len(T) - 1:
        return np.inf
    share = gap[i] / (gap[i] - gap[i + 1])
    return float(np.exp(np.log(T[i]) + share * (np.log(T[i + 1]) - np.log(T[i]))))


def _bootstrap(regret, statistic, seed, level, draws):
    regret = np.asarray(regret, dtype=float)
    need_float("level", level, 0.0, 1.0, open_low=True, open_high=True)
    rng, (m, x, reps) = generator(seed, 77), regret.shape
    values = np.empty(draws)
    for i in range(draws):
        pick = rng.integers(0, reps, (m, x, reps))
        values[i] = statistic(worst_case(np.take_along_axis(regret, pick, axis=2)))
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2], method="nearest")
    return Interval(float(statistic(worst_case(regret))), float(low), float(high))
