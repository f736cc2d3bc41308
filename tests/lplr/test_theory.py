"""LPLR: closed forms against values computed by hand from the paper's formulas."""

import math

import numpy as np
import pytest
from scipy import stats as sps

from companion.lplr import theory
from companion.lplr.params import lplr_params

E = math.e


def test_theorem_1_where_e_to_the_alpha_is_2():
    """c = 1/(4 sqrt 2) = 0.1767767; share c/100, bound 3c/1600."""
    share, bound = theory.theorem_1(10**4, math.log(2))
    assert share == pytest.approx(0.001767767, rel=1e-6)
    assert bound == pytest.approx(0.000331456, rel=1e-5)


def test_theorem_1_needs_a_probability():
    """At alpha = 0.01, 1/(32 (e^0.01 - 1)^2) = 1/(32 * 0.000101006) = 309.4 users."""
    with pytest.raises(ValueError, match="n=309"):
        theory.theorem_1(309, 0.01)
    assert theory.theorem_1(310, 0.01)[0] == pytest.approx(0.999, abs=1e-3)


def test_the_bound_on_sufficient_statistics():
    """r = sqrt(4) 16^(-1/4) = 1, and 3/16 of it."""
    assert theory.sufficient_statistics_bound(16, 4.0) == pytest.approx((1.0, 0.1875))


@pytest.mark.parametrize(
    ("mu", "epsilon", "value"),
    [
        ([math.log(2)], 1.0, 1 / 12),
        ([math.log(2) / 3], 3.0, 1 / 12),
        ([math.log(2), math.log(2)], 1.0, 41 / 144),
    ],
)
def test_chi_square_at_log_2(mu, epsilon, value):
    """With A = E (dP+/dP0)^2 = 1/8 + 7/24 + 1 = 17/12 and B = E dP+ dP-/dP0^2 = 1/2 + 1/4 = 3/4 in
    one dimension, the divergence is (A + B)/2 - 1 = 1/12, and (A^2 + B^2)/2 - 1 in two.
    """
    assert theory.chi_square_laplace(mu, epsilon) == pytest.approx(value, rel=1e-9)


def test_log_likelihood_ratio_of_one_user():
    """At (0, 0) only |w - m/2| differs: -epsilon m/2.  At (m, m/2) with e^epsilon = 2 and m = 1:
    ln(1 + 1/8) - ln(1 + 1/4) + ln(2)/2.
    """
    assert theory._llr(0.0, 0.0, 1.0, 2.0) == pytest.approx(-1.0)
    value = math.log(0.9) + 0.5 * math.log(2)
    assert theory._llr(1.0, 0.5, 1.0, math.log(2)) == pytest.approx(value)


def test_a_plain_difference_is_always_told_apart():
    assert theory.likelihood_ratio_errors(1e3, 1.0, 5, 40, np.random.default_rng(0)) == 0
    assert 10 < theory.likelihood_ratio_errors(1e-6, 1.0, 5, 40, np.random.default_rng(0)) < 70


def _message_by_message(m, epsilon, n, second, runs, rng):
    """Sums of the log-likelihood ratio (runs,), every user's message drawn as the theorem says."""
    s = m * rng.choice([-1.0, 1.0], (runs, n))
    v = s + rng.laplace(0, 1 / epsilon, (runs, n))
    w = (s / 2 if second else 0.0) + rng.laplace(0, 1 / epsilon, (runs, n))
    near, far = -epsilon * abs(v - m), -epsilon * abs(v + m)
    later = np.logaddexp(near - epsilon * abs(w - m / 2), far - epsilon * abs(w + m / 2))
    return (later - np.logaddexp(near, far) + epsilon * abs(w)).sum(axis=1)


