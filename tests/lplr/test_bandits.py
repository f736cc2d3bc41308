"""LPLR: elimination kernels, what is read off bandit runs, and the bin tax."""

import math

import numpy as np
import pytest
from scipy import stats as sps

from companion.lplr.bandits import (
    crossing,
    worst_case,
    worst_case_band,
    worst_case_exponent,
    worst_case_ratio,
)
from companion.lplr.bins import COUNT
from companion.lplr.elimination import eliminate, pick
from companion.lplr.environments import design, family, spread_bandit
from companion.lplr.params import lplr_params
from companion.lplr.trials import bin_tax, estimate_lplr, fit_design, generator

ALARM = 1e-7  # false-alarm rate of every statistical test below


def test_elimination_drops_what_lies_below_the_best_lower_end_of_the_living():
    f, width = np.array([0.5, 0.0, 0.3, 0.9]), np.array([0.1, 0.1, 0.1, 0.2])
    alive = np.array([1, 1, 1, 0])  # the last arm is dead, and its lower end 0.7 does not count
    assert eliminate(f, width, alive) == 1
    assert alive.tolist() == [1, 0, 1, 0]  # 0.3 + 0.1 reaches 0.5 - 0.1: ties stay
    assert eliminate(f, width, alive) == 0
    for seed in range(50):  # whatever the numbers, somebody stays
        rng = np.random.default_rng(seed)
        alive = np.ones(6, dtype=np.int64)
        gone = eliminate(rng.standard_normal(6), rng.random(6), alive)
        assert alive.sum() == 6 - gone >= 1


def test_play_is_uniform_among_the_living():
    rng, alive = generator(1), np.array([0, 1, 1, 0, 1])
    plays = np.bincount([pick(alive, 3, rng) for _ in range(9000)], minlength=5)
    assert plays[[0, 3]].sum() == 0
    assert sps.chisquare(plays[[1, 2, 4]]).pvalue > ALARM


def test_worst_cases_of_exact_powers():
    T = [10**4, 10**6, 10**8]
    ours = np.array([[[n**0.5] * 3, [0.1 * n**0.5] * 3] for n in T])
    theirs = np.array([[[0.2 * n**0.6] * 3, [n**0.3] * 3] for n in T])
    np.testing.assert_allclose(worst_case(ours), np.sqrt(T))
    assert worst_case_exponent(T, ours, 1).value == pytest.approx(0.5)
    assert worst_case_exponent(T, ours, 1).low == pytest.approx(0.5)
    np.testing.assert_allclose(worst_case_band(ours, 1), [np.sqrt(T)] * 2)
    assert worst_case_ratio(3 * ours, ours, 1).value == pytest.approx(3.0)
    assert crossing(T, ours, theirs, 1).value == pytest.approx(5**10, rel=1e-6)  # n^0.1 = 5
    assert crossing(T, theirs, theirs * 2, 1).value == T[0]
    assert crossing(T, theirs * 2, theirs, 1).value == math.inf
    with pytest.raises(ValueError, match="level"):
        worst_case_band(ours, 1, level=1.0)


def test_a_bootstrap_band_covers_its_estimate_and_shrinks_with_repetitions():
    rng = np.random.default_rng(0)
    wide = []
    for reps in (8, 200):
        regret = 10 + rng.standard_normal((1, 1, reps))
        low, high = worst_case_band(regret, 2)
        assert low[0] < worst_case(regret)[0] < high[0]
        wide.append(high[0] - low[0])
    assert wide[1] < 0.5 * wide[0]


def test_bin_tax_of_one_full_and_one_nearly_empty_bin():
    """One unit of noise for the full bin; share times size for the other, which is less."""
    n, g = 10**8, math.exp(-1)
    p = lplr_params(1, n, M=2, threshold=1.0)
    few = 20 / math.sqrt(n)
    tree = fit_design(design([[1.0], [g]], [0.5], [1 - few, few]), p, 2 * n, generator(3))
    noise = math.sqrt(2 * 36 + 4 * 2 * 9) / math.sqrt(n)  # b_v = 6, c = 3, d = 1
    share = tree.stat[1, COUNT] / n
    assert bin_tax(p, tree, n) == pytest.approx(noise + share * g, rel=1e-9)


def test_errors_are_of_the_order_of_the_bin_tax():
    for name, d in (("log-scale", 1), ("ball", 2), ("log-scale", 2)):
        run = estimate_lplr(
            family(name, d, 10**12), lplr_params(d, 10**12), 10**12, 40, generator(4)
        )
        assert 0.3 < run.mad.mean() / run.tax.mean() < 1.5


def test_spread_bandit():
    bandit = spread_bandit(2, 10**8, seed=3, C=40)
    assert bandit.X.shape == (40, 2, 2)
    np.testing.assert_array_equal(bandit.X[:, 0], -bandit.X[:, 1])
    sizes = np.abs(bandit.X) * np.sqrt(2)
    assert 1e-4 * (1 - 1e-12) <= sizes.min() < 1e-3  # over nearly all scales
    assert 0.1 < sizes.max() <= 1
    with pytest.raises(ValueError, match="C must"):
        spread_bandit(2, 10**8, seed=3, C=0)
