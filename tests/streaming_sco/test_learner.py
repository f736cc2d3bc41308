"""The kernels of Algorithms 1, 2 and 4 against the paper's recursion, golden numbers and laws."""

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy import stats as sps

from companion import tree
from companion.geometry import dual_exponent, vertex
from companion.mechanisms import generalized_gaussian, gumbel
from companion.streaming_sco import first, regression, streaming_fw, vertex_fw
from companion.streaming_sco import learner as le
from companion.streaming_sco import theory as th

P = (1.0, 1.2, 1.5, 2.0, 4.0, np.inf)
SIN = {  # theta_9 of the golden stream
    1.5: (0.6406063662, 0.3687420027, -0.0932503981),
    2.0: (0.4057453871, 0.4212192115, 0.0494260355),
    np.inf: (4 / 9, 4 / 9, 4 / 9),
    1.0: (8 / 9, 4 / 9, 0),
    1.2: (0.3602645203, 0.4552149704, -0.2665631291),
    4.0: (0.4534478490, 0.3764750263, 0.2318341187),
}


def golden(p, n=8):
    q = dual_exponent(p)
    t, i = np.arange(n)[:, None], np.arange(3)
    X = np.sin(1 + 3 * t + i)
    X /= np.linalg.norm(X, q, axis=1)[:, None]
    return X, X @ (1 / (2 * (i + 1))) + 0.05 * np.cos(3 * t[:, 0])


def plain(d, n, p, epsilon=np.inf, **options):
    options = {"radius": 2.0, "label_bound": 50.0, "clip": np.inf} | options
    return streaming_fw(d, n, epsilon, 1e-3, p=p, **options)


def learned(o, X, Y, seed=0):
    rng, out = np.random.default_rng(seed), np.empty(X.shape)
    state = o.init(o.params, rng)
    return out, o.run(o.params, state, X, Y, rng, out)


def recursion(X, Y, p, radius):
    """Algorithm 1 without noise, from the printed recursion with d_0 = 0: (thetas, d's)."""

    def gradient(theta, t):
        return 2 * (X[t] @ theta - Y[t]) * X[t]

    n, d = X.shape
    theta = old = np.zeros(d)
    estimate, v, thetas, estimates = np.zeros(d), np.empty(d), [], []
    for t in range(n):
        rho = 1 / (t + 2)
        estimate = gradient(theta, t) + (1 - rho) * (estimate - gradient(old, t))
        vertex(estimate, p, radius, v)
        old, theta = theta, theta + rho * (v - theta)
        thetas.append(theta)
        estimates.append(estimate)
    return np.array(thetas), np.array(estimates)


@pytest.mark.parametrize("p", P)
def test_the_sum_is_the_recursion(p):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((20, 4))
    X /= np.linalg.norm(X, dual_exponent(p), axis=1)[:, None]
    Y = X @ np.array([0.5, -0.2, 0.1, 0.3]) + 0.1 * rng.standard_normal(20)
    out, state = learned(plain(4, 20, p), X, Y)
    thetas, estimates = recursion(X, Y, p, 2.0)
    assert out == pytest.approx(thetas, abs=1e-12)
    assert state.memory.gradient == pytest.approx(estimates[-1], abs=1e-12)


@pytest.mark.parametrize("p", P)
def test_golden_iterates(p):
    X, Y = golden(p)
    out, state = learned(plain(3, 8, p), X, Y)
    assert out[-1] == pytest.approx(SIN[p], abs=1e-9)
    if p == 1.5:
        d_8 = (-0.0607454510, -0.0320921891, 0.0260664835)
        assert state.memory.gradient == pytest.approx(d_8, abs=1e-9)


def test_the_first_step_has_half_of_the_first_gradient():
    X, Y = golden(2.0, 1)
    _, state = learned(plain(3, 1, 2.0), X, Y)
    assert state.memory.gradient == pytest.approx(-Y[0] * X[0], abs=1e-15)


