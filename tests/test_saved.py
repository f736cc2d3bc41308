"""What is written of a run is plain numbers, and goes back only to where it fits."""

from typing import NamedTuple

import numpy as np
import pytest

from companion.fliphat.policy import fliphat
from companion.saved import described, leaves, need_same, refilled


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


def test_another_number_in_an_array_of_parameters_is_another_policy():
    """FLIPHAT's `noise` shows in bounds and scales alone, which are arrays."""
    one, other = (
        described(fliphat(3, 400, sparsity=2, epsilon=5.0, b_max=1.0, eta=0.1, noise=n,
                          iteration_rate=0.4), np.random.default_rng(0))
        for n in (1.0, 9.0)
    )  # fmt: skip
    need_same(one, one)
    with pytest.raises(ValueError, match=r"its params\.\w+ is"):
        need_same(one, other)
