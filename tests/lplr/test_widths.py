"""LPLR: half-widths are as many standard deviations of the error as they say.

Standard deviations are measured over N draws; a relative error of 5.5/sqrt(2N) has chance 4e-8.
"""

import math

import numpy as np
import pytest

from companion.lplr.bins import FLAT, SLOPE, VALUE, interval
from companion.lplr.environments import design
from companion.lplr.fit import close, send
from companion.lplr.messages import past
from companion.lplr.params import lplr_params
from companion.lplr.sufficient_statistics import ssp_fit, ssp_model, ssp_noise, ssp_params
from companion.lplr.trials import fit_design, generator, read

DRAWS = 400


@pytest.mark.parametrize(
    ("epsilon", "theta", "share"),
    [
        (1.0, 0.99, math.sqrt(72 * (1 + 0.99**2)) / (12 + 1)),  # two noises, and 1 for the labels
        (math.inf, 0.0, 0.8),  # labels alone; the bin's edge 1 bounds |phi| = 0.8
    ],
)
def test_a_calibrated_width_is_z_standard_deviations_of_the_error(epsilon, theta, share):
    """d = 1: b_v = 6, c = 3, so noise of the coefficient has sd sqrt(2 b_v^2 + 8 c^2) = 12."""
    z, n, errors, widths = 2.0, 10**10, [], []
    p = lplr_params(1, 2 * n, epsilon, z=z)
    world = design([[0.8]], [theta])
    for seed in range(DRAWS):
        f, width = read(p, fit_design(world, p, 2 * n, generator(1, seed)), world.points)
        errors.append(f[0] - world.means[0])
        widths.append(width[0])
    ratio = np.std(errors) / (np.mean(widths) / z)
    assert abs(ratio / share - 1) < 5.5 / math.sqrt(2 * DRAWS)
    assert np.std(widths) < 0.01 * np.mean(widths)


def test_errors_of_the_layer_above_enter_the_width_below():
    """Without noise and with z = 0: half-width 0.3 above is measured, and counted once more."""
    p = lplr_params(2, 10**4, math.inf, gamma=8.0, M=2, z=0.0, threshold=0.0)
    tree, rng, n = past(p, 0.0, 0.3), generator(2), 10
    phi, low = np.array([0.9, p.edge[1]]), tree.start[1]
    for part in (0, 1):
        for _ in range(n):
            send(p, tree, 1, part, phi, 0.5, rng, np.empty(2))
        close(p, tree, 1, part, n)
    assert tree.stat[low + 1, FLAT] == 0.0
    assert tree.stat[low + 1, VALUE] == pytest.approx(p.edge[1] ** 2)
    assert tree.stat[low + 1, SLOPE] * p.edge[1] == pytest.approx(0.3)
    assert interval(p, tree, phi, np.empty(2))[1] == pytest.approx(0.6)


def test_printed_widths_have_the_lemmas_constants():
    """Lemma 2: 43 L gamma^2 (d+1)^3; Lemma 3: 300 L gamma^2 (d+1)^4 and 118 L gamma d^1.5."""
    p = lplr_params(2, 10**6, 0.5, gamma=2.0, constants="theory", failure=0.1)
    L = math.log(48 * 2 * math.log(10**6) / (math.log(2.0) * 0.1)) / 0.5
    found = p.threshold, p.flat, p.tilt
    assert found == pytest.approx((43 * L * 4 * 27, 300 * L * 4 * 81, 118 * L * 2 * 2**1.5))
    half = lplr_params(2, 10**6, 0.5, gamma=2.0, constants="scaled", rho=0.5, failure=0.1)
    assert (half.threshold, half.flat, half.tilt) == pytest.approx([v / 2 for v in found])


def test_ridge_and_radius_of_the_statistics_are_z_standard_deviations_of_their_noise():
    """Noise of 50 users, along one direction: of the matrix, and of vector and matrix together."""
    p, m, rng, n, N = ssp_params(3, 2.0, z=3.0), ssp_model(3), generator(3), 50, 4000
    matrix, both = np.empty(N), np.empty(N)
    for i in range(N):
        m.mat[:], m.vec[:] = 0.0, 0.0
        ssp_noise(p, m, n, rng)
        matrix[i], both[i] = m.mat[0, 0], m.vec[0] - m.mat[0, 0]
    m.mat[:], m.vec[:] = 0.0, 0.0
    ssp_fit(p, m, n)
    ridge = 1 / m.V_inv[0, 0]
    assert ridge / (3 * matrix.std()) == pytest.approx(1, abs=0.1)
    assert (m.radius[0] - ridge) / (3 * both.std()) == pytest.approx(1, abs=0.1)