@pytest.mark.parametrize("p", P)
@pytest.mark.parametrize("epsilon", [1.0, np.inf])
def test_iterates_stay_in_the_ball_and_steps_are_short(p, epsilon):
    X, Y = golden(p, 60)
    out, _ = learned(plain(3, 60, p, epsilon), X, Y)
    assert np.linalg.norm(out, p, axis=1).max() <= 2.0 * (1 + 1e-12)
    moves = np.linalg.norm(np.diff(out, axis=0), p, axis=1)
    assert (moves <= 4.0 / np.arange(3, 62) * (1 + 1e-12)).all()


def test_prefix_noise_is_that_of_the_blocks_of_the_binary_expansion():
    """With the noise of a node set to the time at which it ends, sums are those of the spec."""
    expected = [1, 2, 5, 4, 9, 10, 17, 8, 17, 18, 29, 20, 33, 34, 49, 16]
    rows = np.zeros(5)
    for t, total in enumerate(expected, 1):
        row, before = tree.trailing_zeros(t), tree.extended(t)
        rows[row] = t + (rows[before] if before >= 0 else 0)
        assert rows[row] == total


def test_the_tree_keeps_few_rows_and_draws_once_per_record():
    for n, m in ((7, 3), (8, 4), (1000, 10), (1024, 11), (2000, 11), (100_000, 17)):
        o = plain(5, n, 2.0, 1.0)
        assert o.init(o.params, None).memory.noise.shape == (m, 5)
    X, Y = golden(2.0, 64)
    rng, twin = np.random.default_rng(4), np.random.default_rng(4)
    o = plain(3, 64, 2.0, 1.0)
    o.run(o.params, o.init(o.params, rng), X, Y, rng, np.empty((64, 3)))
    twin.standard_normal((64, 3))
    assert rng.bit_generator.state == twin.bit_generator.state


def test_released_sums_are_exact_sums_plus_the_nodes_of_a_naive_tree():
    n, o = 100, plain(3, 100, 2.0, 1.0)
    X, Y = golden(2.0, n)
    fresh = o.params.sigma * np.random.default_rng(7).standard_normal((n, 3))
    rng = np.random.default_rng(7)
    state, out, exact, old = o.init(o.params, rng), np.empty((1, 3)), np.zeros(3), np.zeros(3)
    theta = np.zeros(3)
    for t in range(1, n + 1):
        exact += le.leaf(o.params, t, X[t - 1], Y[t - 1], theta, old) * X[t - 1]
        state = o.run(o.params, state, X[t - 1 : t], Y[t - 1 : t], rng, out)
        old, theta = theta, out[0].copy()
        nodes, end = [], t
        while end:
            nodes.append(end)
            end &= end - 1
        released = exact + sum(fresh[node - 1] for node in nodes)
        assert state.memory.gradient == pytest.approx(released / (t + 1), abs=1e-10)
        assert len(nodes) == t.bit_count()


def test_the_square_root_path_is_what_is_added():
    n = 50
    o = plain(3, n, 2.0, 1.0, factorisation="sqrt")
    X, Y = np.zeros((n, 3)), np.zeros(n)
    rng = np.random.default_rng(5)
    state = o.init(o.params, rng)
    path = state.memory.noise.copy()
    for t in range(n):
        state = o.run(o.params, state, X[t : t + 1], Y[t : t + 1], rng, np.empty((1, 3)))
        assert state.memory.gradient == pytest.approx(path[t] / (t + 2), rel=1e-14)


@pytest.mark.parametrize(
    ("n", "tree_rms", "sqrt_rms"), [(2000, 7.73, 3.32), (100_000, 11.77, 4.57)]
)
def test_root_mean_square_of_prefix_noise(n, tree_rms, sqrt_rms):
    assert th.prefix_noise(n, "tree") == pytest.approx(tree_rms, abs=0.01)
    assert th.prefix_noise(n, "sqrt") == pytest.approx(sqrt_rms, abs=0.01)


