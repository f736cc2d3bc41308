"""LPLR: moments of perturbed inputs are those of the inputs."""

import math

import numpy as np
import pytest

from companion.lplr.environments import design
from companion.lplr.input_trials import estimate_inputs, perturbed_inputs
from companion.lplr.sufficient_statistics import ssp_model


def moments(epsilon, n):
    """(mat, vec) per user, all at (0.6, 0.5) with the mean 0.74."""
    model = ssp_model(2)
    point, theta = np.array([[0.6, 0.5]]), np.array([0.9, 0.4])
    perturbed_inputs(point, theta, epsilon, n, np.random.default_rng(0), model)
    return model.mat / n, model.vec / n


def test_almost_without_noise_they_are_the_moments_by_hand():
    mat, vec = moments(1e9, 10)
    np.testing.assert_allclose(mat, [[0.36, 0.3], [0.3, 0.25]], atol=1e-6)
    np.testing.assert_allclose(vec, [0.444, 0.37], atol=1e-6)


def test_what_the_noise_adds_is_taken_away():
    """A diagonal entry of one user varies by 20 and 4 * 2 phi^2 < 3: 6 standard errors."""
    n = 10**5
    mat, _ = moments(1.0, n)
    assert np.abs(np.diag(mat) - [0.36, 0.25]).max() < 6 * math.sqrt(23 / n)


def test_unequal_chances_are_refused():
    with pytest.raises(ValueError, match="design"):
        estimate_inputs(design([[1.0], [0.5]], [0.5], [0.3, 0.7]), 100, [0])
