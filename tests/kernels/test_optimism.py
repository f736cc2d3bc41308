"""The optimistic arm, one arm after another and all at once, against NumPy."""

import numpy as np
import pytest

from companion.kernels import optimism
from companion.kernels.linalg import dot, quad

RNG = np.random.default_rng(7)


def definite(d):
    A = RNG.standard_normal((d, d))
    return A @ A.T + 0.1 * np.eye(d)


@pytest.mark.parametrize("K", [1, 2, 9, optimism.WIDE - 1, optimism.WIDE, 100])
@pytest.mark.parametrize("d", [1, 2, 3, 4, 5, 8])
def test_optimistic_arm_is_the_first_maximum(K, d):
    for _ in range(20):
        X, theta, V_inv = RNG.standard_normal((K, d)), RNG.standard_normal(d), definite(d)
        index = X @ theta + 0.7 * np.sqrt(np.einsum("ki,ij,kj->k", X, V_inv, X))
        assert optimism.optimistic_arm(X, V_inv, theta, 0.7) == index.argmax()


@pytest.mark.parametrize("copies", [1, 10])
def test_the_first_arm_wins_ties_and_negative_forms_count_as_zero(copies):
    twice = np.array([[0.0, 1.0], *[[1.0, 0.0]] * 2 * copies])
    assert optimism.optimistic_arm(twice, np.eye(2), np.array([1.0, 0.0]), 1.0) == 1
    assert optimism.optimistic_arm(twice, -np.eye(2), np.array([-1.0, 0.0]), 1.0) == 0
    # equal means of no width at all
    assert optimism.optimistic_arm(twice[1:], np.zeros((2, 2)), np.array([1.0, 0.0]), 1.0) == 0


@pytest.mark.parametrize("d", [1, 2, 3, 4, 5, 8])
def test_scores_have_the_bits_of_one_arm_alone(d):
    X, theta, A = RNG.standard_normal((40, d)), RNG.standard_normal(d), definite(d)
    wanted = [[dot(x, theta) for x in X], [quad(A, x) for x in X]]
    assert np.array_equal(optimism.scores(X, theta, A), wanted)
