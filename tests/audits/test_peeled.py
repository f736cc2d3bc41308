"""Peeling as it is measured: chances of picks, the scale behind draws, composed losses."""

import math

import numpy as np
import pytest

from companion.audits.peeled import composed, laplace_scale, pick_chances


def test_chances_of_picks_by_hand():
    """Laplace noise turns two entries that are a apart with chance exp(-a) (2 + a)/4."""
    a = 1.5
    found = pick_chances(np.array([2.0, 0.5]), 1.0, 1)
    turned = math.exp(-a) * (2 + a) / 4
    assert found[(1,)] == pytest.approx(turned, rel=1e-3)
    assert found[(0,)] == pytest.approx(1 - turned, rel=1e-3)
    both = pick_chances(np.zeros(3), 1.0, 2)
    assert len(both) == 6
    assert list(both.values()) == pytest.approx([1 / 6] * 6, rel=1e-3)


def test_the_scale_behind_draws_and_their_law():
    rng = np.random.default_rng(0)
    low, high, chance = laplace_scale(rng.laplace(scale=3.0, size=20_000))
    assert low < 3.0 < high < 1.2 * low
    assert chance > 1e-7
    assert laplace_scale(rng.standard_normal(20_000))[2] < 1e-7


def test_pure_losses_add_up_without_delta():
    """Two picks lose 2 * 0.1 each and two values 0.1 each; then one of either kind at 0.2."""
    assert composed([(0.1, 2)], 0.0) == pytest.approx(0.6, abs=2e-3)
    assert composed([(0.1, 2), (0.2, 1)], 0.0) == pytest.approx(1.2, abs=3e-3)
