"""Worlds: errors, gaps and sufficient statistics have the laws that they promise.

False alarms: every Kolmogorov-Smirnov test is at 1e-7.
"""

import numpy as np
import pytest
from scipy import stats as sps

from companion.fliphat.environments import autoregressive, gaussian_statistics, margin


@pytest.mark.parametrize(("rewards", "law"), [("gaussian", "norm"), ("uniform", "uniform")])
def test_errors_have_the_prescribed_law(rewards, law):
    """20000 reward errors of size 0.3; Kolmogorov-Smirnov at 1e-7."""
    env = autoregressive(2, [1.0, 0.5], rewards=rewards, noise=0.3)
    blocks = env.blocks(10_000, np.random.default_rng(8))
    _, R, mu = (np.concatenate(part) for part in zip(*blocks, strict=True))
    args = (0.0, 0.3) if law == "norm" else (-0.3, 0.6)
    assert sps.kstest((R - mu).ravel(), law, args=args).pvalue > 1e-7


def test_margin_world_has_the_prescribed_gaps():
    """50000 gaps against their law, Kolmogorov-Smirnov at 1e-7."""
    for alpha in (0.5, 1.0, np.inf):
        env = margin([0.6, 0.0, -0.8, 0.0], gap=0.3, alpha=alpha)
        X, R, mu = (
            np.concatenate(part)
            for part in zip(*env.blocks(50_000, np.random.default_rng(7)), strict=True)
        )
        gaps = np.abs(mu[:, 0] - mu[:, 1])
        if alpha == np.inf:
            np.testing.assert_allclose(gaps, 0.3, atol=1e-12)
        else:
            assert sps.kstest((gaps / 0.3) ** alpha, "uniform").pvalue > 1e-7
        np.testing.assert_allclose(mu, X @ env.beta, atol=1e-12)
        assert (R - mu).std() == pytest.approx(0.5, rel=0.02)


def test_statistics_have_the_law_of_the_rows():
    """Entries of X'X and X'y, 4000 draws each way; Kolmogorov-Smirnov at 1e-7."""
    rng, beta, n = np.random.default_rng(9), np.array([1.0, -0.5, 0.0]), 4
    fast, slow = [], []
    for _ in range(4000):
        G, c = gaussian_statistics(rng, n, beta, 0.7)
        fast.append([*G[np.triu_indices(3)], *c])
        X = rng.standard_normal((n, 3))
        G, c = X.T @ X, X.T @ (X @ beta + 0.7 * rng.standard_normal(n))
        slow.append([*G[np.triu_indices(3)], *c])
    for a, b in zip(np.array(fast).T, np.array(slow).T, strict=True):
        assert sps.ks_2samp(a, b).pvalue > 1e-7
