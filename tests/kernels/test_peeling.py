"""Peeling: picks and values have the law that the definition gives."""

import numpy as np
import pytest
from scipy import stats as sps

from companion.kernels.mechanisms import peel

V = np.array([2.0, -1.9, 1.5, 0.2, -0.1])


def many(v, size, xi, n, seed):
    rng, taken = np.random.default_rng(seed), np.zeros(len(v), np.bool_)
    out, picks = np.empty((n, len(v))), np.empty((n, size), np.int64)
    for i in range(n):
        peel(rng, v, size, xi, out[i], picks[i], taken)
    return picks, np.take_along_axis(out, picks, axis=1)


def test_a_pick_is_the_noisily_largest_entry_and_is_never_picked_again():
    """Chances of the first pick by quadrature over its noise; chi-square at 1e-6."""
    picks, _ = many(V, 3, 0.7, 20_000, 1)
    assert (np.sort(picks, axis=1)[:, 1:] > np.sort(picks, axis=1)[:, :-1]).all()
    z = np.linspace(-30, 30, 60_001)
    laws = [sps.laplace(abs(v), 0.7) for v in V]
    chances = [
        (laws[j].pdf(z) * np.prod([laws[i].cdf(z) for i in range(5) if i != j], axis=0)).sum()
        * (z[1] - z[0])
        for j in range(5)
    ]
    counts = np.bincount(picks[:, 0], minlength=5)
    assert sps.chisquare(counts, np.array(chances) / sum(chances) * 20_000).pvalue > 1e-6


def test_every_released_value_has_laplace_noise_of_its_own():
    picks, values = many(V, 3, 0.5, 20_000, 2)
    noise = values - V[picks]
    assert sps.kstest(noise.ravel(), sps.laplace(scale=0.5).cdf).pvalue > 1e-6
    for i, j in ((0, 1), (0, 2), (1, 2)):
        assert abs(np.corrcoef(noise[:, i], noise[:, j])[0, 1]) < 5.5 / np.sqrt(20_000)


@pytest.mark.parametrize("xi", [0.0, 1e-12])
def test_without_noise_it_is_the_largest_entries(xi):
    picks, values = many(V, 2, xi, 1, 0)
    assert picks.tolist() == [[0, 1]]
    np.testing.assert_allclose(values, [[2.0, -1.9]], atol=1e-9)
