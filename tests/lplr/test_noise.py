"""LPLR: the laws of the noise, one user's and summed."""

import math

import numpy as np
import pytest
from scipy import stats as sps

from companion.lplr import theory
from companion.lplr.bins import COUNT, SPREAD, open_layer, plant
from companion.lplr.fit import add_noise
from companion.lplr.messages import past
from companion.lplr.noise import add_matrix_noise, laplace_sum
from companion.lplr.params import lplr_params

ALARM = 1e-7  # false-alarm rate of every statistical test below


@pytest.mark.parametrize("n", [1, 1000])
@pytest.mark.parametrize("h", [0, 1])
def test_the_noise_drawn_has_the_scales_of_the_parameters(h, n):
    """Means, variances and (message by message) laws of all terms, in bins 0 and 1 of a layer."""
    p, draws, rng = lplr_params(2, 10**4, 0.5, M=2), 1500, np.random.default_rng([1, h, n])
    p = p._replace(threshold=-1e18)
    tree = past(p) if h else plant(p)
    if h == 0:
        open_layer(p, tree, 0)
    first, seen = tree.start[h], np.empty((draws, 2, 5))
    for row in seen:
        nodes = slice(first, first + 2)
        tree.stat[nodes, COUNT] = tree.stat[nodes, SPREAD] = 0.0
        tree.vec[nodes], tree.mat[nodes] = 0.0, 0.0
        add_noise(p, tree, 2 * h, n, rng)
        if h:
            add_noise(p, tree, 2 * h + 1, n, rng)
        row[:, 0], row[:, 1] = tree.stat[nodes, COUNT], tree.vec[nodes, 1]
        row[:, 2], row[:, 3] = tree.mat[nodes, 0, 0], tree.mat[nodes, 0, 1]
        row[:, 4] = tree.stat[nodes, SPREAD]
    for k, g in enumerate(p.edge[:2]):
        b = p.vector_scale[h] * g
        scales = [p.count_scale, b, None, None, p.spread_scale if h else None]
        c = (p.matrix_scale * g * g) ** 2
        variances = [2 * p.count_scale**2, 2 * b * b, 12 * c, 6 * c, 2 * p.spread_scale**2 * h]
        for j, (scale, variance) in enumerate(zip(scales, variances, strict=True)):
            z = seen[:, k, j] / math.sqrt(n)
            if variance == 0.0:
                assert (z == 0.0).all()
                continue
            assert abs(z.mean()) < 5.5 * math.sqrt(variance / draws)
            assert 0.6 < z.var() / variance < 1.6  # a halved scale gives 1/4, heavy tails included
            if scale is not None and n == 1:
                assert sps.kstest(z / scale, sps.laplace.cdf).pvalue > ALARM
            assert sps.ks_2samp(z, -z).pvalue > ALARM  # both sides alike


def generator(*key):
    """A random stream named by integers."""
    return np.random.default_rng(list(key))


def test_moments_of_summed_noise():
    rng, m = generator(4), 20_000
    for n in (10**3, 10**9, 10**18):
        z = np.array([laplace_sum(rng, n, 2.0) for _ in range(m)]) / math.sqrt(n)
        assert z.var() == pytest.approx(8.0, rel=0.08)  # 5.6 standard errors
        for one_sided, off, diagonal in (
            (False, 2 * 3 * 9.0, 4 * 3 * 9.0),
            (True, 3 * 9.0, 6 * 9.0),
        ):
            N = np.zeros((m, 2, 2))
            for i in range(m):
                add_matrix_noise(rng, n, 3.0, one_sided, 1.0, np.zeros((2, 2)), N[i])
            N /= math.sqrt(n)
            assert N[:, 0, 1].var() == pytest.approx(off, rel=0.08)
            assert N[:, 0, 0].var() == pytest.approx(diagonal, rel=0.08)
            assert np.abs(N.mean(axis=0)).max() < 6 * math.sqrt(diagonal / m)
            assert np.array_equal(N, N.transpose(0, 2, 1))


def test_symmetrised_wishart_is_laplace_in_one_dimension():
    rng, out = generator(5), np.zeros((20_000, 1, 1))
    for row in out:
        add_matrix_noise(rng, 1, 3.0, False, 1.0, np.zeros((1, 1)), row)
    assert sps.kstest(out.ravel(), sps.laplace(scale=6.0).cdf).pvalue > ALARM


@pytest.mark.parametrize("d", [1, 2, 3])
def test_impossible_messages_of_the_printed_noise_have_the_predicted_chance(d):
    p, rng = lplr_params(d, 10**4, M=1, calibration="paper"), generator(6, d)
    v, hits, trials = np.full(d, 0.8 / math.sqrt(d)), 0, 20_000
    for _ in range(trials):
        W = np.eye(d) * p.matrix_scale * (d + 1)
        add_matrix_noise(rng, 1, p.matrix_scale, True, 1.0, np.zeros((d, d)), W)
        hits += np.linalg.eigvalsh(W - np.outer(v, v))[0] < 0
    assert sps.binomtest(hits, trials, theory.support_violation(1.0, 0.8)).pvalue > ALARM


@pytest.mark.parametrize("d", [2, 3])
def test_symmetrised_wishart_density_ratio_is_bounded(d):
    """Characteristic function: the noise's law at c, checked through E exp(i tr(TN)) = det(I + 4c^2
    T^2)^(-(d+1)/2).
    """
    rng, m, c = generator(12, d), 60_000, 0.5
    T = np.diag(np.linspace(0.3, 1.0, d))
    T[0, 1] = T[1, 0] = 0.2
    N = np.zeros((m, d, d))
    for row in N:
        add_matrix_noise(rng, 1, c, False, 1.0, np.zeros((d, d)), row)
    seen = np.cos(np.einsum("ij,nji->n", T, N))
    exact = np.linalg.det(np.eye(d) + 4 * c * c * T @ T) ** (-(d + 1) / 2)
    assert abs(seen.mean() - exact) < 5.5 * seen.std() / math.sqrt(m)
