"""Fits with a given excess loss, against the definitions of Lemma S.1."""

import numpy as np
import pytest

from companion.private_glm import near_fits


def test_the_minimiser_and_the_hessian_are_those_of_the_loss():
    rng = np.random.default_rng(0)
    X, r = rng.standard_normal((60, 2)) / 2, rng.integers(0, 2, 60).astype(float)
    best = near_fits.least(X, r, 0.5)
    low = near_fits.loss(X, r, 0.5, best)
    for move in rng.standard_normal((20, 2)) * 1e-3:
        rise = near_fits.loss(X, r, 0.5, best + move) - low
        half = 0.5 * move @ near_fits.hessian(X, 0.5, best) @ move
        assert rise == pytest.approx(half, rel=1e-2)
        assert rise > 0


def test_distances_grow_like_the_root_and_stay_below_the_bound():
    excesses = np.array([1e-4, 1e-2])
    share, moved = near_fits.fits_with_excess(200, 3, 2.0, 1.0, excesses, 5, 1)
    assert share.shape == moved.shape == (5, 2)
    assert moved[:, 1] / moved[:, 0] == pytest.approx(10.0, rel=0.05)
    assert (share > 0).all()
    assert (share < 1).all()


def test_the_bound_by_hand():
    assert near_fits.bound(1.0, 4.0, 2.0, 1.0) == pytest.approx(4 * 3 + np.sqrt(8))
    assert near_fits.bound(2.0, 0.0, 0.0, 4.0) == pytest.approx(4 + np.sqrt(8))
