"""What is written of a run is plain numbers, and goes back only to where it fits."""

from typing import NamedTuple

import numpy as np
import pytest

from companion.saved import leaves, refilled


class Inner(NamedTuple):
    a: np.ndarray
    n: int


class Outer(NamedTuple):
    inner: Inner
    x: float


def value(scale):
    return Outer(Inner(np.arange(3.0) * scale, 2 * scale), 0.5 * scale)


def test_a_value_goes_there_and_back():
    found = refilled(value(1), dict(leaves(value(3), "state")), "state")
    assert found.inner.a.tolist() == [0.0, 3.0, 6.0]
    assert (found.inner.n, found.x) == (6, 1.5)
    assert (type(found.inner.n), type(found.x)) == (int, float)


def test_what_does_not_fit_is_refused_by_name():
    arrays = dict(leaves(value(3), "state"))
    for bad in ({"state.inner.a": np.arange(4.0)}, {"state.x": np.array(3)}):
        with pytest.raises(ValueError, match=next(iter(bad))):
            refilled(value(1), arrays | bad, "state")
    with pytest.raises(ValueError, match="must hold numbers"):
        dict(leaves((object(),), "state"))
