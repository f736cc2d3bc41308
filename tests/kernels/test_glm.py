"""Links against SciPy, losses against differences, the Newton fit against SciPy's
minimiser."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, log_ndtr, ndtr

from companion.kernels import glm
from companion.kernels.glm import LOGISTIC, PROBIT, mean, true_derivatives, true_loss

Z = np.concatenate([np.linspace(-8, 8, 81), [-30.0, -37.0, 37.0]])
EXACT = {"linear": lambda z: z, "logistic": expit, "probit": ndtr}
every_link = pytest.mark.parametrize("link", glm.LINKS)
every_loss = pytest.mark.parametrize("link", [LOGISTIC, PROBIT])


def difference(f, z, h=1e-5):
    return (f(z + h) - f(z - h)) / (2 * h)


@every_link
def test_means_are_exact_in_both_tails_and_derivatives_those_of_differences(link):
    number = glm.need_link("link", link)
    exact = EXACT[link](Z)
    for z, value in zip(Z, exact, strict=True):
        assert mean(number, z) == pytest.approx(value, rel=1e-13, abs=0)
    for z in np.linspace(-4, 4, 33):
        for f, slope in ((glm.mean, glm.slope), (glm.slope, glm.bend)):
            change = difference(lambda x, f=f: f(number, x), z)
            assert slope(number, z) == pytest.approx(change, abs=1e-9)


@every_loss
def test_far_scores_neither_overflow_nor_lose_their_tail(link):
    for z in (-800.0, 800.0):
        for f in (glm.mean, glm.slope, glm.bend):
            assert np.isfinite(f(link, z))
    for z in (-40.0, -31.0, -29.0, 40.0):
        assert np.isfinite(true_derivatives(link, z, 1.0)).all()
        assert glm.log_mean(PROBIT, z) == pytest.approx(log_ndtr(z), rel=1e-9)
    assert mean(LOGISTIC, -700.0) > 0.0
    assert glm.log_mean(LOGISTIC, -800.0) == -800.0
    for f in (glm.mills, glm.mills_slope):
        assert f(-30.000001) == pytest.approx(f(-29.999999), rel=1e-7)
    assert true_derivatives(PROBIT, -1e9, 1.0)[1] == 1.0


@every_loss
@pytest.mark.parametrize("r", [0.0, 0.3, 1.0])
def test_derivatives_are_those_of_the_losses(link, r):
    for z in (-3.0, -0.4, 0.0, 1.7):
        first, second = true_derivatives(link, z, r)
        assert first == pytest.approx(
            difference(lambda x: true_loss(link, x, r), z),
            abs=1e-8,
        )
        change = difference(lambda x: true_derivatives(link, x, r)[0], z)
        assert second == pytest.approx(change, abs=1e-8)


@every_loss
@pytest.mark.parametrize("start", [0.0, 5.0])
def test_fit_finds_the_minimum_from_near_and_far(link, start):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((80, 3))
    chances = 0.5 + 0.4 * np.tanh(X[:, 0])
    y = (rng.random(80) < chances).astype(float)
    theta = np.full(3, start)
    work = glm.work_for(3)
    steps = glm.fit(link, X, y, 60, 0.2, 1e-12, theta, work)  # of the first 60 rows only
    assert steps <= 12 < glm.STEPS
    best = minimize(
        lambda v: glm.objective(link, X, y, 60, 0.2, v),
        np.zeros(3),
        tol=1e-12,
    )
    np.testing.assert_allclose(theta, best.x, atol=1e-5)
    y[60:] = 1.0 - y[60:]
    again = theta.copy()
    steps = glm.fit(link, X, y, 60, 0.2, 1e-12, again, work)
    assert steps == 1  # from a warm start
    np.testing.assert_allclose(again, theta, atol=1e-6)
    # the ridge is lost beside them
    far = np.zeros(2)
    rows = np.full((1, 2), 1e20)
    steps = glm.fit(link, rows, y, 1, 0.2, 1e-12, far, glm.work_for(2))
    assert steps == glm.STEPS + 1
    assert far.tolist() == [0.0, 0.0]


def test_an_odd_number_of_steps_averages_the_longer_half():
    """Steps of 1 from 0 in one dimension: 1, 2, 3, of which 2 and 3 count."""
    theta = np.zeros(1)
    work = np.zeros((3, 1))
    for k in range(3):
        work[0] = -1.0
        glm.projected_step(k, 3, 0.0, 10.0, np.eye(1), theta, work)
    assert theta[0] == pytest.approx(2.5)


@pytest.mark.parametrize(("reward", "inside"), [(-0.5, 0.0), (0.3, 0.3), (1.5, 1.0)])
def test_rewards_are_clipped_at_both_ends(reward, inside):
    assert glm.clipped_reward(reward) == inside
