"""LPLR: half-widths are as many standard deviations of the error as they say, by measuring both."""

import math

import numpy as np
import pytest

from companion.lplr import fit_design, lplr_params, read
from companion.lplr.environments import design
from companion.lplr.sufficient_statistics import ssp_fit, ssp_model, ssp_noise, ssp_params


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


def test_ridge_and_radius_of_the_statistics_are_z_standard_deviations_of_their_noise():
    """Noise of 50 users along one direction: of the matrix, and of vector and matrix together.

    4000 draws; 0.1 is more than eight standard errors.
    """
    p, m, rng, n = ssp_params(3, 2.0, z=3.0), ssp_model(3), np.random.default_rng(3), 50
    matrix, both = np.empty(4000), np.empty(4000)
    for i in range(4000):
        m.mat[:], m.vec[:] = 0.0, 0.0
        ssp_noise(p, m, n, rng)
        matrix[i], both[i] = m.mat[0, 0], m.vec[0] - m.mat[0, 0]
    m.mat[:], m.vec[:] = 0.0, 0.0
    ssp_fit(p, m, n)
    ridge = 1 / m.V_inv[0, 0]
    assert ridge / (3 * matrix.std()) == pytest.approx(1, abs=0.1)
    assert (m.error[0] - ridge) / (3 * both.std()) == pytest.approx(1, abs=0.1)
