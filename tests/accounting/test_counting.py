"""The best event is chosen on one half of the outputs and counted on the other."""

import numpy as np
import pytest

from companion.accounting.audit import counted


def bound(low, high):
    return np.maximum(low - high, 0.0)


def best(mechanism, trials=40, **how):
    given = {"statistic": None, "event": None, "level": 0.9} | how
    return counted(mechanism, 0.0, 1.0, bound, trials, 3, *given.values())


def test_the_half_that_is_counted_takes_no_part_in_the_choice():
    """The first two calls, of which the event is chosen, show 0 and 1; the others nothing."""
    calls = []

    def forgetful(x, rng, n):
        calls.append((x, n))
        return np.full(n, x if len(calls) <= 2 else 0.0)

    (level, event, likely, hits, trials), value = best(forgetful, trials=41)
    assert calls == [(0.0, 20), (1.0, 20), (0.0, 21), (1.0, 21)]
    assert (level, trials) == (0.9, 21)
    assert (event, likely, hits) in [
        ("statistic >= 1", "b", (0, 0)),
        ("statistic <= 0", "a", (21, 21)),
    ]
    assert value == 0.0


def test_inputs_that_never_meet_are_told_apart():
    (_, _, _, hits, _), value = best(lambda x, rng, n: np.full(n, x), trials=2000)
    assert hits == (1000, 0)
    assert value > 0.98


def test_an_event_is_counted_as_it_is_or_as_its_complement():
    def one(x, rng, n):
        return np.full(n, x)

    said, value = best(one, trials=2000, event=lambda seen: seen > 0.5)
    assert said[1] in ("event", "not event")
    assert value > 0.98
    with pytest.raises(ValueError, match="exclude each other"):
        best(one, event=lambda seen: seen > 0.5, statistic=np.asarray)
    with pytest.raises(ValueError, match=r"one number per output, shape \(20,\); got \(20, 2\)"):
        best(lambda x, rng, n: np.zeros((n, 2)))
