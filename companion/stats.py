"""Intervals for what the book asserts: means, paired differences, fitted exponents, worst cases.

Source: Student's t interval; the exponent is the least-squares slope of log y on log x, repetition
by repetition; what is read off worst cases over instances has a bootstrap interval.
"""

from typing import NamedTuple

import numpy as np
from scipy import stats as sps
from scipy.special import betaincinv

from companion.checks import need_int, need_probability


class Interval(NamedTuple):
    """An estimate and the ends of its confidence interval."""

    value: float
    low: float
    high: float

    def __format__(self, spec):
        spec = spec or ".3g"
        if self.low == -np.inf and self.high == np.inf:
            return f"{self.value:{spec}} (not bounded)"
        return f"{self.value:{spec}} [{self.low:{spec}}, {self.high:{spec}}]"

    def __str__(self):
        return format(self, "")


def mean_interval(samples, level=0.95):
    """Student's t interval for the mean of samples (n,).  ValueError if n < 2 or not finite."""
    value, half = _mean_and_half(np.asarray(samples, dtype=float)[:, None], level)
    return Interval(float(value[0]), float(value[0] - half[0]), float(value[0] + half[0]))


def band(samples, level=0.95):
    """(mean, low, high), each (m,), of pointwise t intervals for samples (n, m)."""
    value, half = _mean_and_half(np.asarray(samples, dtype=float), level)
    return value, value - half, value + half


def _mean_and_half(samples, level):
    need_probability("level", level)
    n = len(samples)
    if n < 2 or not np.isfinite(samples).all():
        raise ValueError(
            f"samples must hold at least 2 finite repetitions; got shape {samples.shape}"
        )
    half = sps.t.ppf(0.5 + level / 2, n - 1) * samples.std(axis=0, ddof=1) / np.sqrt(n)
    return samples.mean(axis=0), half


def difference(a, b, level=0.95):
    """Interval for the mean of a - b over paired repetitions (n,)."""
    return mean_interval(np.asarray(a, dtype=float) - np.asarray(b, dtype=float), level)


def ratio(a, b, level=0.95):
    """Fieller's interval for mean(a) / mean(b) over paired repetitions (n,).

    Its ends are infinite if mean(b) may be 0.
    """
    a, b = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    n, value = len(a), a.mean() / b.mean()
    q = sps.t.ppf(0.5 + need_probability("level", level) / 2, n - 1) ** 2 / n
    (saa, sab), (_, sbb) = np.cov(a, b)
    # {r : (mean(a) - r mean(b))^2 <= q Var(a - r b)}
    A, B, C = b.mean() ** 2 - q * sbb, a.mean() * b.mean() - q * sab, a.mean() ** 2 - q * saa
    if not A > 0.0:
        return Interval(value, -np.inf, np.inf)
    root = np.sqrt(max(B * B - A * C, 0.0))
    return Interval(value, (B - root) / A, (B + root) / A)


def exponent(x, samples, level=0.95):
    """Slope of log mean against log x, with its interval: samples (n, m) > 0 at x (m,) > 0.

    The slope is fitted to the mean over repetitions; the interval is the jackknife's over
    repetitions, which needs no model of the noise and allows the m points of one repetition to
    depend on each other.
    """
    x, samples = np.log(np.asarray(x, dtype=float)), np.asarray(samples, dtype=float)
    n = len(samples)
    if n < 2 or samples.shape[1:] != x.shape or not (samples.mean(axis=0) > 0).all():
        raise ValueError(
            f"samples must be (n >= 2, {len(x)}) with positive means; got shape {samples.shape}"
        )
    w = (x - x.mean()) / ((x - x.mean()) ** 2).sum()
    total = samples.sum(axis=0)
    slope = float(np.log(total / n) @ w)
    left_out = np.log(np.maximum((total - samples) / (n - 1), np.finfo(float).tiny)) @ w
    se = np.sqrt((n - 1) / n * ((left_out - left_out.mean()) ** 2).sum())
    half = sps.t.ppf(0.5 + need_probability("level", level) / 2, n - 1) * se
    return Interval(slope, slope - half, slope + half)


def proportion(hits, trials, level=0.95):
    """Clopper-Pearson interval for a probability, from hits out of trials."""
    need_probability("level", level)
    if not 0 <= hits <= trials or trials < 1:
        raise ValueError(f"hits must be in [0, trials] and trials >= 1; got {hits=}, {trials=}")
    tail = (1 - level) / 2
    low, high = lower_end(hits, trials, tail), upper_end(hits, trials, tail)
    return Interval(hits / trials, float(low), float(high))


def lower_end(hits, trials, tail):
    """Clopper and Pearson's end that exceeds the probability with chance at most `tail`; of
    numbers or, entry by entry, of arrays.
    """
    return np.where(hits == 0, 0.0, betaincinv(np.maximum(hits, 1), trials - hits + 1.0, tail))


def upper_end(hits, trials, tail):
    """The end below the probability with chance at most `tail`, as in `lower_end`."""
    missed = trials - np.asarray(hits)
    return np.where(missed == 0, 1.0, betaincinv(hits + 1.0, np.maximum(missed, 1), 1 - tail))


def jackknife(statistic, samples, level=0.95):
    """Interval for a statistic of samples by leaving out one repetition (first axis) at a time."""
    n, value = len(samples), statistic(samples)
    left = np.array([statistic(np.delete(samples, i, axis=0)) for i in range(n)])
    half = sps.t.ppf(0.5 + need_probability("level", level) / 2, n - 1)
    half *= np.sqrt((n - 1) / n * ((left - left.mean()) ** 2).sum())
    return Interval(value, value - half, value + half)


def worst_case(regret):
    """Largest mean over instances: regret (m, instances, n_reps) at m horizons -> (m,)."""
    return np.asarray(regret).mean(axis=2).max(axis=1)


def worst_case_draws(regret, seed, draws=2000):
    """`worst_case` of bootstrap samples, (draws, m): every draw resamples the repetitions of every
    run, and takes the worst instance anew.
    """
    regret = np.asarray(regret, dtype=float)
    rng, (m, x, reps) = np.random.default_rng([need_int("seed", seed, 0), 77]), regret.shape
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
