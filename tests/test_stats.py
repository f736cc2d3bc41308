"""Intervals cover as often as they say, and exact inputs give exact answers."""

import numpy as np
import pytest
from scipy import stats as sps

from companion import stats
from companion.stats import at_least, at_most


def one_instance(values):
    """Regret (m, 1, 3): one instance, three repetitions that are alike."""
    column = np.array(values)[:, None, None]
    return np.repeat(column, 3, axis=2)


def test_ratio_covers_and_is_exact_for_proportional_samples():
    rng = np.random.default_rng(3)
    covered = 0
    for _ in range(1000):
        b = rng.normal(10, 1, 10)
        a = 2 * b + rng.normal(0, 1, 10)
        found = stats.ratio(a, b, 0.9)
        covered += found.low <= 2.0 <= found.high
    law = sps.binom(1000, 0.9)
    assert law.ppf(5e-7) <= covered <= law.isf(5e-7)
    b = np.array([8.0, 9.0, 11.0])
    assert stats.ratio(3 * b, b) == pytest.approx((3.0, 3.0, 3.0))
    _, low, high = stats.ratio([1.0, 2.0, 3.0], [-1.0, 0.5, 1.0])
    assert low == -np.inf
    assert high == np.inf


def test_band_is_the_interval_of_every_column():
    samples = np.random.default_rng(4).normal(size=(5, 3))
    bands = np.transpose(stats.band(samples, 0.9))
    for column, band in zip(samples.T, bands, strict=True):
        assert stats.mean_interval(column, 0.9) == pytest.approx(band)
    a, b, _ = samples.T
    _, *ours = stats.mean_interval(a)
    theirs = sps.ttest_1samp(a, 0.0).confidence_interval(0.95)
    assert ours == pytest.approx(list(theirs))
    assert stats.difference(a, b) == pytest.approx(stats.mean_interval(a - b))


@pytest.mark.parametrize("power", [0.5, 2 / 3, 1.0, -1.0])
def test_exponent_is_exact_on_power_laws(power):
    x = np.geomspace(100, 20_000, 12)
    samples = np.outer([1.0, 2.0, 5.0], x**power)
    assert stats.exponent(x, samples) == pytest.approx((power,) * 3, abs=1e-9)


@pytest.mark.parametrize(("hits", "trials"), [(0, 10), (10, 10), (1, 1000)])
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_proportion_is_scipys_exact_interval(hits, trials, level):
    ours = stats.proportion(hits, trials, level)
    theirs = sps.binomtest(hits, trials).proportion_ci(level, method="exact")
    assert ours == pytest.approx((hits / trials, theirs.low, theirs.high), abs=1e-12)


def test_a_bootstrap_resamples_every_run_and_takes_the_worst_instance_anew():
    regret = 1.0 + np.random.default_rng(0).random((3, 2, 5))
    rng = np.random.default_rng([1, 77])
    picks = rng.integers(0, 5, (stats.DRAWS, 3, 2, 5))
    drawn = np.take_along_axis(regret[None], picks, axis=3)
    worst = drawn.mean(axis=3).max(axis=2)
    ends = np.quantile(worst, [0.1, 0.9], axis=0, method="nearest")
    np.testing.assert_array_equal(stats.worst_case_band(regret, 1, 0.8), ends)


def test_worst_cases_of_exact_powers():
    T = np.array([1e4, 1e6, 1e8])
    root = one_instance(T**0.5)
    ours = np.hstack([root, 0.1 * root])
    steep = one_instance(0.2 * T**0.6)
    theirs = np.hstack([steep, one_instance(T**0.3)])
    np.testing.assert_allclose(stats.worst_case(ours), T**0.5)
    found = stats.worst_case_exponent(T, ours, 1)
    assert found == pytest.approx((0.5, 0.5, 0.5))
    np.testing.assert_allclose(stats.worst_case_band(ours, 1), [T**0.5] * 2)
    met = stats.crossing(T, ours, theirs, 1)
    assert met.value == pytest.approx(5**10, rel=1e-6)  # n^0.1 = 5
    always = stats.crossing(T, theirs, 2 * theirs, 1)
    assert always.value == T[0]
    never = stats.crossing(T, 2 * theirs, theirs, 1)
    assert never.value == np.inf


def test_the_jackknife_of_a_mean_is_students_interval():
    samples = np.random.default_rng(3).normal(2.0, 1.0, 17)
    found = stats.jackknife(np.mean, samples, 0.9)
    np.testing.assert_allclose(found, stats.mean_interval(samples, 0.9))


def test_of_two_crossings_the_last_counts():
    """Above, below, above, below: from 10^4.5 on ours stays below."""
    T = np.array([1e2, 1e3, 1e4, 1e5])
    theirs = one_instance([1.0, 1.0, 1.0, 1.0])
    ours = one_instance(np.exp([1.0, -1.0, 1.0, -1.0]))
    found = stats.crossing(T, ours, theirs, 1)
    assert found.value == pytest.approx(10**4.5)


def test_an_exponent_is_that_of_the_mean_over_repetitions():
    """Means 2 and 4 at 1 and 2: slope 1; the logarithms' means would give log2(7/3)/2 =
    0.61."""
    found = stats.exponent([1.0, 2.0], [[1.0, 1.0], [3.0, 7.0]])
    assert found.value == pytest.approx(1.0)


def test_a_ratio_of_worst_cases_is_the_mean_of_the_ratios():
    """1/2 and 6/3: mean 1.25; the ratio of the sums is 7/5, the largest ratio 2."""
    ours = one_instance([1.0, 6.0])
    theirs = one_instance([2.0, 3.0])
    found = stats.worst_case_ratio(ours, theirs, 1)
    assert found.value == pytest.approx(1.25)


def test_a_worst_case_exponent_is_the_slope_of_least_squares():
    """log2 T = 0, 1, 3 and log2 of the regret 0, 2, 3: (13/3)/(14/3); from end to end it
    is 1."""
    regret = one_instance([1.0, 4.0, 8.0])
    found = stats.worst_case_exponent([1, 2, 8], regret, 1)
    assert found.value == pytest.approx(13 / 14)


def test_fiellers_interval_by_hand():
    """b = 10 in both repetitions and a = 20 -+ 1: Student's 2 -+ t(1)/10
    sqrt(2)/sqrt(2)."""
    found = stats.ratio([19.0, 21.0], [10.0, 10.0])
    half = sps.t.ppf(0.975, 1) / 10
    assert found == pytest.approx((2.0, 2.0 - half, 2.0 + half))


@pytest.mark.parametrize(
    ("bound", "value", "spec", "printed"),
    [
        (at_least, 0.7285, ".3g", "0.728"),
        (at_least, 3.396, ".2g", "3.3"),
        (at_most, 0.7285, ".3g", "0.729"),
        (at_most, 3.31, ".2g", "3.4"),
        (at_least, 1.0 - 1e-15, ".3g", "1"),  # one, but for rounding
        (at_most, 1.0 + 1e-15, ".3g", "1"),
        (at_least, np.inf, ".3g", "inf"),
        (at_most, -np.inf, ".3g", "-inf"),
        (at_least, 0.0, ".2f", "0.00"),
    ],
)
def test_bounds_that_were_rounded_the_wrong_way_on_pages(bound, value, spec, printed):
    assert bound(value, spec) == printed


def test_a_bound_is_printed_in_digits_alone():
    with pytest.raises(ValueError, match="spec must be like"):
        at_least(1.0, ".0%")
