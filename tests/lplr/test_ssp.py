"""LPLR's rival: sensitivity, noise, estimate, half-widths and attack of sufficient statistics."""

import math
from itertools import product

import numpy as np
import pytest
from scipy import stats as sps

from companion.lplr.ssp import (
    allocate_model,
    ball_least_squares,
    message_loss,
    ssp_estimate,
    ssp_fit,
    ssp_guarantee,
    ssp_interval,
    ssp_noise,
    ssp_params,
    ssp_receive,
    suffstats,
)

ALARM = 1e-7  # false-alarm rate of every statistical test below


def test_one_message_of_sufficient_statistics_moves_by_epsilon_and_has_its_noise():
    epsilon = 0.7
    p, rng = ssp_params(2, epsilon), np.random.default_rng(3)
    silent = p._replace(vector_scale=0.0, matrix_scale=0.0)
    vectors, matrices, root = [], [], math.sqrt(0.5)
    for a, b, y in product((-root, root), (-root, root), (-1.0, 1.0)):
        model = allocate_model(2)
        ssp_receive(silent, model, 0, 9, np.array([a, b]), y, rng)
        vectors.append(model.vec.copy())
        matrices.append(model.mat.copy())
    # each half is attained, though not by one pair of users: the promise is their sum
    half = max(np.abs(v - w).sum() for v, w in product(vectors, repeat=2)) / p.vector_scale
    assert half == pytest.approx(epsilon / 2)
    nuclear = [np.abs(np.linalg.eigvalsh(A - B)).sum() for A, B in product(matrices, repeat=2)]
    assert max(nuclear) / (2 * p.matrix_scale) == pytest.approx(epsilon / 2)
    assert ssp_guarantee(p).epsilon == pytest.approx(epsilon)
    draws = np.empty((2000, 3))
    for row in draws:
        model = allocate_model(2)
        ssp_noise(p, model, 1, rng)
        row[:] = model.vec[0], model.mat[0, 0], model.mat[0, 1]
    assert sps.kstest(draws[:, 0] / p.vector_scale, sps.laplace.cdf).pvalue > ALARM
    for z, variance in zip(draws.T[1:], (12, 6), strict=True):
        assert 0.6 < z.var() / (variance * p.matrix_scale**2) < 1.6
        assert sps.ks_2samp(z, -z).pvalue > ALARM


def test_half_widths_of_sufficient_statistics_by_hand():
    """A diagonal matrix: ridge, radius and both terms of the width from the scales."""
    p, n = ssp_params(2, 0.5, z=2.0), 10**8
    b, c, root = 4 * math.sqrt(2) / 0.5, 2 / 0.5, math.sqrt(10**8)
    model = allocate_model(2)
    model.mat[0, 0], model.mat[1, 1], model.vec[:] = 0.5 * n, 0.1 * n, (0.3 * n, 0.05 * n)
    ssp_fit(p, model, n)
    ridge = 2.0 * 2 * math.sqrt(3) * c * root
    radius = ridge + 2.0 * root * math.sqrt(2 * b * b + 12 * c * c)
    V, phi = np.array([0.5 * n + ridge, 0.1 * n + ridge]), np.array([0.6, 0.7])
    f, width = ssp_interval(p, model, phi)
    assert f == pytest.approx((phi * model.vec / V).sum())
    far, near = np.linalg.norm(phi / V), math.sqrt((phi * phi / V).sum())
    assert width == pytest.approx(far * radius + 2.0 * near)


def test_sufficient_statistics_use_the_whole_ball_when_the_matrix_is_negative():
    model = allocate_model(1)
    model.mat[0, 0], model.vec[0] = -3.0, -1e-3
    ssp_estimate(model)
    assert model.theta[0] == pytest.approx(-1.0, abs=1e-9)
    model.mat[0, 0], model.vec[0] = 4e9, 1e9
    ssp_estimate(model)
    assert model.theta[0] == pytest.approx(0.25, abs=1e-12)


def test_scales_of_sufficient_statistics():
    """4 sqrt(d)/epsilon and 2/epsilon at d = 4, epsilon = 2; each is half of the budget."""
    p = ssp_params(4, 2.0)
    assert (p.vector_scale, p.matrix_scale, p.z) == (4.0, 1.0, 3.0)
    assert ssp_guarantee(p).epsilon == pytest.approx(2.0)
    assert ssp_guarantee(p._replace(matrix_scale=2.0)).epsilon == pytest.approx(1.5)
    assert ssp_params(4, math.inf).z == 4.0
    made = [suffstats(2, 64, 3, epsilon=e) for e in (3.0, math.inf)]
    assert [q.name for q in made] == ["SSP", "Least squares"]
    assert [q.guarantee.model for q in made] == ["local", "none"]


def test_the_loss_of_a_message_without_noise_by_hand():
    """The vector e_1 lies 2 away from e_2, and e_1 e_1' - e_2 e_2' has the nuclear norm 2."""
    p, (a, b) = ssp_params(2, 3.0), np.eye(2)
    sent = np.array([[a, *np.outer(a, a)], [b, *np.outer(b, b)]])
    loss = 2 / p.vector_scale + 2 / (2 * p.matrix_scale)
    assert message_loss(p, a, b, sent) == pytest.approx([loss, -loss])


def test_the_attacked_message_is_the_record_and_noise_of_mean_zero():
    """5.5 standard errors; the record (3 e_1, 1) is clipped to (e_1, 1)."""
    policy, n = suffstats(2, 64, 3, epsilon=1000.0), 4000
    (one,) = policy.audit.attacks(policy)
    out = one.mechanism((np.array([3.0, 0.0]), 1.0), np.random.default_rng(0), n)
    assert out.shape == (n, 3, 2)
    expected = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 0.0]])
    errors = out.std(axis=0) / math.sqrt(n)
    assert (errors > 0).all()
    assert (np.abs(out.mean(axis=0) - expected) < 5.5 * errors).all()


def test_least_squares_in_the_ball_fulfil_the_conditions_of_optimality():
    """Inside the ball the gradient is 0, on its edge it points inwards."""
    rng, norms = np.random.default_rng(0), []
    for m in (1, 2, 3, 5):
        A, b, out = rng.standard_normal((m, m)), rng.standard_normal(m) * 3, np.empty(m)
        for S in (A @ A.T + c * np.eye(m) for c in (0.0, 0.5, 20.0)):
            ball_least_squares(S.copy(), b, np.empty((m, m)), np.empty(m), out)
            gradient = S @ out - b
            norms.append(np.linalg.norm(out))
            multiplier = -(gradient @ out) / (out @ out)
            assert multiplier >= -1e-9
            assert abs(multiplier) < 1e-9 or norms[-1] == pytest.approx(1)
            np.testing.assert_allclose(gradient, -multiplier * out, atol=1e-7)
    assert min(norms) < 0.9 < 1 - 1e-9 < max(norms) < 1 + 1e-9
