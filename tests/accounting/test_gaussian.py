"""The searches of the exact Gaussian bound, remembered under all that they depend on."""

import itertools

import numpy as np
import pytest
from scipy.stats import norm

from companion.accounting.privacy import delta_at, epsilon_at, unit_scale

BUDGETS = list(itertools.product((0.1, 1.0, 8.0), (1e-9, 1e-3, 0.1)))


def test_the_bound_is_that_of_two_normal_tails():
    a, epsilon = 0.7, 0.4
    direct = norm.cdf(a / 2 - epsilon / a) - np.exp(epsilon) * norm.cdf(-a / 2 - epsilon / a)
    assert delta_at(epsilon, a) == pytest.approx(direct, rel=1e-9)


@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS)
def test_both_inverses_lead_back(epsilon, delta):
    sigma = unit_scale(epsilon, delta)
    assert delta_at(epsilon, 1.0 / sigma) == pytest.approx(delta, rel=1e-6)
    assert epsilon_at(delta, 1.0 / sigma) == pytest.approx(epsilon, rel=1e-6)


def test_what_is_remembered_is_what_was_searched():
    for search, arguments in ((unit_scale, BUDGETS), (epsilon_at, [(d, e) for e, d in BUDGETS])):
        first = [search(*a) for a in arguments]
        assert first == [search(*a) for a in arguments]
        assert first == [search.__wrapped__(*a) for a in arguments]
        assert len(set(first)) == len(first)


@pytest.mark.parametrize("a", [1e3, 1e5, 1e7])
def test_epsilon_at_almost_no_noise_is_that_of_the_loss_tail(a):
    """There the second tail is a share 1/a of the first, so epsilon is off by about 1."""
    assert epsilon_at(0.1, a) == pytest.approx(a * a / 2 - a * norm.ppf(0.1), abs=10.0)
