"""Differences of Wishart matrices: their scale is found, and a one-sided noise is seen."""

import numpy as np

from companion.audits.pure_noise import wishart_scales


def wisharts(rng, n, c, d=2):
    """(n, d, d) draws of Wishart_d(d + 1, c I)."""
    z = rng.standard_normal((n, d, d + 1)) * np.sqrt(c)
    return z @ z.transpose(0, 2, 1)


def test_the_scale_of_a_difference_is_found():
    rng, n, c = np.random.default_rng(0), 20_000, 1.7
    scales, error, one_sided, chance = wishart_scales(wisharts(rng, n, c) - wisharts(rng, n, c))
    assert not one_sided
    assert np.abs(scales / c - 1).max() < 5.5 * error
    assert 0.001 < error < 0.02
    assert chance > 1e-7


def test_one_sided_and_normal_noise_are_seen():
    rng, n = np.random.default_rng(0), 20_000
    assert wishart_scales(wisharts(rng, n, 1.0) - 3 * np.eye(2))[2]
    N = rng.standard_normal((n, 2, 2))
    assert wishart_scales(N + N.transpose(0, 2, 1))[3] < 1e-7