VARIANCES = [
    (2, 3.0, 1.13209336), (5, 3.0, 1.4151167), (10, 3.0, 1.72839506), (10, 4.0, 2.24651294),
    (50, 3.0, 2.87956368), (7, 2.0, 1.0), (1, 3.7, 1.0),
]  # fmt: skip


@pytest.mark.parametrize(("d", "r", "variance"), VARIANCES)
def test_generalized_gaussian_law(d, r, variance):
    """False alarms below 1e-6 each: thresholds at 5 standard errors, Kolmogorov-Smirnov at 1e-7."""
    assert th.generalized_gaussian_variance(d, r) == pytest.approx(variance, rel=1e-8)
    rng, n, sigma = np.random.default_rng(11), 20_000, 1.3
    Z = np.empty((n, d))
    for z in Z:
        generalized_gaussian(rng, r, sigma, z)
    squares = (Z**2).mean(axis=1) / sigma**2
    assert abs(squares.mean() - variance) < 5 * squares.std() / math.sqrt(n)
    radii = np.linalg.norm(Z, r, axis=1)
    assert sps.kstest(radii**2, sps.gamma(d / 2, scale=2 * sigma**2).cdf).pvalue > 1e-7
    assert abs(Z.mean(axis=0)).max() < 5.5 * sigma * math.sqrt(variance / n)
    if d > 1:
        share = np.abs(Z[:, 0]) / radii
        assert abs(sps.spearmanr(share, radii).statistic) < 5 / math.sqrt(n)
        half = np.abs(Z) ** r / radii[:, None] ** r  # Dirichlet(1/r, ..., 1/r): Beta margins
        assert sps.kstest(half[:, 0], sps.beta(1 / r, (d - 1) / r).cdf).pvalue > 1e-7


def test_gumbel_law():
    rng = np.random.default_rng(1)
    draws = np.array([gumbel(rng, 2.0) for _ in range(20_000)])
    assert sps.kstest(draws, sps.gumbel_r(scale=2.0).cdf).pvalue > 1e-7


def picks(o, total, n=40_000):
    """Frequencies of the 2 d vertices (+e_1, ..., -e_d) at the first step."""
    rng, v, counts = np.random.default_rng(9), np.empty(len(total)), np.zeros(2 * len(total))
    gradient = np.empty(len(total))
    for _ in range(n):
        le.choose(o.params, 1, total, gradient, v, rng)
        j = int(np.abs(v).argmax())
        counts[j if v[j] > 0 else j + len(total)] += 1
    return counts


def law(o, total):
    """Exact probabilities of the vertices: softmax, or one-dimensional quadrature."""
    b, scores = le.noise_scale(o.params, 1), -o.params.radius * total / 2
    both = np.concatenate([scores, -scores])
    if o.params.method == le.GUMBEL:
        e = np.exp(both / b)
        return e / e.sum()
    z = np.linspace(-40 * b, 40 * b, 400_001)
    if o.params.method == le.ARGMIN:
        density = sps.laplace.pdf(z, both[:, None], b)
        below = sps.laplace.cdf(z, both[:, None], b)
    else:  # the noisy value of largest size, with its sign: both signs share a draw
        density = sps.laplace.pdf(z, both[:, None], b) * (z > 0)
        inside = sps.laplace.cdf(z, scores[:, None], b) - sps.laplace.cdf(-z, scores[:, None], b)
        below = np.concatenate([inside, inside])
    d, result = len(total), []
    for j in range(2 * d):
        others = [k for k in range(2 * d) if k != j]
        if o.params.method == le.COORDINATES:
            others = [k for k in range(d) if k != j % d]
        result.append(np.trapezoid(density[j] * np.prod(below[others], axis=0), z))
    return np.array(result)


@pytest.mark.parametrize("selector", ["argmin", "coordinates", "gumbel"])
def test_selectors_have_their_law(selector):
    o = vertex_fw(3, 50, 8.0, 1e-2, radius=1.5, selector=selector)
    total = np.array([6.0, -9.0, 2.0])
    p = law(o, total)
    assert p.sum() == pytest.approx(1.0, abs=1e-6)
    assert p.max() > 1.3 * p.min()  # the data matter
    assert sps.chisquare(picks(o, total), 40_000 * p / p.sum()).pvalue > 1e-7


