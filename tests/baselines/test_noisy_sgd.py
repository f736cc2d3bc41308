"""NoisySGD against its definition, its accountant against quadrature and two others."""

import math

import numpy as np
import pytest
from scipy.stats import norm
from sco_streams import OPTIONS, records
from streams import learn

from companion.accounting import privacy as pr
from companion.baselines import noisy_sgd as sgd


def test_it_is_its_definition():
    n = 12
    d = 3
    X, Y = records(n)
    o = sgd.noisy_sgd(d, n, epsilon=np.inf, radius=0.4, step_scale=20.0)
    rng = np.random.default_rng(0)
    theta = np.zeros(d)
    for _ in range(n * n):
        j = rng.integers(0, n)
        rng.standard_normal(d)
        step = o.params.eta * 2 * (X[j] @ theta - Y[j]) * X[j]
        theta = np.clip(theta - step, -0.4, 0.4)
    assert learn(o, X, Y, seed=0)[0][-1] == pytest.approx(theta, abs=1e-12)


def test_records_are_clipped_before_anything_else():
    X, Y = records(12)
    o = sgd.noisy_sgd(3, 12, epsilon=np.inf, radius=0.4, step_scale=20.0, label_bound=0.1)
    X /= np.abs(X).sum(axis=1, keepdims=True)
    inside = learn(o, X, np.clip(Y, -0.1, 0.1))[0]
    assert np.array_equal(learn(o, 4.0 * X, Y)[0], inside)


def test_corrected_noise_spends_the_budget_and_a_small_lipschitz_constant_more():
    keys = {"epsilon": 1.0, "delta": 1e-2, **OPTIONS}
    assert sgd.noisy_sgd(3, 200, **keys).guarantee.epsilon == pytest.approx(1.0, rel=1e-4)
    printed = sgd.noisy_sgd(3, 200, calibration="paper", **keys)
    weak = sgd.noisy_sgd(3, 200, calibration="paper", lipschitz=1.0, **keys)
    assert printed.guarantee.epsilon < 1.0 < weak.guarantee.epsilon


def test_printed_constants_by_hand():
    """d = 4, n = 100, delta = 0.01, r = 2, L = 6.4: sqrt(d log 100) = 4.29193 < sqrt n =
    10.

    eta = r/(L n 10) = 1/3200, at epsilon = 0.1 r/(L n 42.9193); sigma = L sqrt(8 log
    100).
    """
    keys = {
        "calibration": "paper",
        "delta": 0.01,
        **OPTIONS,
    }
    p = sgd.noisy_sgd(4, 100, epsilon=1.0, **keys).params
    assert p.steps == 10_000
    assert p.eta == pytest.approx(1 / 3200, rel=1e-12)
    assert p.sigma == pytest.approx(38.84614, rel=1e-6)
    p = sgd.noisy_sgd(4, 100, epsilon=0.1, step_scale=3.0, **keys).params
    assert p.eta == pytest.approx(3 * 2 / (640 * 42.9193), rel=1e-5)
    p = sgd.noisy_sgd(4, 100, epsilon=1.0, lipschitz=4.0, **keys).params
    assert p.eta == pytest.approx(2 / 4000)
    assert p.sigma == pytest.approx(38.84614 / 1.6, rel=1e-6)


def test_a_budget_beyond_the_orders_of_the_accountant_is_refused():
    message = r"^epsilon must be above 0\.1.* got epsilon=0\.1"
    with pytest.raises(ValueError, match=message):
        sgd.noisy_sgd(3, 64, epsilon=0.1, delta=1e-30)
    said = sgd.noisy_sgd(3, 64, epsilon=0.2, delta=1e-30).guarantee
    assert said.epsilon == pytest.approx(0.2, rel=1e-4)


@pytest.mark.parametrize("n", [100, 1000, 2000])
def test_the_accountant_lies_between_two_others(n):
    """Above the central limit of random draws, below the library's bound for the same
    sampling."""
    accounting = pytest.importorskip("dp_accounting")
    noise = math.sqrt(8 * math.log(n)) / 2
    delta = 1 / n
    ours = sgd.composed(delta, n, noise, n * n)
    s = 1 / noise
    mu = math.sqrt(math.expm1(s * s))  # of n^2 draws with probability 1/n: one-sided
    assert ours > pr.gaussian_epsilon(delta, 1.0, mu)
    relation = accounting.NeighboringRelation.REPLACE_ONE
    accountant = accounting.rdp.RdpAccountant(neighboring_relation=relation)
    gaussian = accounting.GaussianDpEvent(noise)
    event = accounting.SampledWithoutReplacementDpEvent(n, 1, gaussian)
    accountant.compose(accounting.SelfComposedDpEvent(event, n * n))
    assert ours < accountant.get_epsilon(delta)


def test_a_step_profile_is_that_of_the_exact_mixture():
    """Quadrature: (1 - g) N(u) + g N(a) against (1 - g) N(u) + g N(b) at the worst a, b,
    u."""
    g = 0.1
    noise = 1.5
    z = np.linspace(-20, 20, 200_001)
    for epsilon in (0.01, 0.05, 0.1):
        bound = math.exp(float(sgd.log_profile(epsilon, g, noise)))
        worst = 0.0
        for u in (-0.5, 0.0, 0.5):
            same = (1 - g) * norm.pdf(z, u, noise)
            p = same + g * norm.pdf(z, 0.5, noise)
            q = same + g * norm.pdf(z, -0.5, noise)
            exact = np.trapezoid(
                np.maximum(p - math.exp(epsilon) * q, 0.0),
                z,
            )
            worst = max(worst, exact)
        assert worst == pytest.approx(bound, rel=1e-5)  # and it is attained


@pytest.mark.parametrize("steps", [1, 2, 5])
def test_every_step_is_counted(steps):
    """One record that is drawn for sure: the bound exceeds the exact one of so many
    Gaussians."""
    exact = pr.gaussian_epsilon(1e-3, 2.0, math.sqrt(steps))
    assert exact < sgd.composed(1e-3, 1, 2.0, steps) < 1.25 * exact
