"""Intervals for what the book asserts: means, paired differences, fitted exponents, worst
cases.

Source: Student's t interval; the exponent is the least-squares slope of log y on log x,
repetition by repetition; what is read off worst cases over instances has a bootstrap
interval.
"""

from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.special import betaincinv, stdtrit

from companion.validate import need_array, need_int, need_probability, need_seed, shown

DRAWS = 2000  # of a bootstrap
BOOTSTRAP = 77  # names its stream beside the seed


def _floats(name, value, *shape):
    """`need_array`, left as it lies in memory, so that sums over any axis keep their last
    bits."""
    need_array(name, value, shape)
    return np.asarray(value, dtype=float)


def at_least(value: float, spec: str = ".3g") -> str:
    """A lower bound in the digits of a spec like ".2f" or ".3g", rounded down: what is
    printed holds, too.

    >>> at_least(0.7285), at_least(3.396, ".1f"), at_least(1.2, ".2f")
    ('0.728', '3.3', '1.20')
    """
    return _outwards(value, spec, ROUND_FLOOR)


def at_most(value: float, spec: str = ".3g") -> str:
    """An upper bound in the digits of a spec like ".2f" or ".3g", rounded up.

    >>> at_most(0.7285), at_most(3.31, ".1f"), at_most(1.2 + 1e-15, ".2f")
    ('0.729', '3.4', '1.20')
    """
    return _outwards(value, spec, ROUND_CEILING)


def _outwards(value, spec, rounding):
    """The text of `at_least` and `at_most`; the tenth digit is that of the nearest
    number."""
    digits = int(spec[1:-1])
    kind = spec[-1]
    if kind not in "fg":
        raise ValueError(f'spec must be like ".2f" or ".3g"; got {spec=}')
    if not np.isfinite(value) or value == 0.0:
        return format(value, spec)
    exact = Decimal(format(value, ".10g"))
    place = -digits if kind == "f" else exact.adjusted() - max(digits, 1) + 1
    unit = Decimal(1).scaleb(place)
    rounded = exact.quantize(unit, rounding, Context(prec=400))
    return format(float(rounded), spec)


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


def mean_interval(samples, level: float = 0.95) -> Interval:
    """Student's t interval for the mean of samples (n,).  ValueError if n < 2 or not
    finite."""
    ends = band(_floats("samples", samples, "n")[:, None], level)
    return Interval(*(float(end[0]) for end in ends))


