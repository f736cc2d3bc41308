"""The best event of an audit: chosen on one half of the outputs, counted on the other.

Source: see `companion.accounting.audit`.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from companion.checks import need_int, need_method, need_probability, need_seed
from companion.stats import lower_end, upper_end

THRESHOLDS = 200  # candidates per direction; the bound is flat around the best one


def counted(
    mechanism: Callable[..., Any],
    a: Any,
    b: Any,
    bound: Callable[..., Any],
    trials: int,
    seed: int,
    statistic: Callable[..., Any] | None,
    event: Callable[..., Any] | None,
    level: float,
) -> tuple[tuple[Any, ...], float]:
    """((level, event, likely, hits, trials), bound): chosen on one half, counted on the other.

    bound(low, high) -> what is lost at least if the event's probability is at least low under one
    input and at most high under the other; all else as for `audit.epsilon_lower_bound`.  Raises
    ValueError on bad input, and on outputs without one number each.
    """
    trials, seed = need_int("trials", trials, 4), need_seed("seed", seed)
    need_probability("level", level)
    need_method("mechanism", mechanism)
    if statistic is not None and event is not None:
        raise ValueError("event and statistic exclude each other; got both")
    name, score = ("event", event) if statistic is None else ("statistic", statistic)
    score = np.asarray if score is None else need_method(name, score)
    rngs = [np.random.default_rng(s) for s in np.random.SeedSequence(seed).spawn(4)]
    n = trials // 2
    # An event is a statistic that is 1 or 0: its thresholds are itself, its complement, and all.
    choose_a, choose_b, count_a, count_b = (
        _scores(score, mechanism(data, rng, m), m)
        for data, rng, m in zip((a, b, a, b), rngs, (n, n, trials - n, trials - n), strict=True)
    )
    tail = (1 - level) / 2
    side, cut, swap = _best_event(choose_a, choose_b, bound, tail)
    likely, other = (count_b, count_a) if swap else (count_a, count_b)
    hits = tuple(int((side * s >= side * cut).sum()) for s in (likely, other))
    low, high = lower_end(hits[0], len(likely), tail), upper_end(hits[1], len(other), tail)
    if event is not None:
        text = "event" if side > 0 else "not event"
    else:
        text = f"statistic {'>=' if side > 0 else '<='} {cut:.6g}"
    found = (level, text, "b" if swap else "a", hits, len(likely))
    return found, float(bound(low, high))


def _scores(score, outputs, n):
    """The (n,) numbers by which outputs are ordered; infinite is allowed, NaN is not.

    They are rounded to single precision: the last bits of a sum betray its terms (Mironov 2012),
    and an audit is about the mechanism's law, not about its arithmetic.
    """
    with np.errstate(over="ignore"):
        s = np.asarray(score(np.asarray(outputs)), dtype=np.float64).astype(np.float32)
    if s.shape != (n,):
        raise ValueError(
            f"statistic (or event) must give one number per output, shape ({n},); got {s.shape}"
        )
    if np.isnan(s).any():
        raise ValueError("statistic must not be NaN")
    return s


def _best_event(a, b, bound, tail):
    """(side, cut, swap): {side * statistic >= side * cut} has the best bound, b against a if swap.

    All candidates are looked at together, so each gets its share of the tail: without this the
    winner would be a rare event that was lucky on this half.
    """
    tail /= 4 * THRESHOLDS
    best, choice = -np.inf, None
    for side in (1, -1):
        sa, sb = np.sort(side * a), np.sort(side * b)
        cuts = _candidates(np.concatenate([sa, sb]))
        over_a = len(sa) - np.searchsorted(sa, cuts)
        over_b = len(sb) - np.searchsorted(sb, cuts)
        for swap, up, down in ((False, over_a, over_b), (True, over_b, over_a)):
            value = bound(lower_end(up, len(a), tail), upper_end(down, len(b), tail))
            i = int(value.argmax())
            if value[i] > best:
                best, choice = value[i], (side, side * cuts[i], swap)
    return choice


def _candidates(values):
    """At most THRESHOLDS of the distinct values, dense in both tails, where the best events lie."""
    values = np.unique(values)
    if len(values) <= THRESHOLDS:
        return values
    near = np.geomspace(1, len(values) / 2, THRESHOLDS // 2).astype(int) - 1
    return values[np.unique(np.concatenate([near, len(values) - 1 - near]))]
