"""Matrices under continual release: noise of live blocks, and a floor under eigenvalues."""

import numpy as np
import pytest

from companion.kernels.linalg import cholesky
from companion.private_glm.continual import (
    Scratch,
    add_leaf,
    dominant,
    publish,
    raise_floor,
    start,
)


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


def test_a_dominant_matrix_has_a_factor():
    """Near the border, with diagonals of very different sizes; the upper triangle is not read."""
    rng, found = np.random.default_rng(6), 0
    for _ in range(2_000):
        A, L = rng.standard_normal((4, 4)), np.zeros((4, 4))
        A[np.triu_indices(4, 1)] = 0.0
        rest = np.abs(A + A.T).sum(axis=1) - 2.0 * np.abs(np.diag(A))
        np.fill_diagonal(
            A, rest * (1.0 + rng.choice([-0.3, 1e-10, 1e-8, 1.0], 4, p=[0.1, 0.1, 0.4, 0.4]))
        )
        size = 10.0 ** rng.integers(-6, 7)
        A *= size
        A[np.triu_indices(4, 1)] = 1e9
        sure = dominant(A)
        found += sure
        assert cholesky(A, L) or not sure
        assert sure == bool((np.diag(A) > size * rest * (1.0 + 5e-9)).all())
    assert 200 < found < 1_500
    assert not dominant(np.full((2, 2), np.nan))
    assert not dominant(np.zeros((1, 1)))


def test_without_noise_nothing_is_drawn_and_a_sum_without_a_new_leaf_stays():
    w, c = Scratch(np.zeros((2, 2)), np.zeros((2, 2))), start(2, 4, 0.3)
    rng = np.random.default_rng(7)
    before = rng.bit_generator.state
    assert (c.value == 0.3 * np.eye(2)).all()
    for t in range(1, 9):
        was = c.value.copy()
        if t % 3 == 0:
            add_leaf(0.7, np.array([0.6, -0.8]), c.exact)
        publish(c, t, 0.3, 0.15, 0.0, rng, w)
        assert (c.value == was).all() == (t % 3 != 0)
    assert rng.bit_generator.state == before
