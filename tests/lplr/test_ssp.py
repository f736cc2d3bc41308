"""LPLR's rival: calibration, estimate and half-widths of sufficient statistics."""

import math

import numpy as np
import pytest

from companion.lplr import ssp


def test_scales_and_promise_of_sufficient_statistics():
    """4 sqrt(d)/epsilon and 2/epsilon at d = 4, epsilon = 2; each is half of the
    budget."""
    oracle = ssp.ssp_params(4, 2.0)
    assert oracle.vector_scale == 4.0
    assert oracle.matrix_scale == 1.0
    assert ssp.ssp_guarantee(oracle).epsilon == pytest.approx(2.0)
    wider = oracle._replace(matrix_scale=2.0)
    assert ssp.ssp_guarantee(wider).epsilon == pytest.approx(1.5)


@pytest.mark.parametrize(
    ("epsilon", "name", "model", "z"),
    [(3.0, "SSP", "local", 3.0), (math.inf, "Least squares", "none", 4.0)],
)
def test_without_noise_it_is_least_squares(epsilon, name, model, z):
    policy = ssp.suffstats(2, 64, 3, epsilon=epsilon)
    assert policy.name == name
    assert policy.guarantee.model == model
    assert policy.params.oracle.z == z


def test_half_widths_of_sufficient_statistics_by_hand():
    """A diagonal matrix: ridge, radius and both terms of the width from the scales."""
    oracle = ssp.ssp_params(2, 0.5, z=2.0)
    n = 10**8
    b = 4 * math.sqrt(2) / 0.5
    c = 2 / 0.5
    root = math.sqrt(n)
    model = ssp.allocate_model(2)
    model.mat[0, 0] = 0.5 * n
    model.mat[1, 1] = 0.1 * n
    model.vec[:] = 0.3 * n, 0.05 * n
    ssp.ssp_fit(oracle, model, n)
    ridge = 2.0 * 2 * math.sqrt(3) * c * root
    radius = ridge + 2.0 * root * math.sqrt(2 * b * b + 12 * c * c)
    V = np.array([0.5 * n + ridge, 0.1 * n + ridge])
    phi = np.array([0.6, 0.7])
    f, width = ssp.ssp_interval(oracle, model, phi)
    assert f == pytest.approx((phi * model.vec / V).sum())
    far = np.linalg.norm(phi / V)
    near = math.sqrt((phi * phi / V).sum())
    assert width == pytest.approx(far * radius + 2.0 * near)
    model.error[0] *= 1e9  # wider than the vector: nothing is known
    assert ssp.ssp_interval(oracle, model, phi) == pytest.approx((0.0, math.sqrt(0.85)))