@pytest.mark.parametrize("selector", ["argmin", "coordinates", "gumbel"])
def test_a_choice_loses_at_most_range_over_scale(selector):
    o = vertex_fw(2, 50, 8.0, 1e-2, radius=1.5, selector=selector)
    rng, s, worst = np.random.default_rng(0), 2 * o.params.clip, 0.0
    bound = 2 * o.params.radius * s / 2 / le.noise_scale(o.params, 1)
    for k in range(40):
        total = rng.uniform(-20, 20, 2) if k else np.zeros(2)
        shift = rng.choice([-s, s], 2)
        a, b = law(o, total), law(o, total + shift)
        loss = np.abs(np.log(a / b)).max()
        worst = max(worst, loss)
        assert loss <= bound * (1 + 1e-4)
        cost = 8 if selector == "gumbel" else 2  # concentrated privacy: rho = bound^2 / cost
        for order in (1.5, 2.0, 8.0):
            renyi = np.log((a**order * b ** (1 - order)).sum()) / (order - 1)
            assert renyi <= order * bound**2 / cost * (1 + 1e-4)
    assert worst > 0.5 * bound


def test_without_noise_selectors_are_the_oracle_and_equal_algorithm_1():
    X, Y = golden(1.0)
    for selector in ("argmin", "coordinates", "gumbel"):
        o = vertex_fw(3, 8, np.inf, radius=2.0, label_bound=50.0, clip=np.inf, selector=selector)
        assert learned(o, X, Y)[0] == pytest.approx(learned(plain(3, 8, 1.0), X, Y)[0], abs=1e-15)


def test_noise_of_scale_zero_is_no_noise_bit_for_bit():
    world = regression(1.5, first(4, 1.5, 2))
    X, Y = world.records(200, np.random.default_rng(1))
    private = plain(4, 200, 1.5, 1.0)
    silent = private._replace(params=private.params._replace(sigma=0.0))
    assert (learned(silent, X, Y)[0] == learned(plain(4, 200, 1.5), X, Y)[0]).all()


def test_a_clipped_leaf_is_as_long_as_allowed_and_others_are_untouched():
    rng = np.random.default_rng(6)
    loose, tight = plain(4, 100, 1.5).params, plain(4, 100, 1.5, clip=3.0).params
    sizes = []
    for t in (1, 2, 30):
        for _ in range(200):
            x, (theta, old) = rng.standard_normal(4), rng.standard_normal((2, 4))
            y = rng.standard_normal()
            free, cut = (le.leaf(q, t, x, y, theta, old) for q in (loose, tight))
            size = abs(free) * np.linalg.norm(x)
            sizes.append(size)
            assert cut == pytest.approx(free * min(1.0, 3.0 / size), rel=1e-12)
    assert min(sizes) < 3.0 < max(sizes)


def test_gradients_of_all_losses_are_those_of_differences():
    for loss in range(3):
        for y in (0.0, 0.4, 1.0):
            for z in (-1.3, 0.0, 0.7):
                if loss == le.SQUARES:
                    expected = 2 * (z - y)
                else:
                    mean = sps.logistic.cdf(z) if loss == le.LOGISTIC else sps.norm.cdf(z)
                    expected = mean - y
                assert le.pull(loss, z, y) == pytest.approx(expected, abs=1e-14)
    assert le.pull(le.INNER, 0.3, 0.9) == 1.0


def test_more_records_help():
    world = regression(1.5, first(5, 1.5, 5))
    o = streaming_fw(5, 2000, 4.0, 1e-3, p=1.5, radius=2.0, label_bound=1.2, factorisation="sqrt")
    X, Y = world.records(2000, np.random.default_rng(1))
    out, _ = learned(o, X, Y)
    risk = world.excess(out[[200, 600, 1999]])
    assert all(later < 0.7 * early for early, later in pairwise(risk))
    assert risk[-1] < 0.1
