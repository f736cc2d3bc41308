"""The inverse by sweeps, against NumPy, of definite and of noisy matrices."""

import numpy as np
import pytest

from companion.kernels import linalg as ridge

sizes = pytest.mark.parametrize("d", [1, 2, 3, 5, 20, 50])


def spread(d, smallest, seed=0):
    """A symmetric matrix with eigenvalues from `smallest` to 2."""
    Q = np.linalg.qr(np.random.default_rng(seed).standard_normal((d, d)))[0]
    A = (Q * np.linspace(smallest, 2.0, d)) @ Q.T
    return (A + A.T) / 2


def noisy(d, seed):
    """Noise of the statistics of many users, with the shift of `noisy_ridge`: often indefinite."""
    Z = np.random.default_rng(seed).standard_normal((d, d))
    return (Z + Z.T) / 2 + 0.7 * np.sqrt(d) * np.eye(d)


def inverse(A, shift=0.25):
    """`ridge_inverse` of A, from the lower triangle of A less a ridge; NaN everywhere else."""
    d = len(A)
    out, work = np.full((d, d), np.nan), np.full((3, d, d), np.nan)
    G = np.tril(A - shift * np.eye(d)) + np.triu(np.full((d, d), np.nan), 1)
    assert ridge.ridge_inverse(G, shift, out, work)
    return out


@sizes
@pytest.mark.parametrize("smallest", [1e-6, 0.5, -3.0])
def test_inverse_of_the_lower_triangle_with_a_ridge(d, smallest):
    A = spread(d, smallest)
    np.testing.assert_allclose(inverse(A) @ A, np.eye(d), atol=1e-9)


@sizes
def test_as_exact_as_numpy_on_noise(d):
    """Errors relative to the condition number; Gauss-Jordan and NumPy have up to 1e-15."""
    for seed in range(200):
        A = noisy(d, seed)
        exact = np.linalg.inv(A)
        error = abs(inverse(A) - exact).max() / abs(exact).max() / np.linalg.cond(A)
        assert error < 1e-14


@pytest.mark.parametrize("d", [1, 2, 5, 20])
def test_definite_matrices_and_nearly_all_others_are_swept(d, monkeypatch):
    used = []
    monkeypatch.setattr(ridge, "pivoted_inverse", lambda *_: used.append(True) or True)
    plain = getattr(ridge.ridge_inverse, "py_func", ridge.ridge_inverse)
    work = np.empty((3, d, d))
    for seed in range(20):
        plain(spread(d, 1e-6, seed), 0.0, np.empty((d, d)), work)
    assert not used
    for seed in range(20):
        plain(noisy(d, seed), 0.0, np.empty((d, d)), work)
    assert len(used) <= 2


@pytest.mark.parametrize(("pivot", "swept"), [(0.05, False), (0.099, False), (0.101, True)])
def test_a_pivot_is_swept_from_a_tenth_of_its_column_on(pivot, swept, monkeypatch):
    used = []
    monkeypatch.setattr(ridge, "pivoted_inverse", lambda *_: used.append(True) or True)
    plain = getattr(ridge.ridge_inverse, "py_func", ridge.ridge_inverse)
    plain(np.array([[pivot, 1.0], [1.0, 0.01]]), 0.0, np.empty((2, 2)), np.empty((3, 2, 2)))
    assert (not used) == swept


def test_weak_pivots_are_not_swept():
    """A sweep of the pivot 1e-9 would lose nine digits."""
    A = np.array([[1e-9, 1.0], [1.0, 2e-9]])
    np.testing.assert_allclose(inverse(A, 0.0), np.linalg.inv(A), rtol=1e-14)


def test_a_matrix_without_inverse_changes_nothing():
    out, work = np.full((2, 2), 7.0), np.empty((3, 2, 2))
    assert not ridge.ridge_inverse(np.array([[0.0, 0.0], [2.0, 3.0]]), 1.0, out, work)
    assert (out == 7.0).all()
    assert ridge.ridge_inverse(np.array([[0.0, 0.0], [2.0, 0.0]]), 0.0, out, work)
    np.testing.assert_array_equal(out, [[0.0, 0.5], [0.5, 0.0]])
