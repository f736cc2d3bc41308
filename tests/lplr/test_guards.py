"""LPLR: what its guarantee and its intervals rest on, measured on the kernels that policies run."""

import math
from itertools import product

import numpy as np
import pytest
from scipy import stats as sps

from companion.lplr import hard_bandit, lplr, lplr_params, suffstats
from companion.lplr.bins import (
    ACTIVE,
    COEF,
    COUNT,
    FLAT,
    SLOPE,
    SPREAD,
    VALUE,
    interval,
    open_layer,
    plant,
    predict,
    tree_of,
    widen_node,
)
from companion.lplr.environments import Law
from companion.lplr.fit import add_noise, fit_sums, send, tell, workspace
from companion.lplr.messages import past, spread_messages, update_messages
from companion.lplr.params import guarantee
from companion.lplr.sufficient_statistics import (
    ssp_fit,
    ssp_guarantee,
    ssp_interval,
    ssp_model,
    ssp_noise,
    ssp_observe,
    ssp_params,
)
from companion.simulate import simulate

ALARM = 1e-7  # false-alarm rate of every statistical test below


def quiet(p):
    """The same oracle without noise."""
    silent = {"count_scale": 0.0, "matrix_scale": 0.0, "spread_scale": 0.0}
    return p._replace(vector_scale=np.zeros(p.d), **silent)


def users(p):
    """[(phi, y)]: corners and lengths on the edges of bins of the last layer, for d = 1 and 2."""
    sizes = [1.0, p.edge[1] * 1.001, p.edge[1], p.edge[2] * 1.001]
    root = math.sqrt(0.5)
    if p.d == 1:
        rows = [[s * a] for s in sizes for a in (-1.0, 1.0)]
    else:  # the residual is the second entry, the prediction coef times the first
        rows = [[a * root, b * root] for a, b in product((-1, 1), repeat=2)]
        rows += [
            [a * math.sqrt(1 - s * s), b * s] for s in sizes for a, b in product((-1, 1), repeat=2)
        ]
        rows += [[0.0, b * s] for s in sizes for b in (-1, 1)]
    return [(np.array(r), y) for r in rows for y in (-1.0, 1.0)] + [(np.zeros(p.d), 0.0)]


def movements(p, coef):
    """Largest movements of (counts, vectors, matrices) together, in units of the noise's scales."""
    tree, rng = past(quiet(p), coef), np.random.default_rng(0)
    sent = np.array([update_messages(quiet(p), tree, user, rng, 1)[0] for user in users(p)])
    g, d = p.edge[: p.M, None], p.d
    worst = 0.0
    for a, b in product(sent, repeat=2):
        count, vector = np.abs(a - b)[:, :1], np.abs(a - b)[:, 1 : 1 + d] / g
        matrix = (a - b)[:, 1 + d :].reshape(-1, d, d) / g[:, :, None] ** 2
        nuclear = np.abs(np.linalg.eigvalsh(matrix)).sum()
        cost = count.sum() / p.count_scale + vector.sum() / p.vector_scale[d - 1]
        worst = max(worst, cost + nuclear / (2 * p.matrix_scale))
    return worst


@pytest.mark.parametrize("epsilon", [0.3, 2.0])
@pytest.mark.parametrize("d", [1, 2])
def test_one_user_moves_a_message_by_epsilon(d, epsilon):
    """In layer 1 (d = 1) by exactly epsilon; in layer 2 by no more, whatever was learned before."""
    p = lplr_params(d, 10**4, epsilon, M=2)
    promised = guarantee(p, epsilon).epsilon
    assert promised == pytest.approx(epsilon)
    if d == 1:
        assert movements(p, 0.0) == pytest.approx(promised)
    else:
        for coef in (0.0, 1.0, -1.0, 50.0):
            assert movements(p, coef) <= promised * (1 + 1e-9)
        assert movements(p, 50.0) > 0.8 * promised


