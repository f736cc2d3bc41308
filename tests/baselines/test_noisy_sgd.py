"""NoisySGD against its definition."""

import math

import numpy as np
import pytest
from sco_streams import OPTIONS, records
from streams import learn

from companion.baselines import noisy_sgd as sgd


def test_noise_of_the_running_kernel():
    """Without data the parameter is the sum of all noise; 5 standard errors."""
    runs, d = 400, 50
    o = sgd.noisy_sgd(d, 2, epsilon=1.0, delta=1e-2, radius=1e6, label_bound=1.0)
    ends = [learn(o, np.zeros((2, d)), np.zeros(2), seed=s)[0][-1] for s in range(runs)]
    expected = math.sqrt(4) * o.params.eta * o.params.sigma
    assert np.std(ends) == pytest.approx(expected, rel=5 / math.sqrt(2 * runs * d))


def test_noisy_sgd_is_its_definition():
    n, d = 12, 3
    X, Y = records(n)
    for average in (True, False):
        o = sgd.noisy_sgd(
            d, n, epsilon=np.inf, p=np.inf, radius=0.4, step_scale=20.0, average=average
        )
        rng, theta, iterates = np.random.default_rng(0), np.zeros(d), []
        for _ in range(n * n):
            j = rng.integers(0, n)
            rng.standard_normal(d)
            theta = np.clip(theta - o.params.eta * 2 * (X[j] @ theta - Y[j]) * X[j], -0.4, 0.4)
            iterates.append(theta)
        expected = np.mean(iterates, axis=0) if average else theta
        assert learn(o, X, Y, seed=0)[0][-1] == pytest.approx(expected, abs=1e-12)


def test_corrected_noise_spends_the_budget():
    o = sgd.noisy_sgd(3, 200, epsilon=1.0, delta=1e-2, **OPTIONS)
    assert o.guarantee.epsilon == pytest.approx(1.0, rel=1e-4)
    assert (
        sgd.noisy_sgd(
            3, 200, epsilon=1.0, delta=1e-2, calibration="paper", **OPTIONS
        ).guarantee.epsilon
        < 1.0
    )
    weak = sgd.noisy_sgd(
        3, 200, epsilon=1.0, delta=1e-2, calibration="paper", lipschitz=1.0, **OPTIONS
    )
    assert weak.guarantee.epsilon > 1.0


BAD = {"n": 1, "epsilon": 0.0, "delta": 0.0, "radius": -1.0, "label_bound": 0.0, "step_scale": 0.0}


@pytest.mark.parametrize("name", BAD)
def test_bad_arguments_are_named(name):
    options = {"d": 3, "n": 50, "epsilon": 1.0, "delta": 1e-2} | {name: BAD[name]}
    with pytest.raises(ValueError, match=f"{name} must be .*got"):
        sgd.noisy_sgd(**options)


def test_what_is_outside_its_range_is_refused():
    with pytest.raises(ValueError, match="p must be in"):
        sgd.noisy_sgd(3, 50, epsilon=1.0, p=1.5)
    with pytest.raises(ValueError, match=r"lipschitz must be .*got"):
        sgd.noisy_sgd(3, 50, epsilon=1.0, lipschitz=0.0)


def test_printed_constants_by_hand():
    """d = 4, n = 100, delta = 0.01, r = 2, L = 6.4: sqrt(d log 100) = 4.29193 < sqrt n = 10.

    eta = r/(L n 10) = 1/3200, at epsilon = 0.1 r/(L n 42.9193); sigma = L sqrt(8 log 100).
    """
    printed = OPTIONS | {"calibration": "paper"}
    p = sgd.noisy_sgd(4, 100, epsilon=1.0, delta=0.01, **printed).params
    assert (p.steps, p.eta) == (10_000, pytest.approx(1 / 3200, rel=1e-12))
    assert p.sigma == pytest.approx(38.84614, rel=1e-6)
    p = sgd.noisy_sgd(4, 100, epsilon=0.1, delta=0.01, step_scale=3.0, **printed).params
    assert p.eta == pytest.approx(3 * 2 / (640 * 42.9193), rel=1e-5)
    assert p.sigma == pytest.approx(388.4614, rel=1e-6)
    p = sgd.noisy_sgd(4, 100, epsilon=1.0, delta=0.01, lipschitz=4.0, **printed).params
    assert (p.eta, p.sigma) == (pytest.approx(2 / 4000), pytest.approx(38.84614 / 1.6, rel=1e-6))


def test_records_are_clipped_before_anything_else():
    X, Y = records(12)
    o = sgd.noisy_sgd(3, 12, epsilon=np.inf, p=np.inf, radius=0.4, step_scale=20.0, label_bound=0.1)
    X /= np.abs(X).sum(axis=1, keepdims=True)
    inside = learn(o, X, np.clip(Y, -0.1, 0.1))[0]
    assert np.array_equal(learn(o, 4.0 * X, Y)[0], inside)
