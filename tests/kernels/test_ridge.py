"""The inverse by sweeps, against NumPy, with and without pivots that are positive."""

import numpy as np
import pytest

from companion.kernels import ridge

sizes = pytest.mark.parametrize("d", [1, 2, 3, 5, 20, 50])


def symmetric(d, smallest, seed=0):
    """A symmetric matrix with eigenvalues from `smallest` to 2."""
    Q = np.linalg.qr(np.random.default_rng(seed).standard_normal((d, d)))[0]
    A = (Q * np.linspace(smallest, 2.0, d)) @ Q.T
    return (A + A.T) / 2


@sizes
@pytest.mark.parametrize("smallest", [1e-6, 0.5, -3.0])
def test_inverse_of_the_lower_triangle_with_a_ridge(d, smallest):
    A, out, work = symmetric(d, smallest), np.full((d, d), np.nan), np.full((2, d, d), np.nan)
    G = np.tril(A - 0.25 * np.eye(d)) + np.triu(np.full((d, d), np.nan), 1)
    assert ridge.ridge_inverse(G, 0.25, out, work)
    np.testing.assert_allclose(out @ A, np.eye(d), atol=1e-9)
    assert np.array_equal(out, out.T) or smallest < 0.0


@pytest.mark.parametrize("d", [2, 3, 5, 20])
def test_sweeps_serve_definite_matrices_and_pivots_the_others(d, monkeypatch):
    used = []
    monkeypatch.setattr(ridge, "indefinite_inverse", lambda *_: used.append(True) or True)
    plain = getattr(ridge.ridge_inverse, "py_func", ridge.ridge_inverse)
    for smallest in (0.5, -3.0):
        plain(symmetric(d, smallest), 0.0, np.empty((d, d)), np.empty((2, d, d)))
    assert used == [True]


def test_a_matrix_without_inverse_changes_nothing():
    out, work = np.full((2, 2), 7.0), np.empty((2, 2, 2))
    assert not ridge.ridge_inverse(np.array([[0.0, 0.0], [2.0, 3.0]]), 1.0, out, work)
    assert (out == 7.0).all()
    assert ridge.ridge_inverse(np.array([[0.0, 0.0], [2.0, 0.0]]), 0.0, out, work)
    np.testing.assert_array_equal(out, [[0.0, 0.5], [0.5, 0.0]])
