"""The laws of generalized Gaussian and Gumbel noise."""

import math

import numpy as np
import pytest
from scipy import stats as sps

from companion.kernels.mechanisms import generalized_gaussian, gumbel

VARIANCES = [
    (2, 3.0, 1.13209336), (5, 3.0, 1.4151167), (10, 3.0, 1.72839506), (10, 4.0, 2.24651294),
    (50, 3.0, 2.87956368), (7, 2.0, 1.0), (1, 3.7, 1.0),
]  # fmt: skip


@pytest.mark.parametrize(("d", "r", "variance"), VARIANCES)
def test_generalized_gaussian_law(d, r, variance):
    """False alarms below 1e-6 each: thresholds at 5 standard errors, Kolmogorov-Smirnov at 1e-7."""
    rng, n, sigma = np.random.default_rng(11), 20_000, 1.3
    Z = np.empty((n, d))
    for z in Z:
        generalized_gaussian(rng, r, sigma, z)
    squares = (Z**2).mean(axis=1) / sigma**2
    assert abs(squares.mean() - variance) < 5 * squares.std() / math.sqrt(n)
    radii = np.linalg.norm(Z, r, axis=1)
    assert sps.kstest(radii**2, sps.gamma(d / 2, scale=2 * sigma**2).cdf).pvalue > 1e-7
    assert abs(Z.mean(axis=0)).max() < 5.5 * sigma * math.sqrt(variance / n)
    if d > 1:
        share = np.abs(Z[:, 0]) / radii
        assert abs(sps.spearmanr(share, radii).statistic) < 5 / math.sqrt(n)
        half = np.abs(Z) ** r / radii[:, None] ** r  # Dirichlet(1/r, ..., 1/r): Beta margins
        assert sps.kstest(half[:, 0], sps.beta(1 / r, (d - 1) / r).cdf).pvalue > 1e-7


def test_gumbel_law():
    rng = np.random.default_rng(1)
    draws = np.array([gumbel(rng, 2.0) for _ in range(20_000)])
    assert sps.kstest(draws, sps.gumbel_r(scale=2.0).cdf).pvalue > 1e-7
