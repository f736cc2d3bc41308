"""LPLR: errors of repeated estimation runs, their rates and their half-widths."""

import math

import numpy as np
import pytest

from companion.lplr import read, theory
from companion.lplr.environments import design, family, rare, split
from companion.lplr.params import lplr_params
from companion.lplr.ssp_trials import estimate_ssp
from companion.lplr.trials import estimate_lplr, fit_design
from companion.simulate import repetitions


def test_errors_are_of_the_order_of_the_bin_tax():
    for name, d in (("log-scale", 1), ("ball", 2), ("log-scale", 2)):
        run = estimate_lplr(
            family(name, d, 10**12), lplr_params(d, 10**12), 10**12, repetitions(4, 40)
        )
        assert 0.3 < run.mad.mean() / run.tax.mean() < 1.5


def test_lower_bounds_hold_for_our_estimators():
    for n in (10**10, 10**14):
        share, floor = theory.theorem_1(n)
        worst = [0.0, 0.0]
        for t in (0.0, 1.0):
            world = rare(share, (0.0, t))
            worst[0] += (
                estimate_lplr(world, lplr_params(2, n), n, repetitions(14, 100)).mse.mean() / 2
            )
            worst[1] += estimate_ssp(world, n, repetitions(15, 100))[1].mean() / 2
        assert min(worst) > floor
    # at the last n: LPLR gives up on e2, and pays its chance under the second hypothesis only
    assert worst[0] == pytest.approx(share / 2, rel=0.01)


@pytest.mark.slow
def test_rates_on_case_two():
    """Fitted exponents over n = 1e10 .. 1e16, sizes spread over one bin, 300 repetitions."""
    grid = 10.0 ** np.arange(10, 17, 2)
    ours, theirs = [], []
    for n in grid.astype(np.int64):
        p, seeds = lplr_params(2, int(n)), repetitions(21, 300, int(n))

        def world(rng, n=n):
            return split(0.5 * n**-0.25 * math.exp(-rng.random()), (0.7, 0.7))

        ours.append(estimate_lplr(world, p, int(n), seeds).mad.mean())
        theirs.append(estimate_ssp(world, int(n), seeds)[0].mean())
    assert -0.55 <= np.polyfit(np.log(grid), np.log(ours), 1)[0] <= -0.42
    assert -0.30 <= np.polyfit(np.log(grid), np.log(theirs), 1)[0] <= -0.22


@pytest.mark.parametrize(
    ("epsilon", "theta", "share"),
    [
        (1.0, 0.99, math.sqrt(72 * (1 + 0.99**2)) / (12 + 1)),  # two noises, and 1 for the labels
        (math.inf, 0.0, 0.8),  # labels alone; the bin's edge 1 bounds |phi| = 0.8
    ],
)
def test_a_calibrated_width_is_z_standard_deviations_of_the_error(epsilon, theta, share):
    """d = 1: b_v = 6, c = 3, so noise of the coefficient has sd sqrt(2 b_v^2 + 8 c^2) = 12.

    5.5 standard errors of a standard deviation: a false alarm has chance 4e-8.
    """
    z, n, errors, widths = 2.0, 10**10, [], []
    p = lplr_params(1, 2 * n, epsilon, z=z)
    world = design([[0.8]], [theta])
    for seed in range(400):
        f, width = read(p, fit_design(world, p, 2 * n, seed), world.points)
        errors.append(f[0] - world.means[0])
        widths.append(width[0])
    ratio = np.std(errors) / (np.mean(widths) / z)
    assert abs(ratio / share - 1) < 5.5 / math.sqrt(2 * 400)
    assert np.std(widths) < 0.01 * np.mean(widths)
