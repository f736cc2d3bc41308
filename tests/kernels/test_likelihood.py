"""Losses against finite differences, and the Newton fit against SciPy's minimiser."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import log_ndtr

from companion.kernels.glm import (
    LOGISTIC,
    PROBIT,
    STEPS,
    canonical,
    falls_surely,
    fit,
    log_mean,
    mean,
    mills,
    newton_system,
    objective,
    slope,
    true_derivatives,
    true_loss,
    work_for,
)

LINKS = (LOGISTIC, PROBIT)


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("r", [0.0, 0.3, 1.0])
def test_derivatives_are_those_of_the_losses(link, r):
    for z in (-3.0, -0.4, 0.0, 1.7):
        h = 1e-5
        first, second = true_derivatives(link, z, r)
        assert first == pytest.approx(
            (true_loss(link, z + h, r) - true_loss(link, z - h, r)) / (2 * h), abs=1e-8
        )
        ends = true_derivatives(link, z + h, r)[0] - true_derivatives(link, z - h, r)[0]
        assert second == pytest.approx(ends / (2 * h), abs=1e-8)
        slope_of = (canonical(link, z + h, r) - canonical(link, z - h, r)) / (2 * h)
        assert slope_of == pytest.approx(mean(link, z) - r, abs=1e-8)


def test_one_exponential_gives_the_bits_of_mean_and_slope():
    for z in (*np.random.default_rng(0).normal(0.0, 9.0, 2_000), 0.0, -0.0, 800.0, -800.0):
        for r in (0.0, 0.3, 1.0):
            there = mean(LOGISTIC, z) - r, slope(LOGISTIC, z)
            assert true_derivatives(LOGISTIC, z, r) == there


def test_the_two_losses_are_one_for_the_logistic_link_only():
    for z in (-2.0, 0.5, 3.0):
        shift = true_loss(LOGISTIC, 0.0, 0.3) - canonical(LOGISTIC, 0.0, 0.3)
        assert true_loss(LOGISTIC, z, 0.3) - canonical(LOGISTIC, z, 0.3) == pytest.approx(shift)
    assert abs(true_derivatives(PROBIT, 1.5, 0.0)[0] - mean(PROBIT, 1.5)) > 0.5


def test_tails_are_finite_and_exact():
    for z in (-40.0, -31.0, -29.0, 40.0):
        assert log_mean(PROBIT, z) == pytest.approx(log_ndtr(z), rel=1e-9)
        assert np.isfinite(true_derivatives(PROBIT, z, 1.0)).all()
    assert mills(-30.000001) == pytest.approx(mills(-29.999999), rel=1e-6)
    assert log_mean(LOGISTIC, -800.0) == -800.0


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("start", [0.0, 5.0])
def test_fit_finds_the_minimum_from_near_and_far(link, start):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((80, 3))
    y = (rng.random(80) < 0.5 + 0.4 * np.tanh(X[:, 0])).astype(float)
    theta, work = np.full(3, start), work_for(3)
    steps = fit(link, X, y, 60, 0.2, 1e-12, theta, work)  # of the first 60 rows only
    assert steps <= 12 < STEPS
    best = minimize(lambda v: objective(link, X, y, 60, 0.2, v), np.zeros(3), tol=1e-12)
    np.testing.assert_allclose(theta, best.x, atol=1e-5)
    y[60:] = 1.0 - y[60:]
    again = theta.copy()
    assert fit(link, X, y, 60, 0.2, 1e-12, again, work) == 1  # a warm start needs one step
    np.testing.assert_allclose(again, theta, atol=1e-6)


def test_self_concordance_holds_for_logistic_and_fails_for_probit_beyond_one():
    from companion.kernels.glm import bend

    for z in np.linspace(-6, 6, 49):
        assert abs(bend(LOGISTIC, z)) <= slope(LOGISTIC, z)
        assert (abs(bend(PROBIT, z)) <= slope(PROBIT, z)) == (abs(z) <= 1)


@pytest.mark.parametrize("r", [0.0, 0.4, 1.0])
def test_the_third_derivative_is_bounded_by_the_second(r):
    """|z| + 1/2 for the probit link, 1 for the logistic one; by differences of the second."""
    for link in LINKS:
        for z in np.linspace(-8.0, 8.0, 161):
            ends = [true_derivatives(link, z + h, r)[1] for h in (-1e-4, 1e-4)]
            third, second = (ends[1] - ends[0]) / 2e-4, true_derivatives(link, z, r)[1]
            c = 1.0 if link == LOGISTIC else abs(z) + 0.5
            assert abs(third) <= c * second * (1 + 1e-6) + 1e-12, z


@pytest.mark.parametrize("link", LINKS)
def test_a_step_that_falls_surely_falls_by_a_quarter(link):
    """Newton steps from near and far; none is called sure that does not fall, some are sure."""
    rng, sure = np.random.default_rng(4), 0
    for i in range(300):
        X = rng.standard_normal((30, 2)) / 1.5
        y = (rng.random(30) < mean(link, 1.0)).astype(float)
        theta = rng.standard_normal(2) * (0.1, 1.0, 4.0)[i % 3]
        g, H = np.empty(2), np.empty((2, 2))
        newton_system(link, X, y, 30, 0.1, theta, g, H)
        H[0, 1] = H[1, 0]
        step = np.linalg.solve(H, g)
        if falls_surely(link, X, 30, theta, step):
            sure += 1
            before, after = (objective(link, X, y, 30, 0.1, v) for v in (theta, theta - step))
            assert after <= before - 0.25 * g @ step + 1e-12
    assert 20 < sure < 280
    assert not falls_surely(link, X, 30, theta, np.array([np.nan, 0.0]))
