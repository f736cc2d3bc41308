"""Peeling, projection and N-IHT against slow twins in plain NumPy and closed forms."""

import numpy as np
import pytest
from scipy import stats as sps

from companion.fliphat import regression
from companion.fliphat.regression import (
    Regression,
    l1_project,
    niht,
    niht_statistics,
    work_for,
)
from companion.kernels.mechanisms import peel


def peeled(v, s, xi, seed=0):
    """(out, picks) of the kernel."""
    v = np.asarray(v, float)
    out, picks = np.empty(len(v)), np.zeros(s, np.int64)
    peel(np.random.default_rng(seed), v, s, xi, out, picks, np.zeros(len(v), np.bool_))
    return out, picks


def twin(v, s, xi, seed=0):
    """Algorithm 3 with its noise vectors W (s, d) and wt (s,) written out; the same draws in the
    same order.
    """
    rng, picks = np.random.default_rng(seed), []
    for _ in range(s):
        free = [j for j in range(len(v)) if j not in picks]
        w = [xi * (rng.standard_exponential() - rng.standard_exponential()) for _ in free]
        picks.append(free[int(np.argmax([abs(v[j]) + z for j, z in zip(free, w, strict=True)]))])
    out = np.zeros(len(v))
    for j in picks:
        out[j] = v[j] + xi * (rng.standard_exponential() - rng.standard_exponential())
    return out, picks


@pytest.mark.parametrize("s", [1, 3, 6])
def test_peeling_equals_the_twin(s):
    v = np.array([3.0, -1.0, 0.5, 0.0, -2.0, 0.2])
    for seed in range(20):
        out, picks = peeled(v, s, 0.7, seed)
        expected, order = twin(v, s, 0.7, seed)
        assert list(picks) == order
        np.testing.assert_array_equal(out, expected)


def test_without_noise_peeling_is_the_top_s():
    v = np.array([1.0, -3.0, 0.5, 3.0, 0.0])
    out, picks = peeled(v, 2, 0.0)
    assert list(picks) == [1, 3]  # the lowest index wins ties
    np.testing.assert_array_equal(out, [0, -3.0, 0, 3.0, 0])
    np.testing.assert_array_equal(peeled(v, 5, 0.0)[0], v)


def test_law_of_one_pick_of_two():
    """P(pick 1) has a closed form; 40000 draws, a false alarm has chance 1e-7."""
    gap, n = 0.8, 40_000
    rng, taken = np.random.default_rng(5), np.zeros(2, np.bool_)
    out, picks, hits = np.empty(2), np.zeros(1, np.int64), 0
    for _ in range(n):
        peel(rng, np.array([1.5, -0.7]), 1, 1.0, out, picks, taken)
        hits += picks[0] == 0
    p = 1 - (2 + gap) * np.exp(-gap) / 4
    assert abs(hits - n * p) < sps.norm.isf(5e-8) * np.sqrt(n * p * (1 - p)) + 1


def test_lemma_d1_on_random_inputs():
    rng = np.random.default_rng(6)
    for _ in range(2000):
        d = int(rng.integers(3, 12))
        size = int(rng.integers(2, d + 1))
        s = int(rng.integers(1, size + 1))
        hat = int(rng.integers(1, min(s, size - 1) + 1))
        v = np.zeros(d)
        v[rng.choice(d, size, replace=False)] = rng.standard_normal(size)
        other = np.zeros(d)
        other[rng.choice(d, hat, replace=False)] = rng.standard_normal(hat)
        W, c, picks = rng.laplace(0, rng.exponential(0.5), (s, d)), rng.exponential(), []
        for i in range(s):
            z = np.abs(v) + W[i]
            z[picks] = -np.inf
            picks.append(int(z.argmax()))
        kept = np.zeros(d)
        kept[picks] = v[picks]
        bound = (1 + 1 / c) * (size - s) / (size - hat) * ((other - v) ** 2).sum()
        bound += 4 * (1 + c) * (np.abs(W).max(axis=1) ** 2).sum()
        assert ((kept - v) ** 2).sum() <= bound * (1 + 1e-12)


def project(v, radius):
    v = np.array(v, float)
    l1_project(v, np.arange(len(v)), len(v), radius, np.empty(len(v)))
    return v