def test_one_user_moves_the_interval_stage_by_epsilon():
    p = lplr_params(2, 10**4, 0.7, M=2)
    tree, rng = past(quiet(p), 0.0, width=1e9), np.random.default_rng(0)
    sent = np.array([spread_messages(quiet(p), tree, user, rng, 1)[0] for user in users(p)])
    worst = max(np.abs(a - b).sum() for a, b in product(sent, repeat=2))
    assert worst / p.spread_scale == pytest.approx(0.7)  # g / sqrt(s) is 1 in this past


@pytest.mark.parametrize("n", [1, 1000])
@pytest.mark.parametrize("h", [0, 1])
def test_the_noise_drawn_has_the_scales_of_the_parameters(h, n):
    """Means, variances and (message by message) laws of all terms, in bins 0 and 1 of a layer."""
    p, draws, rng = lplr_params(2, 10**4, 0.5, M=2), 1500, np.random.default_rng([1, h, n])
    p = p._replace(threshold=-1e18)
    tree = past(p) if h else plant(p)
    if h == 0:
        open_layer(p, tree, 0)
    first, seen = tree.start[h], np.empty((draws, 2, 5))
    for row in seen:
        nodes = slice(first, first + 2)
        tree.stat[nodes, COUNT] = tree.stat[nodes, SPREAD] = 0.0
        tree.vec[nodes], tree.mat[nodes] = 0.0, 0.0
        add_noise(p, tree, 2 * h, n, rng)
        if h:
            add_noise(p, tree, 2 * h + 1, n, rng)
        row[:, 0], row[:, 1] = tree.stat[nodes, COUNT], tree.vec[nodes, 1]
        row[:, 2], row[:, 3] = tree.mat[nodes, 0, 0], tree.mat[nodes, 0, 1]
        row[:, 4] = tree.stat[nodes, SPREAD]
    for k, g in enumerate(p.edge[:2]):
        b = p.vector_scale[h] * g
        scales = [p.count_scale, b, None, None, p.spread_scale if h else None]
        c = (p.matrix_scale * g * g) ** 2
        variances = [2 * p.count_scale**2, 2 * b * b, 12 * c, 6 * c, 2 * p.spread_scale**2 * h]
        for j, (scale, variance) in enumerate(zip(scales, variances, strict=True)):
            z = seen[:, k, j] / math.sqrt(n)
            if variance == 0.0:
                assert (z == 0.0).all()
                continue
            assert abs(z.mean()) < 5.5 * math.sqrt(variance / draws)
            assert 0.6 < z.var() / variance < 1.6  # a halved scale gives 1/4, heavy tails included
            if scale is not None and n == 1:
                assert sps.kstest(z / scale, sps.laplace.cdf).pvalue > ALARM
            assert sps.ks_2samp(z, -z).pvalue > ALARM  # both sides alike


def test_a_message_hides_every_node_however_empty():
    """Vectors and matrices below the threshold: nobody reads them in sums; messages show them."""
    p, rng = lplr_params(2, 10**4, M=2, threshold=1e9), np.random.default_rng(0)
    for n in (1, 50):
        tree = plant(p)
        open_layer(p, tree, 0)
        add_noise(p, tree, 0, n, rng)
        assert (tree.stat[:2, COUNT] != 0.0).all()
        assert ((tree.vec[:2] != 0.0) == (n == 1)).all()
        assert ((tree.mat[:2] != 0.0) == (n == 1)).all()


def test_labels_are_clipped_in_messages_and_in_sums():
    """A coefficient of 50 in the past: labels lie in [-2, 2] on both paths, and agree."""
    p = quiet(lplr_params(2, 10**4, 1.0, M=2))
    points = np.array([[-0.7, 0.7], [0.7, 0.7], [0.1, 0.99]])
    tree, other, rng = past(p, 50.0), past(p, 50.0), np.random.default_rng(0)
    for phi, y in zip(points, (1.0, -1.0, 0.2), strict=True):
        tell(p, tree, 2, phi, 5, y, False, rng, np.empty(2))
        for _ in range(5):
            send(p, other, 2, phi, y, rng, np.empty(2))
    np.testing.assert_allclose(tree.vec, other.vec, atol=1e-12)
    np.testing.assert_allclose(tree.mat, other.mat, atol=1e-12)
    labels = np.array([1.0 + 1.0, -1.0 - 1.0, 0.2 - 1.0])  # clip(-35), clip(35), clip(5)
    assert tree.vec[:-1, 1].sum() == pytest.approx(5 * (labels * points[:, 1]).sum())


