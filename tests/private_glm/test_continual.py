"""Matrices under continual release: noise of live blocks, and a floor under eigenvalues."""

import numpy as np
import pytest

from companion.private_glm.continual import Scratch, add_leaf, publish, raise_floor, start


def test_a_prefix_has_the_noise_of_its_live_blocks():
    """Variance popcount(t) sigma^2 on the diagonal, half of it off it (5.5 sigma)."""
    w, draws, sigma, runs = (
        Scratch(np.zeros((2, 2)), np.zeros((2, 2))),
        {1: [], 7: [], 8: []},
        2.0,
        4000,
    )
    rng = np.random.default_rng(5)
    for _ in range(runs):
        c = start(2, 4, 1e6)
        for t in range(1, 9):
            add_leaf(1.0, np.array([0.6, 0.8]), c.exact)
            publish(c, t, 1e6, 5e5, sigma, rng, w)
            if t in draws:
                draws[t].append(c.value - 1e6 * np.eye(2) - t * np.outer([0.6, 0.8], [0.6, 0.8]))
    for t, blocks in ((1, 1), (7, 3), (8, 1)):
        z = np.array(draws[t])
        spread = 5.5 * np.sqrt(2 / runs)
        assert z[:, 0, 0].var() == pytest.approx(blocks * sigma**2, rel=spread)
        assert z[:, 0, 1].var() == pytest.approx(blocks * sigma**2 / 2, rel=spread)
        assert np.array_equal(z[:, 0, 1], z[:, 1, 0])


def test_eigenvalues_have_a_floor_and_others_stay():
    w, A = Scratch(np.zeros((3, 3)), np.zeros((3, 3))), np.diag([5.0, -2.0, 1.0])
    Q = np.linalg.qr(np.random.default_rng(0).standard_normal((3, 3)))[0]
    B = Q @ A @ Q.T
    assert raise_floor(B, 0.5, w)
    np.testing.assert_allclose(B, Q @ np.diag([5.0, 0.5, 1.0]) @ Q.T, atol=1e-12)
    assert not raise_floor(B, 0.4, w)
