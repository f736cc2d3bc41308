"""LPLR: the LDP-LinUCB of its experiments, by hand."""

import math

import pytest

from companion.lplr.ldp_linucb_batches import radius_and_shift


def test_radius_and_shift_of_ldp_linucb():
    """sigma = 1/2, d = 4, t = 16, T = 50, failure 0.1: shift 2 (8 + 2 ln 1000) = 43.63102."""
    radius, shift = radius_and_shift(4, 16, 50, 0.5, 1.0, 0.1)
    assert shift == pytest.approx(43.63102, rel=1e-6)
    own = math.sqrt(4 * math.log(50))
    assert own == pytest.approx(3.955767, rel=1e-6)
    rest = (math.sqrt(130.89306) + 0.5 * math.sqrt(64 / 43.63102)) * 4 * math.log(50)
    assert radius == pytest.approx(own + rest, rel=1e-6)
    assert radius_and_shift(4, 16, 50, 0.5, 0.5, 0.1)[1] == pytest.approx(43.63102 / 2, rel=1e-6)