def test_a_point_is_fed_to_its_owner_alone():
    p = quiet(lplr_params(1, 10**4, 1.0, M=2))._replace(threshold=-1.0)
    points, owner = np.array([[0.9], [0.8], [0.2]]), np.array([1, 1, 0])
    law = Law(points, np.zeros(3), np.full(3, 1 / 3), owner, True)
    forest, plays = plant(p, 3), np.zeros(3, dtype=np.int64)
    fit_sums(p, forest, law, 300, np.random.default_rng(0), plays, workspace(3, 1))
    counts = forest.stat[:, :-1, COUNT].sum(axis=1)
    assert counts.tolist() == [plays[2], plays[0] + plays[1], 0.0]
    assert plays.sum() == 300


def test_half_widths_add_up_along_the_walk():
    p = lplr_params(2, 10**4, 1.0, M=2)
    tree, phi, residual = past(p, 0.3, width=0.1), np.array([0.6, 0.5]), np.empty(2)
    tree.stat[0, SLOPE] = 0.05
    b = tree.start[1]  # the residual has length 0.5: bin 0
    tree.stat[b, COEF], tree.stat[b, FLAT], tree.stat[b, SLOPE] = 0.4, 0.02, 0.1
    f, width = predict(p, tree, phi, residual)
    assert f == pytest.approx(0.3 * 0.6 + 0.4 * 0.5)
    assert width == pytest.approx(0.1 + 0.05 * 0.6 + 0.02 + 0.1 * 0.5)
    tree.link[b, ACTIVE] = 0  # the walk stops: all of the residual may be missed
    f, width = predict(p, tree, phi, residual)
    assert f == pytest.approx(0.18)
    assert width == pytest.approx(0.13 + 0.5)
    assert interval(p, tree, phi, residual) == pytest.approx((0.18, 0.63))
    tree.stat[0, FLAT] = 0.5
    assert interval(p, tree, phi, residual) == pytest.approx((0.0, math.hypot(0.6, 0.5)))
    tree.stat[0, FLAT] = 9.0
    assert predict(p, tree, phi, residual)[1] == p.cap
    assert predict(p, tree, np.zeros(2), residual) == (0.0, 0.0)


def test_calibrated_half_widths_are_z_standard_deviations_of_the_known_noise():
    p, n = lplr_params(2, 10**4, 0.5, M=2, z=2.0), 10**6
    tree = past(p)
    b = tree.start[1] + 1
    g, count, s, spread = p.edge[1], 3e5, 0.8 * p.edge[1] ** 2, 6e4
    tree.stat[b, COUNT], tree.stat[b, VALUE], tree.stat[b, SPREAD] = count, s, spread
    widen_node(p, tree, 1, b, n)
    vector, matrix = 6 * math.sqrt(2) * 2 / 0.5, 3 / 0.5  # b_v with Y = 2, and c
    own = g * math.sqrt(n * (2 * vector**2 + 4 * 3 * matrix**2 * g**2)) / count
    sampling = g / math.sqrt(count)
    inherited = spread / count + 2.0 * math.sqrt(2 * n) * (4 / 0.5) * g / math.sqrt(s) / count
    expected = 2.0 * (own + sampling) / s + inherited / math.sqrt(s)
    assert tree.stat[b, SLOPE] == pytest.approx(expected)
    assert tree.stat[b, FLAT] == 0.0


def test_theory_half_widths_have_the_printed_constants():
    epsilon, failure, d, T = 0.5, 1e-3, 2, 10**6
    p = lplr_params(d, T, epsilon, constants="theory", failure=failure)
    L = math.log(48 * d * math.log(T) / failure) / epsilon
    assert p.threshold == pytest.approx(43 * L * math.e**2 * 27)
    assert p.flat == pytest.approx(300 * L * math.e**2 * 81)
    assert p.tilt == pytest.approx(118 * L * math.e * d**1.5)
    assert lplr_params(1, T).threshold == pytest.approx(5 * math.e**2)
    assert math.ceil(math.log(T) / 2) == p.M