def test_projection_on_the_l1_ball():
    v = (3.0, -1.0, 0.5, 0.0, -2.0)
    np.testing.assert_allclose(project(v, 2.0), [1.5, 0, 0, 0, -0.5], atol=1e-15)
    np.testing.assert_allclose(project(v, 5.5), [2.75, -0.75, 0.25, 0, -1.75], atol=1e-15)
    np.testing.assert_array_equal(project(v, 6.5), v)
    np.testing.assert_array_equal(project(v, np.inf), v)
    rng = np.random.default_rng(7)
    for _ in range(200):
        a, b, radius = rng.standard_normal(8), rng.standard_normal(8), rng.exponential(2.0)
        pa, pb = project(a, radius), project(b, radius)
        assert np.abs(pa).sum() <= max(radius, 0) * (1 + 1e-12)
        assert np.linalg.norm(pa - pb) <= np.linalg.norm(a - b) + 1e-12
        np.testing.assert_allclose(project(pa, radius), pa, atol=1e-12)
        z = rng.standard_normal(8)  # no feasible point is closer
        z *= radius * rng.random() / np.abs(z).sum()
        assert np.linalg.norm(pa - a) <= np.linalg.norm(z - a) + 1e-12


def plain(s, m, eta, xi=0.0, **changes):
    wide = {"l1_radius": np.inf, "gradient_clip": np.inf, "reward_clip": np.inf}
    wide |= {"residual_clip": np.inf} | changes
    return Regression(s, m, eta, *wide.values(), xi, xi)


def solve(q, X, y, start=None, seed=0):
    d = X.shape[1]
    theta, picks = np.zeros(d), np.zeros(q.sparsity, np.int64)
    size = 0
    if start is not None:
        size, theta[:] = q.sparsity, start
        picks[:] = np.flatnonzero(start)
    niht(q, X, y, len(y), np.random.default_rng(seed), theta, picks, size, work_for(d, q.sparsity))
    return theta


def data(n=60, d=5, seed=8):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, X @ np.array([1.0, -0.5, 0.0, 2.0, 0.0])[:d] + 0.1 * rng.standard_normal(n)


def test_without_noise_and_sparsity_it_is_least_squares():
    X, y = data()
    theta = solve(plain(5, 400, 0.2), X, y)
    np.testing.assert_allclose(theta, np.linalg.lstsq(X, y, rcond=None)[0], atol=1e-10)


def test_one_iteration_is_the_twin_with_every_bound_active():
    X, y = data()
    start = np.array([0.3, 0.0, 0.0, -0.2, 0.0])
    bounds = {"l1_radius": 0.9, "gradient_clip": 0.8, "reward_clip": 1.5, "residual_clip": 0.7}
    q = plain(2, 1, 0.4, **bounds)
    r = np.clip(np.clip(y, -1.5, 1.5) - X @ start, -0.7, 0.7)
    v = start + 0.4 * 2 / len(y) * np.clip(X, -0.8, 0.8).T @ r
    u, _ = twin(v, 2, 0.0)
    np.testing.assert_allclose(solve(q, X, y, start), project(u, 0.9), atol=1e-14)


def test_gradient_is_the_derivative_of_the_loss():
    X, y = data()
    theta, h = np.array([0.3, -0.1, 0.2, 0.5, 0.1]), 1e-6
    moment = np.zeros(5)
    for x, r in zip(X, y, strict=True):
        regression.add_moment(plain(5, 1, 1.0), x, r, theta, np.arange(5), 5, moment)
    for j in range(5):
        e = h * np.eye(5)[j]
        slope = (((y - X @ (theta + e)) ** 2).mean() - ((y - X @ (theta - e)) ** 2).mean()) / (
            2 * h
        )
        assert slope == pytest.approx(-2 / len(y) * moment[j], abs=1e-7)


def test_statistics_give_what_the_rows_give():
    X, y = data(80)
    truth = np.array([1.0, -0.5, 0.0, 2.0, 0.0])
    q, errors = plain(3, 4, 0.3, xi=0.05), np.empty(4)
    theta, picks = np.zeros(5), np.zeros(3, np.int64)
    rng = np.random.default_rng(9)
    niht_statistics(q, X.T @ X, X.T @ y, 80, rng, theta, picks, 0, work_for(5, 3), errors, truth)
    rows = solve(q, X, y, seed=9)
    np.testing.assert_allclose(theta, rows, atol=1e-12)
    assert errors[-1] == pytest.approx(((rows - truth) ** 2).sum())


def test_no_iterations_return_the_start():
    X, y = data()
    np.testing.assert_array_equal(solve(plain(2, 0, 0.1), X, y), np.zeros(5))


def test_only_rewards_are_clipped_where_the_other_bounds_are_infinite():
    X, y = data()
    clipped = solve(plain(5, 3, 0.2, reward_clip=0.5), X, y)
    np.testing.assert_array_equal(clipped, solve(plain(5, 3, 0.2), X, np.clip(y, -0.5, 0.5)))


@pytest.mark.parametrize(("iterations", "noisy"), [(1, False), (2, True)])
def test_later_iterations_have_noise_of_their_own(iterations, noisy):
    X, y = data()
    q = plain(2, iterations, 0.2)
    there = solve(q._replace(xi_rest=1.0), X, y)
    assert np.array_equal(there, solve(q, X, y)) is not noisy
