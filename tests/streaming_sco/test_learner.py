"""The kernels of Algorithms 1, 2 and 4 against the paper's recursion, golden numbers and laws."""

import numpy as np
import pytest
from scipy import stats as sps
from sco_streams import golden, plain
from streams import learn

from companion.kernels import tree
from companion.kernels.geometry import dual_exponent, vertex
from companion.streaming_sco import first, regression
from companion.streaming_sco import learner as le

P = (1.0, 1.2, 1.5, 2.0, 4.0, np.inf)
SIN = {  # theta_9 of the golden stream
    1.5: (0.6406063662, 0.3687420027, -0.0932503981),
    2.0: (0.4057453871, 0.4212192115, 0.0494260355),
    np.inf: (4 / 9, 4 / 9, 4 / 9),
    1.0: (8 / 9, 4 / 9, 0),
    1.2: (0.3602645203, 0.4552149704, -0.2665631291),
    4.0: (0.4534478490, 0.3764750263, 0.2318341187),
}


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
    out, state = learn(plain(4, 20, p), X, Y)
    thetas, estimates = recursion(X, Y, p, 2.0)
    assert out == pytest.approx(thetas, abs=1e-12)
    assert state.memory.gradient == pytest.approx(estimates[-1], abs=1e-12)


def test_the_estimate_has_the_bias_of_the_first_gradient():
    """Of equal records F is the loss of one: nothing is random, and what is left is the bias."""
    x, y, n = np.array([0.6, -0.3, 0.2]), 0.7, 7
    out, state = learn(plain(3, n, 2.0), np.tile(x, (n, 1)), np.full(n, y))
    gradient = 2 * (x @ out[-2] - y) * x  # at theta_n, where the last estimate is made
    first = -2 * y * x  # at theta_0 = 0
    assert state.memory.gradient - gradient == pytest.approx(-first / (n + 1), abs=1e-12)


@pytest.mark.parametrize("p", P)
def test_golden_iterates(p):
    X, Y = golden(p)
    out, state = learn(plain(3, 8, p), X, Y)
    assert out[-1] == pytest.approx(SIN[p], abs=1e-9)
    if p == 1.5:
        d_8 = (-0.0607454510, -0.0320921891, 0.0260664835)
        assert state.memory.gradient == pytest.approx(d_8, abs=1e-9)


def test_the_first_step_has_half_of_the_first_gradient():
    X, Y = golden(2.0, 1)
    _, state = learn(plain(3, 1, 2.0), X, Y)
    assert state.memory.gradient == pytest.approx(-Y[0] * X[0], abs=1e-15)


@pytest.mark.parametrize("p", P)
@pytest.mark.parametrize("epsilon", [1.0, np.inf])
def test_iterates_stay_in_the_ball_and_steps_are_short(p, epsilon):
    X, Y = golden(p, 60)
    out, _ = learn(plain(3, 60, p, epsilon), X, Y)
    assert np.linalg.norm(out, p, axis=1).max() <= 2.0 * (1 + 1e-12)
    moves = np.linalg.norm(np.diff(out, axis=0), p, axis=1)
    assert (moves <= 4.0 / np.arange(3, 62) * (1 + 1e-12)).all()


def test_prefix_noise_is_that_of_the_blocks_of_the_binary_expansion():
    """With the noise of a node set to the time at which it ends, sums are those of the spec."""
    expected = [1, 2, 5, 4, 9, 10, 17, 8, 17, 18, 29, 20, 33, 34, 49, 16]
    rows = np.zeros((5, 1))
    for t, total in enumerate(expected, 1):
        row = tree.trailing_zeros(t)
        rows[row] = t
        tree.complete(rows, t)
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


def test_noise_of_scale_zero_is_no_noise_bit_for_bit():
    world = regression(1.5, first(4, 1.5, 2))
    X, Y = world.records(200, np.random.default_rng(1))
    private = plain(4, 200, 1.5, 1.0)
    silent = private._replace(params=private.params._replace(sigma=0.0))
    assert (learn(silent, X, Y)[0] == learn(plain(4, 200, 1.5), X, Y)[0]).all()


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


def test_labels_are_clipped():
    X, Y = np.array([[0.6, -0.3], [0.2, 0.5], [-0.4, 0.1]]), np.array([9.0, -9.0, 0.3])
    o = plain(2, 3, 2.0, label_bound=1.0)
    inside = learn(o, X, np.clip(Y, -1.0, 1.0))[0]
    assert np.array_equal(learn(o, X, Y)[0], inside)