def band(
    samples: np.ndarray,
    level: float = 0.95,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(mean, low, high), each (m,), of pointwise t intervals for samples (n, m)."""
    samples = _floats("samples", samples, "n", "m")
    level = need_probability("level", level)
    n = len(samples)
    if n < 2:
        raise ValueError(
            f"samples must hold at least 2 repetitions; got shape {samples.shape}"
        )
    value = samples.mean(axis=0)
    half = _t(level, n) * samples.std(axis=0, ddof=1) / np.sqrt(n)
    return value, value - half, value + half


@lru_cache(maxsize=1024)
def _t(level, n):
    """Half of an interval for the mean of n numbers, in standard errors."""
    return stdtrit(n - 1, 0.5 + level / 2)


def _logs(name, values, size):
    """Logarithms of positive numbers (size,)."""
    values = _floats(name, values, size)
    if not (values > 0.0).all():
        raise ValueError(f"{name} must hold numbers > 0; got {shown(values)}")
    return np.log(values)


def difference(a: np.ndarray, b: np.ndarray, level: float = 0.95) -> Interval:
    """Interval for the mean of a - b over paired repetitions (n,)."""
    a, b = _pair(a, b)
    return mean_interval(a - b, level)


def _pair(a, b):
    a = _floats("a", a, "n")
    return a, _floats("b", b, len(a))


def ratio(a, b: np.ndarray, level: float = 0.95) -> Interval:
    """Fieller's interval for mean(a) / mean(b) over paired repetitions (n,).

    Its ends are infinite if mean(b) may be 0.
    """
    a, b = _pair(a, b)
    n = len(a)
    mean_a = a.mean()
    mean_b = b.mean()
    value = mean_a / mean_b
    q = _t(need_probability("level", level), n) ** 2 / n
    (saa, sab), (_, sbb) = np.cov(a, b)
    # {r : (mean(a) - r mean(b))^2 <= q Var(a - r b)}
    A = mean_b**2 - q * sbb
    B = mean_a * mean_b - q * sab
    C = mean_a**2 - q * saa
    if not A > 0.0:
        return Interval(value, -np.inf, np.inf)
    root = np.sqrt(max(B * B - A * C, 0.0))
    return Interval(value, (B - root) / A, (B + root) / A)


def exponent(x: np.ndarray, samples: np.ndarray, level: float = 0.95) -> Interval:
    """Slope of log mean against log x, with its interval: samples (n, m) > 0 at x (m,) >
    0.

    The slope is fitted to the mean over repetitions; the interval is the jackknife's over
    repetitions, which needs no model of the noise and allows the m points of one
    repetition to depend on each other.
    """
    x = _logs("x", x, "m")
    samples = _floats("samples", samples, "n", "m")
    fits = len(samples) >= 2 and samples.shape[1:] == x.shape
    if not (fits and (samples.mean(axis=0) > 0).all()):
        raise ValueError(
            f"samples must be (n >= 2, {len(x)}) with positive means; got shape "
            f"{samples.shape}"
        )
    centred = x - x.mean()
    w = centred / (centred**2).sum()
    # the mean of repetitions that are all 0 but for the one left out
    tiny = np.finfo(float).tiny

    def slope(y):
        means = np.maximum(y.mean(axis=0), tiny)
        return float(np.log(means) @ w)

    return jackknife(slope, samples, level)


def proportion(hits: int, trials: int, level: float = 0.95) -> Interval:
    """Clopper-Pearson interval for a probability, from hits out of trials."""
    need_probability("level", level)
    trials = need_int("trials", trials, 1)
    hits = need_int("hits", hits, 0, trials)
    tail = (1 - level) / 2
    low = float(lower_end(hits, trials, tail))
    high = float(upper_end(hits, trials, tail))
    return Interval(hits / trials, low, high)


def lower_end(hits, trials, tail: float) -> np.ndarray:
    """Clopper and Pearson's end that exceeds the probability with chance at most `tail`;
    of numbers or, entry by entry, of arrays.
    """
    return np.where(
        hits == 0,
        0.0,
        betaincinv(np.maximum(hits, 1), trials - hits + 1.0, tail),
    )


def upper_end(hits, trials, tail: float) -> np.ndarray:
    """The end below the probability with chance at most `tail`, as in `lower_end`."""
    missed = trials - np.asarray(hits)
    return np.where(
        missed == 0,
        1.0,
        betaincinv(hits + 1.0, np.maximum(missed, 1), 1 - tail),
    )


def jackknife(statistic, samples: np.ndarray, level: float = 0.95) -> Interval:
    """Interval for a statistic of samples by leaving out one repetition (first axis) at a
    time."""
    n = len(samples)
    value = statistic(samples)
    left = np.empty(n)
    for i in range(n):
        left[i] = statistic(np.delete(samples, i, axis=0))
    spread = (n - 1) / n * ((left - left.mean()) ** 2).sum()
    half = _t(need_probability("level", level), n) * np.sqrt(spread)
    return Interval(value, value - half, value + half)


def worst_case(regret: np.ndarray) -> np.ndarray:
    """Largest mean over instances: regret (m, instances, n_reps) at m horizons ->
    (m,)."""
    regret = _floats("regret", regret, "m", "instances", "n_reps")
    return regret.mean(axis=-1).max(axis=-1)


def _bootstrap(statistic, regret, seed, level) -> Interval:
    """A statistic of worst cases (n, m) -> (n, ...), with the ends of its bootstrap
    interval: every draw resamples the repetitions of every run, and takes the worst
    instance anew.
    """
    regret = _floats("regret", regret, "m", "instances", "n_reps")
    rng = np.random.default_rng([need_seed("seed", seed), BOOTSTRAP])
    draws = np.empty((DRAWS, len(regret)))
    for draw in draws:
        picks = rng.integers(0, regret.shape[-1], regret.shape)
        draw[:] = worst_case(np.take_along_axis(regret, picks, axis=-1))
    tail = (1 - need_probability("level", level)) / 2
    ends = np.quantile(statistic(draws), [tail, 1 - tail], axis=0, method="nearest")
    return Interval(statistic(worst_case(regret)[None])[0], *ends)


def worst_case_band(
    regret: np.ndarray,
    seed: int,
    level: float = 0.95,
) -> tuple[np.ndarray, np.ndarray]:
    """(low, high), each (m,): pointwise bootstrap interval of `worst_case`."""
    return _bootstrap(lambda worst: worst, regret, seed, level)[1:]


def worst_case_exponent(
    T: np.ndarray,
    regret: np.ndarray,
    seed: int,
    level: float = 0.95,
) -> Interval:
    """Slope of log worst-case regret against log T (m,), with its bootstrap interval."""
    regret = _floats("regret", regret, "m", "instances", "n_reps")
    at = _logs("T", T, len(regret))

    def slopes(worst):
        return np.polyfit(at, np.log(worst).T, 1)[0]

    return _bootstrap(slopes, regret, seed, level)


def worst_case_ratio(ours, theirs, seed: int, level: float = 0.95) -> Interval:
    """Mean over horizons of worst-case regret of `ours` over that of `theirs`, with
    interval."""
    both = _both(ours, theirs)
    m = len(ours)

    def ratios(worst):
        return (worst[:, :m] / worst[:, m:]).mean(axis=1)

    return _bootstrap(ratios, both, seed, level)


def crossing(T: np.ndarray, ours, theirs, seed: int, level: float = 0.95) -> Interval:
    """Horizon from which the worst case of `ours` stays below that of `theirs`, linear in
    logarithms; inf if it never does, T[0] if it always is.

    T (m,); ours, theirs (m, instances, n_reps).
    """
    both = _both(ours, theirs)
    _logs("T", T, len(ours))

    def crossings(worst):
        return [_last_crossing(T, w) for w in worst]

    return _bootstrap(crossings, both, seed, level)


def _both(ours, theirs):
    """Two results of one shape, one above the other."""
    ours = _floats("ours", ours, "m", "instances", "n_reps")
    return np.concatenate([ours, _floats("theirs", theirs, *ours.shape)])


def _last_crossing(T, worst):
    m = len(T)
    log_T = np.log(T)
    gap = np.log(worst[:m]) - np.log(worst[m:])
    above = np.flatnonzero(gap > 0)
    if len(above) == 0:
        return float(T[0])
    i = above[-1]
    if i == m - 1:
        return np.inf
    share = gap[i] / (gap[i] - gap[i + 1])
    return float(np.exp(log_T[i] + share * (log_T[i + 1] - log_T[i])))