@pytest.mark.parametrize("make", [lplr, suffstats])
def test_a_policy_that_has_learned_plays_the_best_arm(make):
    """Without noise the first epochs tell the arms apart; then nothing but the best is played."""
    options = {"n0": 16} | ({"gamma": 4.0} if make is lplr else {})
    policy = make(1, 4000, 2, math.inf, **options)
    regret = simulate(hard_bandit(1, 0.8), [policy], 4000, range(8)).regret[:, 0]
    assert (regret[:, -1] < 0.3 * 0.4 * 4000).all()  # uniform play: 0.4 per round
    assert (regret[:, -1] == regret[:, 120]).all()


def test_one_message_of_sufficient_statistics_moves_by_epsilon_and_has_its_noise():
    epsilon = 0.7
    p, rng = ssp_params(2, epsilon), np.random.default_rng(3)
    silent = p._replace(vector_scale=0.0, matrix_scale=0.0)
    vectors, matrices, root = [], [], math.sqrt(0.5)
    for a, b, y in product((-root, root), (-root, root), (-1.0, 1.0)):
        model = ssp_model(2)
        ssp_observe(silent, model, 0, 9, np.array([a, b]), y, rng)
        vectors.append(model.vec.copy())
        matrices.append(model.mat.copy())
    # each half is attained, though not by one pair of users: the promise is their sum
    half = max(np.abs(v - w).sum() for v, w in product(vectors, repeat=2)) / p.vector_scale
    assert half == pytest.approx(epsilon / 2)
    nuclear = [np.abs(np.linalg.eigvalsh(A - B)).sum() for A, B in product(matrices, repeat=2)]
    assert max(nuclear) / (2 * p.matrix_scale) == pytest.approx(epsilon / 2)
    assert ssp_guarantee(p).epsilon == pytest.approx(epsilon)
    draws = np.empty((2000, 3))
    for row in draws:
        model = ssp_model(2)
        ssp_noise(p, model, 1, rng)
        row[:] = model.vec[0], model.mat[0, 0], model.mat[0, 1]
    assert sps.kstest(draws[:, 0] / p.vector_scale, sps.laplace.cdf).pvalue > ALARM
    for z, variance in zip(draws.T[1:], (12, 6), strict=True):
        assert 0.6 < z.var() / (variance * p.matrix_scale**2) < 1.6
        assert sps.ks_2samp(z, -z).pvalue > ALARM


def test_half_widths_of_sufficient_statistics_by_hand():
    """A diagonal matrix: ridge, radius and both terms of the width from the scales."""
    p, n = ssp_params(2, 0.5, z=2.0), 10**8
    b, c, root = 4 * math.sqrt(2) / 0.5, 2 / 0.5, math.sqrt(10**8)
    model = ssp_model(2)
    model.mat[0, 0], model.mat[1, 1], model.vec[:] = 0.5 * n, 0.1 * n, (0.3 * n, 0.05 * n)
    ssp_fit(p, model, n)
    ridge = 2.0 * 2 * math.sqrt(3) * c * root
    radius = ridge + 2.0 * root * math.sqrt(2 * b * b + 12 * c * c)
    V, phi = np.array([0.5 * n + ridge, 0.1 * n + ridge]), np.array([0.6, 0.7])
    f, width = ssp_interval(p, model, phi)
    assert f == pytest.approx((phi * model.vec / V).sum())
    far, near = np.linalg.norm(phi / V), math.sqrt((phi * phi / V).sum())
    assert width == pytest.approx(far * radius + 2.0 * near)


def test_trees_of_a_forest_share_its_memory():
    p = lplr_params(2, 100, M=2)
    forest = plant(p, 3)
    tree_of(forest, 1).stat[0, COUNT] = 7.0
    assert forest.stat[1, 0, COUNT] == 7.0
    assert forest.stat[[0, 2], 0, COUNT].sum() == 0.0
