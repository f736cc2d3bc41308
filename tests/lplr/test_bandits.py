"""LPLR: elimination kernels, what is read off bandit runs, and the bin tax."""

import math

import numpy as np
import pytest
from scipy import stats as sps

from companion.lplr.bandits import eliminate_with
from companion.lplr.bins import COUNT, bin_tax
from companion.lplr.elimination import eliminate, pick
from companion.lplr.environments import design, family, hard_bandit, spread_bandit
from companion.lplr.params import lplr_params
from companion.lplr.trials import estimate_lplr, fit_design, layer_widths
from companion.simulate import repetitions

ALARM = 1e-7  # false-alarm rate of every statistical test below


def generator(*key):
    """A random stream named by integers."""
    return np.random.default_rng(list(key))


def test_elimination_drops_what_lies_below_the_best_lower_end_of_the_living():
    f, width = np.array([0.5, 0.0, 0.3, 0.9]), np.array([0.1, 0.1, 0.1, 0.2])
    alive = np.array([1, 1, 1, 0])  # the last arm is dead, and its lower end 0.7 does not count
    eliminate(f, width, alive)
    assert alive.tolist() == [1, 0, 1, 0]  # 0.3 + 0.1 reaches 0.5 - 0.1: ties stay
    eliminate(f, width, alive)
    assert alive.tolist() == [1, 0, 1, 0]
    for seed in range(50):  # whatever the numbers, somebody stays
        rng = np.random.default_rng(seed)
        alive = np.ones(6, dtype=np.int64)
        eliminate(rng.standard_normal(6), rng.random(6), alive)
        assert alive.sum() >= 1


def test_play_is_uniform_among_the_living():
    rng, alive = generator(1), np.array([0, 1, 1, 0, 1])
    plays = np.bincount([pick(alive, rng) for _ in range(9000)], minlength=5)
    assert plays[[0, 3]].sum() == 0
    assert sps.chisquare(plays[[1, 2, 4]]).pvalue > ALARM


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


def test_errors_are_of_the_order_of_the_bin_tax():
    for name, d in (("log-scale", 1), ("ball", 2), ("log-scale", 2)):
        run = estimate_lplr(
            family(name, d, 10**12), lplr_params(d, 10**12), 10**12, repetitions(4, 40)
        )
        assert 0.3 < run.mad.mean() / run.tax.mean() < 1.5


def test_missed_intervals_lost_arms_and_regret_are_counted():
    """Half-widths of nothing miss, and lose the best arm of two that hardly differ."""
    seeds, bandit = repetitions(6, 12), hard_bandit(1, 0.1)
    bold = eliminate_with("lplr", bandit, 10**4, seeds, z=0.0, threshold=0.0)
    assert (bold.missed > 0).all()
    assert 0 < bold.lost.sum() < 12
    for oracle in ("exact", "none"):
        run = eliminate_with(oracle, bandit, 10**4, seeds)
        assert not run.missed.any()
        assert not run.lost.any()
    assert run.regret.mean() == pytest.approx(0.05 * 10**4, rel=0.05)  # uniform play; 0 or 0.1


def test_layer_widths_of_a_walk_that_stops():
    """No model anywhere: every half-width is the norm of the point, one bin a point."""
    p = lplr_params(2, 10**4, threshold=1e9)
    world = design([[0.9, 0.0], [0.1, 0.0]], [0.5, 0.5], [0.75, 0.25])
    tree = fit_design(world, p, 10**4, 0)
    assert layer_widths(p, tree, world) == pytest.approx([0.75 * 0.9 + 0.25 * 0.1, 0.0])


def test_spread_bandit():
    bandit = spread_bandit(2, 10**8, seed=3, C=40)
    assert bandit.X.shape == (40, 2, 2)
    np.testing.assert_array_equal(bandit.X[:, 0], -bandit.X[:, 1])
    sizes = np.abs(bandit.X) * np.sqrt(2)
    assert 1e-4 * (1 - 1e-12) <= sizes.min() < 1e-3  # over nearly all scales
    assert 0.1 < sizes.max() <= 1
    with pytest.raises(ValueError, match="C must"):
        spread_bandit(2, 10**8, seed=3, C=0)
