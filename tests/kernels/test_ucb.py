"""The arm with the largest upper confidence bound, with and without arms that are ruled
out."""

import numpy as np
import pytest

from companion.kernels import ucb
from companion.kernels.glm import LINEAR, mean
from companion.kernels.linalg import dot, quad

KINDS = ("definite", "indefinite", "diagonal", "one direction", "nan")


def matrix(kind, d, rng):
    B = rng.standard_normal((d, d))
    v = np.ones((d, 1)) / np.sqrt(d)
    return {
        "definite": B @ B.T + 0.1 * np.eye(d),
        "indefinite": B + B.T,
        "diagonal": np.diag(rng.random(d) + 0.5),
        "one direction": 1e4 * v @ v.T + 1e-6 * np.eye(d),
        "nan": np.full((d, d), np.nan),
    }[kind]


def indices(X, theta, A, width, link=LINEAR):
    """Every arm's mean(x'theta) + width sqrt(x'Ax), with the kernel's operations in
    order."""
    found = []
    for x in X:
        form = max(quad(A, x), 0.0)
        found.append(mean(link, dot(x, theta)) + width * np.sqrt(form))
    return np.array(found)


@pytest.mark.parametrize("link", range(3))
@pytest.mark.parametrize("scale", [0.0, 1e-170, 1e-9, 1.0, 8.0])
@pytest.mark.parametrize("kind", KINDS)
def test_the_optimistic_arm_is_the_first_maximum(kind, scale, link):
    """Widths from none to far above all means, contexts up to a size whose squares
    vanish, scores up to the flat ends of a link."""
    rng = np.random.default_rng(7)
    for i in range(50):
        d = 1 + i % 6
        K = 3 + i % 100
        X = scale * rng.standard_normal((K, d))
        theta = rng.standard_normal(d)
        A = matrix(kind, d, rng)
        X[i % K] = X[i % 3]  # a tie
        for width in (0.0, 1e-3, 1.0, 30.0):
            bounds = indices(X, theta, A, width, link)
            best = np.fmax(bounds, -np.inf).argmax()
            assert ucb.optimistic_mean(link, theta, A, width, X) == best


@pytest.mark.parametrize("size", [1e-9, 0.3, 1.0, 30.0])
@pytest.mark.parametrize("kind", KINDS[:4])
def test_the_best_of_those_left_is_the_first_maximum(kind, size):
    """From widths of none to widths far above all scores; ties, and estimates that say
    nothing."""
    rng = np.random.default_rng(3)
    for i in range(200):
        d = 1 + i % 6
        K = 1 + i % 60
        X = rng.standard_normal((K, d)) * rng.random((K, 1))
        X[i % K] = X[0]  # a tie
        first, second = size * rng.standard_normal((2, d))
        if i % 5 == 0:
            second[:] = 0.0
        A = matrix(kind, d, rng)
        B = matrix(KINDS[i % 4], d, rng)
        exact = np.array([quad(A, x) for x in X])
        forms = np.empty(K)
        assert ucb.widest(X, A, forms) == (exact.max(), exact.argmax())
        for reach, width in ((0.0, 1.0), (0.05, 0.05), (1.0, 0.0), (30.0, 5.0)):
            low = indices(X, first, A, -reach).max()
            left = indices(X, first, A, reach) >= low
            index = np.where(left, indices(X, second, B, width), -np.inf)
            arm = ucb.best_left(X, first, forms, reach, second, B, width)
            assert arm == index.argmax()


def test_a_form_that_rounding_made_negative_counts_as_zero():
    """Of long contexts (1e8) most are: a root of one is no number, and no number is never
    best."""
    X = 1e8 * np.eye(2)[::-1]
    theta = np.array([2.0, 1.0])
    wrong = -np.eye(2)
    forms = np.empty(2)
    assert ucb.optimistic_arm(X, wrong, theta, 1.0) == 1
    ucb.widest(X, wrong, forms)
    assert ucb.best_left(X, theta, forms, 1.0, theta, wrong, 1.0) == 1
