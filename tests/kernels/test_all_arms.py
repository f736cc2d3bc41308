"""Optimism from the scores of all arms plays the arms of `optimistic_arm`."""

import numpy as np
import pytest

from companion.kernels.linalg import dot, quad
from companion.kernels.ucb import (
    MANY,
    nothing_seen,
    optimistic_arm,
    optimistic_next,
    optimistic_of_seen,
    scores,
    see,
    seen_alone,
)


@pytest.mark.parametrize("d", [1, 2, 5, 8])
@pytest.mark.parametrize("K", [1, 7, 60])
def test_it_plays_the_same_arm(K, d):
    """Whatever the width, with ties, arms of no width and matrices that are not definite."""
    rng, played = np.random.default_rng(d), set()
    for trial in range(200):
        X = rng.standard_normal((K, d))
        X[K // 2] = X[0]
        X[-1] *= trial % 3 > 0
        root, theta = rng.standard_normal((d, d)), rng.standard_normal(d)
        A = root @ root.T - (trial % 5 == 0) * np.eye(d)
        A = (A + A.T) / 2.0
        for width in (0.0, 0.1, 10.0):
            arm = optimistic_arm(X, A, theta, width)
            assert optimistic_of_seen(seen_alone(X), A, theta, width) == arm
            played.add(arm)
    assert len(played) > K // 2


@pytest.mark.parametrize("d", [1, 4, 5])
def test_scores_are_those_of_an_arm_alone(d):
    """To the bit, those of the kernels that take one arm."""
    rng = np.random.default_rng(4)
    X, root, theta = (rng.standard_normal(s) for s in ((30, d), (d, d), d))
    A = root @ root.T
    seen = nothing_seen(X[None])
    see(X, seen)
    scores(seen, theta, A)
    assert seen[d].tolist() == [dot(x, theta) for x in X]
    assert seen[d + 1].tolist() == [quad(A, x) for x in X]


def test_it_is_the_textbook_arm():
    rng = np.random.default_rng(3)
    for _ in range(100):
        X, root, theta = (rng.standard_normal(s) for s in ((20, 4), (4, 4), 4))
        A = root @ root.T
        index = X @ theta + 2.0 * np.sqrt(np.einsum("ki,ij,kj->k", X, A, X))
        assert optimistic_of_seen(seen_alone(X), A, theta, 2.0) == index.argmax()


@pytest.mark.parametrize("K", [MANY - 1, MANY, 40])
@pytest.mark.parametrize("d", [1, 2, 5])
def test_arms_that_stay_and_arms_that_change_are_chosen_from_alike(K, d):
    """Runs of equal rounds, of which some differ in one entry of one arm."""
    rng, played = np.random.default_rng([K, d]), set()
    for _ in range(20):
        X, alike = np.empty((40, K, d)), 0
        for t in range(40):
            X[t] = rng.standard_normal((K, d)) if t == 0 or rng.random() < 0.2 else X[t - 1]
            if rng.random() < 0.2:
                X[t, rng.integers(K), rng.integers(d)] += 1.0
            alike += t > 0 and (X[t] == X[t - 1]).all()
        assert 10 < alike < 35
        seen = nothing_seen(X)
        for t in range(40):
            root, theta = rng.standard_normal((d, d)), rng.standard_normal(d)
            A, width = root @ root.T, rng.choice([0.0, 0.3, 3.0])
            arm = optimistic_next(X, t, A, theta, width, seen)
            assert arm == optimistic_arm(X[t], A, theta, width)
            played.add(arm)
    assert len(played) > K // 2
