"""Links against SciPy, losses against differences, the Newton fit against SciPy's minimiser."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, log_ndtr, ndtr
from scipy.stats import norm

from companion.kernels import glm
from companion.kernels.glm import (
    LOGISTIC,
    PROBIT,
    STEPS,
    bend,
    canonical,
    fit,
    log_mean,
    mean,
    mills,
    objective,
    slope,
    true_derivatives,
    true_loss,
    work_for,
)

Z = np.concatenate([np.linspace(-8, 8, 81), [-30.0, -37.0, 37.0]])
EXACT = {"linear": lambda z: z, "logistic": expit, "probit": ndtr}
every_link = pytest.mark.parametrize("link", glm.LINKS)


@every_link
def test_mean_is_exact_in_both_tails(link):
    got = [glm.mean(glm.need_link("link", link), z) for z in Z]
    assert got == pytest.approx(EXACT[link](Z), rel=1e-13, abs=0)


@every_link
@pytest.mark.parametrize(("lower", "upper"), [("mean", "slope"), ("slope", "bend")])
def test_derivatives_are_those_of_differences(link, lower, upper):
    number, h = glm.need_link("link", link), 1e-5
    for z in np.linspace(-4, 4, 33):
        f, derivative = getattr(glm, lower), getattr(glm, upper)
        difference = (f(number, z + h) - f(number, z - h)) / (2 * h)
        assert derivative(number, z) == pytest.approx(difference, abs=1e-9)


def test_far_scores_neither_overflow_nor_lose_their_tail():
    for z in (-800.0, 800.0):
        for number in (glm.LOGISTIC, glm.PROBIT):
            values = [f(number, z) for f in (glm.mean, glm.slope, glm.bend)]
            assert np.isfinite(values).all()
    assert glm.mean(glm.LOGISTIC, -700.0) > 0.0
    assert glm.slope(glm.PROBIT, 1.3) == pytest.approx(norm.pdf(1.3), rel=1e-14)


def test_an_unknown_link_is_refused():
    with pytest.raises(ValueError, match="link must be one of 'linear', 'logistic', 'probit'"):
        glm.need_link("link", "cauchit")


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
    for z in np.linspace(-6, 6, 49):
        assert abs(bend(LOGISTIC, z)) <= slope(LOGISTIC, z)
        assert (abs(bend(PROBIT, z)) <= slope(PROBIT, z)) == (abs(z) <= 1)
