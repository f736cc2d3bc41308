"""Every loop against NumPy; projection in a norm against its optimality conditions and
SciPy."""

import copy

import numpy as np
import pytest

from companion.kernels import linalg

RNG = np.random.default_rng()
sizes = pytest.mark.parametrize("d", [1, 2, 3, 7, 20, 23])


@pytest.fixture(autouse=True)
def seeded():
    """Every test draws the same numbers, in whatever order the tests run."""
    RNG.bit_generator.state = np.random.default_rng(20).bit_generator.state


def symmetric(d):
    A = RNG.standard_normal((d, d))
    return A + A.T


def definite(d, condition=1e3):
    Q = np.linalg.qr(RNG.standard_normal((d, d))).Q
    A = (Q * np.geomspace(1.0, condition, d)) @ Q.T
    return np.ascontiguousarray((A + A.T) / 2)


@sizes
def test_inverse_of_definite_and_indefinite_matrices(d):
    out = np.empty((d, d))
    work = np.empty((d, d))
    for A in (definite(d), symmetric(d), RNG.standard_normal((d, d))):
        before = A.copy()
        assert linalg.inverse(A, out, work)
        np.testing.assert_allclose(
            out,
            np.linalg.inv(A),
            rtol=1e-9,
            atol=1e-9 * np.abs(out).max(),
        )
        assert np.array_equal(A, before)
        assert linalg.inverse(A, A, work)  # in place
        assert np.array_equal(A, out)


def test_inverse_pivots_and_says_when_there_is_none():
    out = np.empty((2, 2))
    work = np.empty((2, 2))
    swap = np.array([[0.0, 1.0], [2.0, 0.0]])
    singular = np.array([[1.0, 2.0], [2.0, 4.0]])
    assert linalg.inverse(swap, out, work)
    np.testing.assert_array_equal(out, [[0.0, 0.5], [1.0, 0.0]])
    assert not linalg.inverse(singular, out, work)
    assert not linalg.inverse(np.zeros((2, 2)), out, work)


@sizes
def test_cholesky(d):
    A = definite(d)
    b = RNG.standard_normal(d)
    L = np.zeros((d, d))
    out = np.empty(d)
    assert linalg.cholesky(A, L)
    np.testing.assert_allclose(L, np.linalg.cholesky(A), rtol=1e-9, atol=1e-9)
    linalg.cholesky_solve(L, b, out)
    np.testing.assert_allclose(out, np.linalg.solve(A, b), rtol=1e-8)
    linalg.cholesky_solve(L, b, b)  # in place
    assert np.array_equal(b, out)
    for bad in (-1.0, np.nan):
        A[d - 1, d - 1] = bad
        assert not linalg.cholesky(A, L)


@pytest.mark.parametrize("condition", [1.0, 1e3, 1e8])
@pytest.mark.parametrize("d", [1, 2, 5, 12])
def test_project_ball_in_norm_is_optimal(d, condition):
    """KKT: S(v - z) = -m v for some m >= 0, with ||v|| = radius where m > 0."""
    v = np.empty(d)
    for length in (0.5, 1.0 + 1e-12, 1.5, 1e4):
        S = definite(d, condition)
        z = RNG.standard_normal(d)
        z *= length / np.linalg.norm(z)
        linalg.project_ball_in_norm(S, z, 1.0, np.empty((d, d)), np.empty(d), v)
        pull = S @ (z - v)
        m = pull @ v / (v @ v)
        assert np.linalg.norm(v) <= 1.0 + 1e-12
        scale = np.linalg.norm(S, 2) * length
        np.testing.assert_allclose(pull, m * v, atol=1e-9 * scale)
        assert m >= -1e-12 * scale
        if length < 1.0:
            assert np.array_equal(v, z)
        else:
            assert np.linalg.norm(v) == pytest.approx(1.0, abs=1e-9 + 1e-15 * condition)


def test_jacobi_against_numpy():
    for m in (1, 2, 3, 5):
        A = symmetric(m)
        rows = np.empty((m, m))
        D = A.copy()
        linalg.jacobi(D, rows)
        sizes = np.diag(D)
        wanted = np.linalg.eigvalsh(A)
        np.testing.assert_allclose(np.sort(sizes), wanted, atol=1e-12)
        again = rows.T @ np.diag(sizes) @ rows
        np.testing.assert_allclose(again, A, atol=1e-12)


# --- the lasso's descent, which comes to an end and says whether it converged
# -----------------


def solved(G, c, penalty, tolerance=1e-12):
    theta = np.zeros(len(c))
    q = np.array(c, float)
    index = np.arange(len(c))
    gram = linalg.Gram(
        rows=np.array(G, float),
        index=index,
        seen=index,
        X=np.empty((0, len(c))),
    )
    done = linalg.lasso_descent(gram, 0, len(c), penalty, tolerance, theta, q)
    return done, theta, q


def test_soft_threshold_by_hand():
    done, theta, q = solved([[2.0, 0.0], [0.0, 4.0]], [3.0, -0.5], 1.0)
    assert done
    assert theta.tolist() == [1.0, 0.0]
    assert q.tolist() == [1.0, -0.5]


@pytest.mark.parametrize("size", [1e-30, 1.0, 1e30])
def test_the_tolerance_is_never_below_rounding(size):
    """The solution is (size, -size): at 1e30 no move of 1e-12 can be seen."""
    done, theta, _ = solved([[2.0, 1.0], [1.0, 2.0]], [size, -size], 0.0)
    assert done
    assert theta == pytest.approx([size, -size], rel=1e-12, abs=1e-12)


def test_a_slow_descent_stops_and_says_so():
    near = 1 - 1e-9
    done, theta, _ = solved([[1.0, near], [near, 1.0]], [1e-3, -1e-3], 0.0)
    assert not done
    assert np.isfinite(theta).all()


def test_a_gram_row_takes_in_rows_of_data_in_their_order():
    X = np.random.default_rng(2).standard_normal((9, 4))
    often = linalg.Gram(
        rows=np.zeros((2, 4)),
        index=np.array([3, 1]),
        seen=np.zeros(2, int),
        X=X,
    )
    late = copy.deepcopy(often)
    for n in (0, 2, 2, 5, 9):
        linalg.whole(often, 0, n)
        part = X[:n]
        np.testing.assert_allclose(often.rows[0], part[:, 3] @ part, atol=1e-12)
    assert (linalg.whole(late, 0, 9) == often.rows[0]).all()
    assert (linalg.whole(late, 0, 4) == often.rows[0]).all()  # it knows more already
    assert late.seen.tolist() == often.seen.tolist() == [9, 0]
