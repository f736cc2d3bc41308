"""The accountant of random draws against quadrature and two other accountants."""

import math

import numpy as np
import pytest

from companion.accounting import privacy as pr
from companion.baselines import sampled_steps


@pytest.mark.parametrize("n", [100, 1000, 2000])
def test_the_accountant_lies_between_two_others(n):
    """Above the central limit of random draws, below the library's bound for the same sampling."""
    accounting = pytest.importorskip("dp_accounting")
    rdp = pytest.importorskip("dp_accounting.rdp")
    noise, delta = math.sqrt(8 * math.log(n)) / 2, 1 / n
    ours = sampled_steps.composed(delta, n, noise, n * n)
    s = 1 / noise
    mu = math.sqrt(math.expm1(s * s))  # of n^2 draws with probability 1/n: one-sided
    assert ours > pr.gaussian_epsilon(delta, 1.0, mu)
    accountant = rdp.RdpAccountant(neighboring_relation=accounting.NeighboringRelation.REPLACE_ONE)
    event = accounting.SampledWithoutReplacementDpEvent(n, 1, accounting.GaussianDpEvent(noise))
    accountant.compose(accounting.SelfComposedDpEvent(event, n * n))
    assert ours < accountant.get_epsilon(delta)


def test_a_step_profile_is_that_of_the_exact_mixture():
    """Quadrature: (1 - g) N(u) + g N(a) against (1 - g) N(u) + g N(b) at the worst a, b, u."""
    g, noise, z = 0.1, 1.5, np.linspace(-20, 20, 200_001)

    def normal(m):
        return np.exp(-((z - m) ** 2) / (2 * noise**2)) / (noise * math.sqrt(2 * math.pi))

    for epsilon in (0.01, 0.05, 0.1):
        bound, worst = math.exp(float(sampled_steps.log_profile(epsilon, g, noise))), 0.0
        for u in (-0.5, 0.0, 0.5):
            p, q = ((1 - g) * normal(u) + g * normal(m) for m in (0.5, -0.5))
            exact = np.trapezoid(np.maximum(p - math.exp(epsilon) * q, 0.0), z)
            worst = max(worst, exact)
        assert worst == pytest.approx(bound, rel=1e-5)  # and it is attained


@pytest.mark.parametrize("steps", [1, 2, 5])
def test_every_step_is_counted(steps):
    """One record that is drawn for sure: the bound exceeds the exact one of so many Gaussians."""
    exact = pr.gaussian_epsilon(1e-3, 2.0, math.sqrt(steps))
    assert exact < sampled_steps.composed(1e-3, 1, 2.0, steps) < 1.25 * exact
