"""Chances of noisy choices of a vertex, against closed forms and draws."""

import numpy as np
import pytest
from scipy import stats as sps

from companion.audits.at_vertices import vertex_chances

SCORES = np.array([0.8, -0.3])


def test_gumbel_noise_gives_the_exponential_mechanism():
    """Weights exp(-<x, v>) of e_1, e_2, -e_1, -e_2."""
    weights = np.exp([-0.8, 0.3, 0.8, -0.3])
    assert vertex_chances(SCORES, "gumbel") == pytest.approx(weights / weights.sum())


@pytest.mark.parametrize("law", ["laplace", "coordinates"])
def test_chances_are_those_of_draws(law):
    """False alarms: 1e-7."""
    rng, n = np.random.default_rng(0), 40_000
    both = np.concatenate([SCORES, -SCORES])
    if law == "laplace":
        noisy = both + rng.laplace(size=(n, 4))
    else:
        z = rng.laplace(size=(n, 2))
        noisy = both + np.hstack([z, -z])
    counts = np.bincount(noisy.argmin(axis=1), minlength=4)
    assert sps.chisquare(counts, n * vertex_chances(SCORES, law)).pvalue > 1e-7
