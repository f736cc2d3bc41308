"""Steps of all experts at once against those of one expert after the other."""

import numpy as np

from companion.kernels.linalg import sherman_morrison
from companion.online_linucb.experts import add_squares, divide, gaps, scaled

RNG = np.random.default_rng(4)
D, N, WIDE = 4, 5, 7  # dimension, experts, columns: those of a padded copy are left alone
X, THETA, G = RNG.standard_normal((D, WIDE)), RNG.standard_normal(D), RNG.standard_normal(D)
RATES = RNG.random(N)


def test_gaps_of_every_expert():
    along, square = np.full((2, WIDE), 9.0)
    gaps(X, THETA, G, N, along, square)
    gap = THETA - X[:, :N].T
    np.testing.assert_allclose(along, [*(gap @ G), 9.0, 9.0], rtol=1e-14)
    np.testing.assert_allclose(square, [*(gap**2).sum(axis=1), 9.0, 9.0], rtol=1e-14)


def test_scaled_gradients_of_every_expert():
    grad, c = np.full((D, WIDE), 9.0), np.empty(WIDE)
    scaled(X, RATES, G, THETA, grad, c)
    factor = RATES + 2 * RATES**2 * ((X[:, :N].T - THETA) @ G)
    np.testing.assert_allclose(grad[:, :N], np.outer(G, factor), rtol=1e-13)
    assert (grad[:, N:] == 9.0).all()


def test_matrices_and_inverses_are_those_of_one_expert_to_the_bit():
    grad = RNG.standard_normal((D, WIDE))
    A = RNG.standard_normal((WIDE, D, D))
    S = A @ A.swapaxes(1, 2) + np.eye(D)
    S_inv = np.linalg.inv(S)
    many, many_inv = (np.ascontiguousarray(np.moveaxis(a, 0, 2)) for a in (S, S_inv))
    add_squares(many, grad, N)
    v, rows = np.empty((D, WIDE)), np.empty((3, WIDE))
    divide(many_inv, grad, N, v, rows)
    low = np.tril_indices(D)
    for i in range(N):
        x, one, work = grad[:, i].copy(), S_inv[i].copy(), np.empty(D)
        assert np.array_equal(many[:, :, i][low], (S[i] + np.outer(x, x))[low])
        sherman_morrison(one, x, work)
        assert np.array_equal(many_inv[:, :, i], one)
        assert np.array_equal(v[:, i], work)
        np.testing.assert_allclose(rows[1, i] * v[:, i], one @ x, rtol=1e-9)
    assert np.array_equal(np.moveaxis(many_inv, 2, 0)[N:], S_inv[N:])
