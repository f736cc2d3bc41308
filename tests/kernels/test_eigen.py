"""Eigenvalues by Jacobi and least squares in the ball, against numpy."""

import numpy as np

from companion.kernels.linalg import ball_least_squares, jacobi


def test_compress_and_clip_is_within_twice_the_error():
    rng = np.random.default_rng(0)
    for _ in range(300):
        d = int(rng.integers(2, 5))
        q, _ = np.linalg.qr(rng.standard_normal((d, d)))
        U, V = q[:, :1], q[:, 1:]
        root = V @ rng.standard_normal((d - 1, d - 1))
        truth = root @ root.T
        noise = rng.standard_normal((d, d))
        X = truth + (noise + noise.T) * rng.random()
        values, vectors = np.linalg.eigh(V.T @ X @ V)
        clipped = V @ vectors @ np.diag(np.maximum(values, 0)) @ vectors.T @ V.T
        error = np.linalg.norm(X - truth, 2)
        assert np.linalg.norm(clipped - truth, 2) <= 2 * error + 1e-12
        assert abs(max(values[-1], 0) - np.linalg.eigvalsh(truth)[-1]) <= error + 1e-12
        assert np.abs(clipped @ U).max() < 1e-12


def test_jacobi_and_least_squares_in_the_ball_against_numpy():
    rng = np.random.default_rng(0)
    for m in (1, 2, 3, 5):
        A = rng.standard_normal((m, m))
        A = A + A.T
        D, rows = A.copy(), np.empty((m, m))
        jacobi(D, rows)
        np.testing.assert_allclose(np.sort(np.diag(D)), np.linalg.eigvalsh(A), atol=1e-12)
        np.testing.assert_allclose(rows.T @ np.diag(np.diag(D)) @ rows, A, atol=1e-12)
        S, b, out = A @ A.T, rng.standard_normal(m) * 3, np.empty(m)
        ball_least_squares(S.copy(), b, rows, np.empty(m), out)
        gradient = S @ out - b
        assert np.linalg.norm(out) <= 1 + 1e-9
        multiplier = -(gradient @ out) / (out @ out)
        assert multiplier >= -1e-9
        np.testing.assert_allclose(gradient, -multiplier * out, atol=1e-7)
