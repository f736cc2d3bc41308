"""The arm with the largest upper confidence bound, with and without arms that are ruled out."""

import numpy as np
import pytest

from companion.kernels import ucb as optimism
from companion.kernels.linalg import dot, quad

RNG = np.random.default_rng(7)


def definite(d):
    A = RNG.standard_normal((d, d))
    return A @ A.T + 0.1 * np.eye(d)


@pytest.mark.parametrize("K", [1, 2, 9, 100])
@pytest.mark.parametrize("d", [1, 2, 3, 4, 5, 8])
def test_optimistic_arm_is_the_first_maximum(K, d):
    for _ in range(20):
        X, theta, V_inv = RNG.standard_normal((K, d)), RNG.standard_normal(d), definite(d)
        index = X @ theta + 0.7 * np.sqrt(np.einsum("ki,ij,kj->k", X, V_inv, X))
        assert optimism.optimistic_arm(X, V_inv, theta, 0.7) == index.argmax()


def arm_by_arm(X, V_inv, theta, width):
    """The plain loop over all forms, with the kernel's operations in order."""
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
        d, K = 1 + i % 6, 3 + i % 40
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
    for _ in range(200):
        x = RNG.standard_normal((1, 5))
        theta, A = RNG.standard_normal(5), definite(5)
        assert optimism.optimistic_arm(np.repeat(x, 9, axis=0), A, theta, 0.7) == 0
    # equal means of no width at all
    assert optimism.optimistic_arm(twice[1:], np.zeros((2, 2)), np.array([1.0, 0.0]), 1.0) == 0


KINDS = ("definite", "indefinite", "diagonal", "one direction")


def matrix(kind, d, rng):
    B = rng.standard_normal((d, d))
    v = np.ones((d, 1)) / np.sqrt(d)
    return {
        "definite": B @ B.T + 0.1 * np.eye(d),
        "indefinite": B + B.T,
        "diagonal": np.diag(rng.random(d) + 0.5),
        "one direction": 1e4 * v @ v.T + 1e-6 * np.eye(d),
    }[kind]


def every_arm(X, first, second, A, reach, B, width):
    """(largest form, its arm, largest lower end, arm) from all forms, with the kernel's operations
    in order."""
    forms = np.array([quad(A, x) for x in X])
    half = np.array([reach * np.sqrt(max(f, 0.0)) for f in forms])
    score = np.array([dot(x, first) for x in X])
    low = max(score - half)
    index = [dot(x, second) + width * np.sqrt(max(quad(B, x), 0.0)) for x in X]
    left = np.where(score + half >= low, index, -np.inf)
    return forms.max(), forms.argmax(), low, left.argmax()


@pytest.mark.parametrize("size", [1e-9, 0.3, 1.0, 30.0])
@pytest.mark.parametrize("kind", KINDS)
def test_forms_that_are_left_out_change_nothing(kind, size):
    """From widths of none to widths far above all scores; ties, and estimates that say nothing."""
    rng = np.random.default_rng(3)
    for i in range(200):
        d, K = 1 + i % 6, 1 + i % 60
        X = rng.standard_normal((K, d)) * rng.random((K, 1))
        X[i % K] = X[0]  # a tie
        first, second = size * rng.standard_normal((2, d)) * ([1], [i % 5 > 0])
        A, B = (matrix(k, d, rng) for k in (kind, KINDS[i % 4]))
        table = np.empty((4, K))
        for reach, width in ((0.0, 1.0), (0.05, 0.05), (1.0, 0.0), (30.0, 5.0)):
            form, widest, low, arm = every_arm(X, first, second, A, reach, B, width)
            optimism.tabulate(X, first, second, table)
            assert optimism.widest(X, A, -np.inf, table) == (form, widest)
            assert optimism.widest(X, A, form, table) == (form, widest)
            assert optimism.widest(X, A, form + 1e-9 + 1e-9 * abs(form), table)[0] <= form
            assert optimism.best_lower(X, A, reach, table) == low
            assert optimism.best_left(X, A, reach, low, B, width, table) == arm, (i, reach)


def test_most_forms_are_left_out(monkeypatch):
    """Of 100 arms, where both estimates have learned."""
    names = ("widest", "best_lower", "best_left", "half_width", "survives")
    for name in names:
        kernel = getattr(optimism, name)
        monkeypatch.setattr(optimism, name, getattr(kernel, "py_func", kernel))
    asked, plain = [], optimism.quad
    monkeypatch.setattr(optimism, "quad", lambda A, x: asked.append(1) or plain(A, x))
    rng, table = np.random.default_rng(1), np.empty((4, 100))
    X, theta = rng.standard_normal((100, 5)) / 3.0, np.array([1.0, -0.5, 0.2, 0.0, 1.0])
    A = 1e-3 * (np.eye(5) + 0.1 * np.ones((5, 5)))
    optimism.tabulate(X, theta, theta, table)
    optimism.widest(X, A, -np.inf, table)
    low = optimism.best_lower(X, A, 1.0, table)
    optimism.best_left(X, A, 1.0, low, A, 1.0, table)
    assert 3 <= len(asked) < 60


def test_the_least_form_is_below_every_eigenvalue_and_near_one_of_a_diagonal():
    rng = np.random.default_rng(2)
    for d in (1, 2, 5):
        for kind in KINDS:
            A = matrix(kind, d, rng)
            assert 0.0 <= optimism.least_form(A) <= max(np.linalg.eigvalsh(A)[0], 0.0)
    assert 2.0 - 1e-7 < optimism.least_form(np.diag([2.0, 5.0])) < 2.0


def test_a_form_that_rounding_made_negative_counts_as_zero():
    """Of long contexts (1e8) most are: a root of one is no number, and no number is never best."""
    X, theta, wrong = 1e8 * np.eye(2)[::-1], np.array([2.0, 1.0]), -np.eye(2)
    table = np.empty((4, 2))
    optimism.tabulate(X, theta, theta, table)
    low = optimism.best_lower(X[:1], wrong, 1.0, table)
    assert low == theta @ X[0]
    assert optimism.best_left(X, wrong, 1.0, low, wrong, 1.0, table) == 1
