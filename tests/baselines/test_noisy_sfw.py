"""NoisySFW against its definition and its releases."""

import math

import numpy as np
import pytest
from sco_streams import OPTIONS, records
from streams import learn

from companion.accounting import privacy as pr
from companion.baselines.noisy_sfw import noisy_sfw
from companion.kernels.geometry import vertex


def test_it_is_its_definition():
    n = 90
    d = 3
    p = 1.5
    X, Y = records(n)
    o = noisy_sfw(d, n, epsilon=np.inf, p=p, **OPTIONS)
    eta = math.log(n) / (2 * math.sqrt(n))
    b = int(math.sqrt(n) / 2)
    assert (o.params.batch, o.params.steps) == (b, 8)
    assert o.params.eta == pytest.approx(eta)
    v = np.empty(d)
    old = np.zeros(d)
    gradient = (-2 * Y[:45, None] * X[:45]).mean(axis=0)
    vertex(gradient, p, 2.0, v)
    theta = eta * v
    at = 45
    out = learn(o, X, Y, seed=0)[0]
    assert (out[:44] == 0).all()
    assert out[44] == pytest.approx(theta)
    for _ in range(8):
        rows = slice(at, at + b)
        slopes = 2 * X[rows] @ (theta - old)
        gradient = gradient + (slopes[:, None] * X[rows]).mean(axis=0)
        vertex(gradient, p, 2.0, v)
        old = theta
        theta = (1 - eta) * theta + eta * v
        at = at + b
        assert out[at - 1] == pytest.approx(theta, abs=1e-12)
    assert (out[at:] == out[-1]).all()


def ratios(p):
    """How far a record moves the first mean, by 2 L/(n/2), and a later one, by 2 beta eta
    D/b, in units of their noise; n = 400."""
    later = 2 * 2 * p.eta * 4 / p.batch
    return 2 * 6.4 / 200 / p.sigma_first, later / p.sigma


def test_the_guarantee_is_rebuilt_from_its_releases():
    o = noisy_sfw(
        10,
        400,
        epsilon=1.0,
        delta=1e-2,
        step_scale=0.3,
        **OPTIONS,
    )
    for ratio in ratios(o.params):
        rebuilt = pr.gaussian_epsilon(1e-2, 1.0, ratio * 10 ** (1 / 6))
        assert rebuilt == pytest.approx(1.0, rel=1e-9)
    assert o.guarantee.epsilon == pytest.approx(1.0, rel=1e-9)


PAPER = {
    "epsilon": 1.0,
    "delta": 1e-2,
    "calibration": "paper",
    **OPTIONS,
}


def test_the_printed_noise_by_hand():
    o = noisy_sfw(10, 400, step_scale=0.3, **PAPER)
    p = o.params
    assert (p.exponent, o.guarantee.claimed) == (
        3.0,
        (1.0, 1e-2),
    )
    kappa = 2.0
    spread = math.sqrt(32 * kappa * math.log(100))
    assert p.sigma_first == pytest.approx(spread * 6.4 / 400)
    assert p.sigma == pytest.approx(spread / 20 * 2 * 4 * p.eta)
    rebuilt = pr.zcdp_epsilon(kappa * max(ratios(p)) ** 2 / 2, 1e-2)
    assert o.guarantee.epsilon == pytest.approx(rebuilt, rel=1e-9)


@pytest.mark.parametrize("first", [True, False])
def test_the_first_release_has_its_own_noise(first, rng):
    """Without data what is released is noise; n = 16: 8 records, then two by two."""
    o = noisy_sfw(2, 16, epsilon=1.0, delta=0.1, step_scale=0.3)
    p = o.params._replace(
        sigma_first=1.0 if first else 0.0,
        sigma=0.0 if first else 1.0,
    )
    s = o.init(p, None)
    shown = []
    for _ in range(10):
        o.step(p, s, np.zeros(2), 0.0, rng)
        shown.append(bool(s.released.any()))
    assert shown == [False] * 7 + [first, first, not first]


def test_a_step_beyond_the_vertex_is_refused():
    """n = 100: 4 log(100)/20 = 0.92 is a step, 5 log(100)/20 = 1.15 leaves the ball."""
    eta = noisy_sfw(3, 100, epsilon=1.0, step_scale=4.0).params.eta
    assert eta == pytest.approx(0.921034)
    with pytest.raises(
        ValueError,
        match="step_scale must keep the step at most 1",
    ):
        noisy_sfw(3, 100, epsilon=1.0, step_scale=5.0)


def test_the_printed_noise_is_proved_at_epsilon_2_itself():
    """And not beyond."""
    assert noisy_sfw(3, 50, epsilon=2.0, calibration="paper").guarantee.epsilon > 0.0
    with pytest.raises(ValueError, match="epsilon must be at most 2"):
        noisy_sfw(3, 50, epsilon=2.1, calibration="paper")


def test_the_printed_noise_in_few_dimensions_is_an_ordinary_gaussian():
    """d = 3, below e^2: exponent 2, and privacy by the exact curve, s_2 = 3^(1/6)."""
    o = noisy_sfw(3, 400, **PAPER)
    assert o.params.exponent == 2.0
    exact = pr.gaussian_epsilon(1e-2, 1.0, max(ratios(o.params)) * 3 ** (1 / 6))
    assert o.guarantee.epsilon == pytest.approx(exact, rel=1e-9)
