"""Measured guarantees: ends of intervals, and the route by concentrated privacy."""

from types import SimpleNamespace

import numpy as np
import pytest

from companion.accounting.privacy import zcdp_epsilon
from companion.audits import measures


def test_a_promise_may_exceed_what_is_found_by_what_its_case_says():
    """Attained: by 1 %; a bound: by 6 %; a coarse one: by any amount."""
    found = [measures.reach(SimpleNamespace(bound_is_tight=r)) for r in (True, False, None)]
    assert found == [1.01, 1.06, np.inf]


def test_what_moves_as_far_as_one_likes_has_no_guarantee():
    found = measures.unbounded(3.0, 2)
    assert (found.movement, found.releases, found.bounded) == (3.0, 2, False)
    assert found.low == found.high == np.inf


@pytest.mark.parametrize("rho", [0.01, 0.5, 3.0])
def test_concentrated_privacy_by_two_routes(rho):
    assert measures.concentrated(rho, 1e-3) == pytest.approx(zcdp_epsilon(rho, 1e-3), rel=1e-3)
