"""Whole bandit runs for experiments, with every argument checked, and what is read off them.

Kernels run without the global lock, so calls in threads run in parallel (`trials.each`).
"""

from typing import NamedTuple

import numpy as np

from companion.checks import (
    need_choice,
    need_float,
    need_int,
    need_positive,
    need_probability,
)
from companion.lplr.bins import plant
from companion.lplr.fit import workspace
from companion.lplr.params import MAX_USERS, lplr_params
from companion.lplr.regret import EPOCHS, elimination, ldp_linucb_batched, space
from companion.lplr.sufficient_statistics import ssp_model, ssp_params
from companion.lplr.trials import generator
from companion.stats import Interval


class Runs(NamedTuple):
    """Bandit runs, one entry per repetition."""

    regret: np.ndarray
    lost: np.ndarray  # optimal arms eliminated
    missed: np.ndarray  # intervals that missed their mean
    log: np.ndarray  # (n_reps, EPOCHS, 5) see `regret.elimination`


KINDS = {"lplr": 0, "ssp": 1, "exact": 2, "none": 3}


def eliminate_with(
    oracle, bandit, T, n_reps, rng, *, epsilon=1.0, per_action=False, n0=64, z=None, **options
):
    """RegCB.Elimination (Algorithm 1) on a `Contexts` bandit for T rounds, n_reps times, exact in
    law.

    oracle: "lplr" (options go to `lplr_params`), "ssp" (epsilon = inf: least squares), "exact" or
    "none" (never learns). per_action: one LPLR oracle per action, as printed, with actions told
    apart by their position; else one pooled oracle. epsilon in (0, inf]; n0 >= 1: epochs have 2^tau
    n0 rounds.  Raises ValueError on anything else.
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
            kind,
            p,
            q,
            forest,
            model,
            points,
            bandit.mu,
            bandit.prob,
            owner,
            T,
            need_int("n0", n0, 1),
            rng,
            work,
            log[i],
        )
    return Runs(regret, log[:, :, 0].max(axis=1), log[:, :, 1].sum(axis=1), log)


def ldp_linucb_regret(bandit, T, n_reps, rng, *, epsilon=1.0, delta=1e-6, bonus=1.0, failure=0.1):
    """Regret (n_reps,) of LDP-LinUCB (Zheng et al. 2020) with refits at growing times; (epsilon,
    delta)-local privacy.

    sigma = 4 sqrt(2 ln(1.25/delta))/epsilon; bonus in (0, inf) multiplies its shift and its
    exploration radius.
    """
    C, A, d = bandit.X.shape
    T = need_int("T", T, 2, MAX_USERS)
    delta = need_float("delta", delta, 0.0, 1.0, open_low=True, open_high=True)
    sigma = 4 * np.sqrt(2 * np.log(1.25 / delta)) / need_positive("epsilon", epsilon)
    out = np.zeros(need_int("n_reps", n_reps, 1))
    arrays = (*[np.zeros((d, d)) for _ in range(4)], np.zeros(d), np.zeros(d))
    points, work = (
        np.ascontiguousarray(bandit.X.reshape(C * A, d)),
        space(C, A, d, workspace(C * A, d)),
    )
    bonus = need_positive("bonus", bonus)
    failure = need_float("failure", failure, 0.0, 1.0, open_low=True, open_high=True)
    for i in range(len(out)):
        out[i] = ldp_linucb_batched(
            points, bandit.mu, bandit.prob, T, sigma, bonus, failure, rng, work, arrays
        )
    return out


def worst_case(regret):
    """Largest mean over instances: regret (m, instances, n_reps) at m horizons -> (m,)."""
    return np.asarray(regret).mean(axis=2).max(axis=1)


def worst_case_draws(regret, seed, draws=2000):
    """`worst_case` of bootstrap samples, (draws, m): every draw resamples the repetitions of every
    run, and takes the worst instance anew.
    """
    regret = np.asarray(regret, dtype=float)
    rng, (m, x, reps) = generator(seed, 77), regret.shape
    out = np.empty((need_int("draws", draws, 1), m))
    for row in out:
        pick = rng.integers(0, reps, (m, x, reps))
        row[:] = worst_case(np.take_along_axis(regret, pick, axis=2))
    return out


def worst_case_band(regret, seed, level=0.95):
    """(low, high), each (m,): pointwise bootstrap interval of `worst_case`."""
    return _ends(worst_case_draws(regret, seed), level)


def worst_case_exponent(T, regret, seed, level=0.95):
    """Slope of log worst-case regret against log T (m,), with its bootstrap interval."""
    return _interval(lambda worst: np.polyfit(np.log(T), np.log(worst), 1)[0], regret, seed, level)


def worst_case_ratio(ours, theirs, seed, level=0.95):
    """Mean over horizons of worst-case regret of `ours` over that of `theirs`, with interval."""
    both, m = np.concatenate([ours, theirs]), len(ours)
    return _interval(lambda worst: (worst[:m] / worst[m:]).mean(), both, seed, level)


def crossing(T, ours, theirs, seed, level=0.95):
    """Horizon from which the worst case of `ours` stays below that of `theirs`, linear in
    logarithms; inf if it never does, T[0] if it always is.

    T (m,); ours, theirs (m, instances, n_reps).
    """
    both = np.concatenate([ours, theirs])
    return _interval(lambda worst: _last_crossing(T, worst), both, seed, level)


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


def _interval(statistic, regret, seed, level):
    """A statistic of worst cases, with its bootstrap interval."""
    low, high = _ends([statistic(w) for w in worst_case_draws(regret, seed)], level)
    return Interval(float(statistic(worst_case(regret))), float(low), float(high))


def _ends(draws, level):
    tail = (1 - need_probability("level", level)) / 2
    return np.quantile(draws, [tail, 1 - tail], axis=0, method="nearest")
