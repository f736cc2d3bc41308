"""A minimiser that follows its rows: derivatives by differences, and a fit over all rows."""

import numpy as np
import pytest

from companion.kernels.glm import (
    LOGISTIC,
    PROBIT,
    add,
    anchor_for,
    fit,
    follow,
    mean,
    objective,
    put,
    reach,
    true_derivatives,
    true_third,
    work_for,
)

LINKS = (LOGISTIC, PROBIT)
H = 1e-4  # of differences


def rows(link, n, d=3):
    """Contexts (n, d) in the ball of radius 2 and rewards 0 or 1."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((n, d))
    X *= 2.0 * rng.random((n, 1)) / np.linalg.norm(X, axis=1)[:, None]
    means = np.array([mean(link, z) for z in X @ np.linspace(-1.0, 1.5, d)])
    return X, (rng.random(n) < means).astype(float)


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("r", [0.0, 0.4, 1.0])
def test_the_third_derivative_and_the_bounds(link, r):
    a = anchor_for(1, 0.0)
    for z in np.linspace(-8.0, 8.0, 161):
        a.most[1] = abs(z)
        _, c3, c4 = reach(link, a)
        below, above = (true_derivatives(link, z + h, r)[1] for h in (-H, H))
        third, second = true_third(link, z, r), true_derivatives(link, z, r)[1]
        assert third == pytest.approx((above - below) / (2 * H), rel=1e-4, abs=1e-7), z
        assert abs(third) <= c3 * second * (1 + 1e-6) + 1e-12, z
        fourth = (true_third(link, z + H, r) - true_third(link, z - H, r)) / (2 * H)
        assert abs(fourth) <= c4 * second * (1 + 1e-6) + 1e-9, z


@pytest.mark.parametrize("link", LINKS)
def test_one_row_after_the_other_gives_the_sums_of_all(link):
    X, y = rows(link, 40)
    theta = np.array([0.3, -0.2, 0.5])
    one, all_ = anchor_for(3, 0.7), anchor_for(3, 0.7)
    put(link, X, y, 15, 0.7, theta, one)
    for x, r in zip(X[15:], y[15:], strict=True):
        add(link, x, r, one)
    put(link, X, y, 40, 0.7, theta, all_)
    for a, b in zip(one[:5], all_[:5], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)
    g, H_ = np.zeros(3), 1.4 * np.eye(3)
    for x, r in zip(X, y, strict=True):
        first, second = true_derivatives(link, x @ theta, r)
        g, H_ = g + first * x, H_ + second * np.outer(x, x)
    np.testing.assert_allclose(one.g, g + 1.4 * theta, rtol=1e-10)
    np.testing.assert_allclose(one.H, H_, rtol=1e-10)


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("tolerance", [1e-8, 1e-4])
def test_what_is_followed_is_a_minimiser(link, tolerance):
    """The excess over the minimum of a fit to rounding, row by row; passes become rare."""
    n, passes, worst = 600, [], 0.0
    (X, y), a = rows(link, n), anchor_for(3, 0.5)
    theta, best, work = np.zeros(3), np.zeros(3), work_for(3)
    for t in range(1, n + 1):
        add(link, X[t - 1], y[t - 1], a)
        if not follow(link, tolerance, a, theta):
            passes.append(t)
            fit(link, X, y, t, 0.5, tolerance, theta, work)
            put(link, X, y, t, 0.5, theta, a)
            continue
        fit(link, X, y, t, 0.5, 1e-15, best, work)
        excess = objective(link, X, y, t, 0.5, theta) - objective(link, X, y, t, 0.5, best)
        worst = max(worst, excess)
    assert worst <= tolerance
    assert tolerance == 1e-8 or worst > 1e-4 * tolerance  # the bound is not idle
    late = [t for t in passes if t > n // 2]
    assert len(late) <= 100  # of 300
    assert len(passes) >= 1


def test_nonsense_is_not_followed():
    """Contexts of any length, and a model whose minimiser is far: a fit has to look."""
    a, theta = anchor_for(2, 0.5), np.zeros(2)
    add(PROBIT, np.array([1e8, 0.0]), 1.0, a)
    assert not follow(PROBIT, 1e-8, a, theta)
    assert theta.tolist() == [0.0, 0.0]
