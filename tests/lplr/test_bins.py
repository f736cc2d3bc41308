"""LPLR: bins, walks through them, half-widths, and the bin tax."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats as sps

from companion.lplr.bins import (
    ACTIVE,
    COEF,
    COUNT,
    FLAT,
    SLOPE,
    SPREAD,
    VALUE,
    bin_index,
    bin_tax,
    interval,
    matrix_sd,
    plant,
    predict,
    tree_of,
    walk,
    widen_node,
)
from companion.lplr.environments import design, family
from companion.lplr.messages import past
from companion.lplr.params import lplr_params
from companion.lplr.trials import fit_design
from companion.simulate import repetitions

ALARM = 1e-7  # false-alarm rate of every statistical test below


def test_bin_tax_of_one_full_and_one_nearly_empty_bin():
    """One unit of noise for the full bin; share times size for the other, which is less."""
    n, g = 10**8, math.exp(-1)
    p = lplr_params(1, n, M=2, threshold=1.0)
    few = 20 / math.sqrt(n)
    tree = fit_design(design([[1.0], [g]], [0.5], [1 - few, few]), p, 2 * n, 0)
    noise = math.sqrt(2 * 36 + 4 * 2 * 9) / math.sqrt(n)  # b_v = 6, c = 3, d = 1
    share = tree.stat[1, COUNT] / n
    own = math.sqrt(2 * 36 + 4 * 2 * 9 * g * g) / math.sqrt(n)
    assert share * g < own
    assert bin_tax(p, tree, n) == pytest.approx(noise + share * g, rel=1e-9)


@pytest.mark.parametrize("gamma", [1.25, 2.0, math.e, 8.0])
def test_bin_edges_belong_to_their_own_bin(gamma):
    p = lplr_params(1, 10**8, gamma=gamma)
    assert bin_index(p, 1.0) == 0
    assert bin_index(p, 0.0) == p.M
    for k in range(p.M + 1):
        assert bin_index(p, p.edge[k]) == k
        assert bin_index(p, p.edge[k] * (1 + 1e-6)) == max(k - 1, 0)
    assert bin_index(p, p.edge[p.M] / 2) == p.M


def test_tree_invariants():
    for seed, (d, calibration) in enumerate(itertools.product((2, 3), ("corrected", "paper"))):
        p = lplr_params(d, 10**9, calibration=calibration)
        world = family("log-scale", d, 10**9, seed)
        tree = fit_design(world, p, 10**9, seed)
        active = 0
        for h in range(d):
            for b in range(tree.start[h], tree.start[h + 1]):
                if tree.link[b, ACTIVE]:
                    active += 1
                    k = (b - tree.start[h]) % p.M
                    np.testing.assert_allclose(
                        tree.frame[b] @ tree.frame[b].T, np.eye(d), atol=1e-10
                    )
                    low = p.edge[k] ** 2 * p.smallest_value / (d - h)
                    assert low * (1 - 1e-12) <= tree.stat[b, VALUE] <= p.edge[k] ** 2
        assert active > d
        residual = np.empty(d)
        for x in world.points[:100]:
            etas = [walk(p, tree, h, x, residual)[2] for h in range(d)]
            reached = [e for h, e in enumerate(etas) if walk(p, tree, h, x, residual)[0] >= 0]
            assert (np.diff(reached) >= 0).all()
            assert predict(p, tree, x, residual)[1] <= p.cap
            assert predict(p, tree, x, residual)[1] >= max(reached, default=0.0)


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


def test_trees_of_a_forest_share_its_memory():
    p = lplr_params(2, 100, M=2)
    forest = plant(p, 3)
    tree_of(forest, 1).stat[0, COUNT] = 7.0
    assert forest.stat[1, 0, COUNT] == 7.0
    assert forest.stat[[0, 2], 0, COUNT].sum() == 0.0


def test_one_bin_deeper_is_the_same_problem():
    """All vectors divided by gamma: counts and scaled eigenvalues keep their law."""
    p, draws = lplr_params(2, 10**10), 400
    seen = []
    for k in (0, 2):
        phi = 0.8 * p.edge[k] * np.array([0.6, 0.8])
        rows = []
        for one in repetitions(10, draws, k):
            tree = fit_design(design([phi], [0.5, 0.5]), p, 10**10, one, signs=False)
            rows.append(
                (tree.stat[k, COUNT], tree.mat[k, 0, 1] / p.edge[k] ** 2, abs(tree.frame[k, 0, 0]))
            )
        seen.append(np.array(rows))
    for column in range(3):
        assert sps.ks_2samp(seen[0][:, column], seen[1][:, column]).pvalue > ALARM


def test_empty_bins_are_not_taken_for_full_ones():
    """The threshold is 4.4 standard deviations of the count's noise at d = 1: chance 200 * 14 *
    6e-6 of any alarm.
    """
    for d in (1, 2):
        p = lplr_params(d, 10**12)
        phi = np.zeros(d)
        phi[0] = 0.9
        for one in repetitions(11, 20, d):
            tree = fit_design(design([phi], phi), p, 10**12, one)
            visited = {walk(p, tree, h, phi, np.empty(d))[0] for h in range(d)}
            assert set(np.flatnonzero(tree.link[:-1, ACTIVE])) <= visited


def test_standard_deviation_of_the_matrix_noise():
    """c sqrt(2 (d+1)) for one Wishart matrix, c sqrt(4 (d+1)) for the difference of two."""
    assert matrix_sd(lplr_params(1, 100, 1.0)) == pytest.approx(3 * math.sqrt(8))
    printed = lplr_params(7, 100, 1.0, M=1, calibration="paper")
    assert matrix_sd(printed) == pytest.approx(4.5 * 4)