@pytest.mark.parametrize("second", [False, True])
@pytest.mark.parametrize(("m", "epsilon", "n"), [(0.7, 1.3, 20), (2.5, 0.5, 6), (0.08, 1.0, 300)])
def test_counted_users_have_the_law_of_drawn_ones(m, epsilon, n, second):
    """10,000 sums each; a false alarm has chance 2e-4 in each of six settings."""
    rng = np.random.default_rng(5)
    slow = _message_by_message(m, epsilon, n, second, 10_000, rng)
    fast = [theory._sum_of_ratios(m, epsilon, n, second, rng) for _ in range(10_000)]
    assert sps.ks_2samp(slow, fast).pvalue > 1e-4
    assert sps.ttest_ind(slow, fast).pvalue > 1e-4


def test_lemma_1_where_the_logarithm_is_8():
    """d = 2, M = 10: 48 d/(beta failure) = 1920/failure = e^8; L = 8/2; over sqrt(100): 0.4."""
    p, failure = lplr_params(2, 10**8), 1920 * math.exp(-8)
    found = theory.lemma_1(p, 100, 2.0, failure)
    assert found == pytest.approx((6.2 * 2 * 0.4, 134 * 0.4, 247 * 0.4))
    deep = theory.lemma_1(p, 100, 2.0, failure, share=0.5, k=1)
    assert deep == pytest.approx((4.96, 107.2 / E, 197.6 / E**2))


def test_lemma_3_where_the_logarithm_is_8():
    """K = 4 (300 * 81 e^2 + 118 * 4 e + 43 * 27 e^2), 43 * 27 e^2 being the larger of two."""
    p, failure = lplr_params(2, 10**8), 1920 * math.exp(-8)
    K = 4 * (24300 * E**2 + 472 * E + 1161 * E**2)
    assert pytest.approx(757_663.15, rel=1e-7) == K
    found = theory.lemma_3(p, 10**4, 2.0, failure)
    assert found == pytest.approx([12 * K / 100 * 10, 12 * K / 100 * 100])
    g = math.exp(-4)  # no ratio of bins, but here 15 g sqrt(8) is the larger of two
    K = 4 * (24300 * g**2 + 472 * g + 15 * g * math.sqrt(8))
    found = theory.lemma_3(p._replace(log_gamma=-4.0), 10**4, 2.0, failure)
    assert found[0] == pytest.approx(12 * K / 100 * 10)


def test_support_violation():
    """c = 4.5/epsilon, so |v|^2/2c = epsilon |v|^2/9."""
    assert theory.support_violation(1.0) == pytest.approx(0.1051607, rel=1e-6)
    assert theory.support_violation(9.0, 0.5) == pytest.approx(1 - math.exp(-0.25))


def test_losses_of_a_change_of_action():
    assert theory.two_oracles_loss(0.3) == pytest.approx(0.6)
    for d in (1, 3):
        assert theory.action_loss(lplr_params(d, 100, 0.7)) == pytest.approx(0.7)
    p = lplr_params(2, 100)._replace(count_scale=4.0, matrix_scale=1.0)
    p = p._replace(vector_scale=math.sqrt(2) * np.array([4.0, 4.0]))
    assert theory.action_loss(p) == pytest.approx(2 * (1 / 4 + 1 / 2 + 1 / 2))


def test_chi_square_has_slope_three_and_the_known_limits():
    assert theory.chi_square_laplace([1e-3]) / 1e-9 == pytest.approx(1 / 3, rel=0.01)
    assert theory.chi_square_laplace([5e-4, 5e-4]) / 1e-9 == pytest.approx(1 / 12, rel=0.01)
    for mu in (0.1, 0.5):
        grid = np.linspace(-40, 40, 800_001)
        ratio = (np.exp(-abs(grid - mu)) + np.exp(-abs(grid + mu))) / 2 / np.exp(-abs(grid)) - 1
        value = np.trapezoid(ratio**2 * np.exp(-abs(grid)) / 2, grid)
        assert theory.chi_square_laplace([mu]) == pytest.approx(value, rel=1e-5)
