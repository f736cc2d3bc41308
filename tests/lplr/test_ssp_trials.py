"""LPLR: errors of perturbed sufficient statistics, by hand and in pairs."""

import math

import numpy as np
import pytest

from companion.lplr.crowd import Law
from companion.lplr.environments import design
from companion.lplr.ssp_trials import both, estimate_ssp, theta_error
from companion.lplr.sufficient_statistics import ssp_model
from companion.simulate import repetitions


def test_errors_of_an_estimate_by_hand():
    """theta = (1/2, 0) misses 0.7 by 0.2 and 0.1 by 0.1, with chances 1/4 and 3/4."""
    model = ssp_model(2)
    model.mat[:], model.vec[:] = 2 * np.eye(2), [1.0, 0.0]
    owner, prob = np.zeros(2, dtype=np.int64), np.array([0.25, 0.75])
    law = Law(np.eye(2), np.array([0.7, 0.1]), prob, owner, True)
    assert theta_error(model, law) == pytest.approx((0.125, 0.0175))


def test_without_noise_the_estimate_is_the_truth():
    world = design([[0.9, 0.1], [0.1, -0.8]], [0.3, 0.5])
    found = estimate_ssp(world, 10**6, [0, 1], epsilon=math.inf, signs=False)
    assert found.shape == (2, 2)
    assert (found < 1e-3).all()  # a user in a thousand chooses the other point


def test_rivals_run_in_the_same_repetitions():
    world, seeds = design([[0.9], [0.1]], [0.5]), repetitions(0, 3)
    ours, theirs = both(world, 1, 10**4, seeds, 5.0)
    assert np.array_equal(theirs, estimate_ssp(world, 10**4, seeds, epsilon=5.0))
    assert ours.mad.shape == (3,)
