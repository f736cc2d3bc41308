"""The optimistic arm, one arm after another and all at once, against NumPy."""

import numpy as np
import pytest

from companion.kernels import ucb as optimism
from companion.kernels.linalg import dot, quad

RNG = np.random.default_rng(7)


def definite(d):
    A = RNG.standard_normal((d, d))
    return A @ A.T + 0.1 * np.eye(d)


@pytest.mark.parametrize("K", [1, 2, 9, optimism.MANY - 1, optimism.MANY, 100])
@pytest.mark.parametrize("d", [1, 2, 3, 4, 5, 8])
def test_optimistic_arm_is_the_first_maximum(K, d):
    for _ in range(20):
        X, theta, V_inv = RNG.standard_normal((K, d)), RNG.standard_normal(d), definite(d)
        index = X @ theta + 0.7 * np.sqrt(np.einsum("ki,ij,kj->k", X, V_inv, X))
        assert optimism.optimistic_arm(X, V_inv, theta, 0.7) == index.argmax()


def arm_by_arm(X, V_inv, theta, width):
    """The plain loop: the first arm with the largest index."""
    best, arm = -np.inf, 0
    for k, x in enumerate(X):
        index = dot(x, theta) + width * np.sqrt(max(quad(V_inv, x), 0.0))
        if index > best:
            best, arm = index, k
    return arm


@pytest.mark.parametrize("scale", [0.0, 1e-170, 1e-9, 1.0])
@pytest.mark.parametrize("kind", ["definite", "indefinite", "one direction", "nan"])
def test_a_bound_on_the_form_never_changes_the_arm(kind, scale):
    """Widths from none to far above all means, contexts up to a size whose squares vanish."""
    for i in range(200):
        d, K = 1 + i % 6, optimism.MANY + i % 40
        X, theta, B = scale * RNG.standard_normal((K, d)), RNG.standard_normal(d), definite(d)
        X[i % K] = X[i % 3]  # a tie
        v = np.ones((d, 1)) / np.sqrt(d)
        A = {"definite": B, "indefinite": B - np.trace(B) / d * np.eye(d), "nan": B * np.nan,
             "one direction": 1e4 * v @ v.T + 1e-6 * np.eye(d)}[kind]  # fmt: skip
        for width in (0.0, 1e-3, 1.0, 30.0):
            wanted = arm_by_arm(X, A, theta, width)
            assert optimism.optimistic_arm(X, A, theta, width) == wanted


def test_the_row_sum_is_above_every_eigenvalue_and_reached():
    for d in (1, 2, 5):
        A = definite(d) - np.eye(d)
        assert optimism.row_sum(A) >= np.abs(np.linalg.eigvalsh(A)).max() - 1e-12
    assert optimism.row_sum(np.array([[2.0, -3.0], [-3.0, 2.0]])) == 5.0  # eigenvalues -1, 5


@pytest.mark.parametrize("copies", [1, 10])
def test_the_first_arm_wins_ties_and_negative_forms_count_as_zero(copies):
    twice = np.array([[0.0, 1.0], *[[1.0, 0.0]] * 2 * copies])
    assert optimism.optimistic_arm(twice, np.eye(2), np.array([1.0, 0.0]), 1.0) == 1
    assert optimism.optimistic_arm(twice, -np.eye(2), np.array([-1.0, 0.0]), 1.0) == 0
    # equal means of no width at all
    assert optimism.optimistic_arm(twice[1:], np.zeros((2, 2)), np.array([1.0, 0.0]), 1.0) == 0


def test_the_same_arms_are_the_same_in_every_entry():
    X = np.repeat(RNG.standard_normal((1, 9, 4)), 3, axis=0)
    assert optimism.same_arms(X, 1)
    assert optimism.same_arms(X, 2)
    for k in range(9):
        for i in range(4):
            other = X.copy()
            other[1, k, i] = np.nextafter(other[1, k, i], 9.0)
            assert not optimism.same_arms(other, 1)
            assert not optimism.same_arms(other, 2)
    X[:, 8, 3] = np.nan  # nobody knows what a choice among these would be
    assert not optimism.same_arms(X, 1)
