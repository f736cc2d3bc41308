"""LPLR: elimination with perturbed sufficient statistics: its promise and its attack."""

import math

import numpy as np
import pytest

from companion.lplr.ssp import attack, message_loss, suffstats
from companion.lplr.sufficient_statistics import ssp_params


def test_it_says_what_it_is():
    assert (suffstats(2, 64, 3, epsilon=3.0).name, suffstats(2, 64, 3, epsilon=math.inf).name) == (
        "SSP",
        "Least squares",
    )
    assert suffstats(2, 64, 3, epsilon=3.0).guarantee.epsilon == pytest.approx(3.0)
    assert suffstats(2, 64, 3, epsilon=math.inf).guarantee.model == "none"


def test_the_loss_of_a_message_without_noise_by_hand():
    """The vector e_1 lies 2 away from e_2, and e_1 e_1' - e_2 e_2' has the nuclear norm 2."""
    p, (a, b) = ssp_params(2, 3.0), np.eye(2)
    sent = np.array([[a, *np.outer(a, a)], [b, *np.outer(b, b)]])
    loss = 2 / p.vector_scale + 2 / (2 * p.matrix_scale)
    assert message_loss(p, a, b, sent) == pytest.approx([loss, -loss])


def test_the_attacked_message_is_the_record_and_noise_of_mean_zero():
    """5.5 standard errors; the record (3 e_1, 1) is clipped to (e_1, 1)."""
    policy, n = suffstats(2, 64, 3, epsilon=1000.0), 4000
    (one,) = attack(policy)
    out = one.mechanism((np.array([3.0, 0.0]), 1.0), np.random.default_rng(0), n)
    assert out.shape == (n, 3, 2)
    expected = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 0.0]])
    errors = out.std(axis=0) / math.sqrt(n)
    assert (errors > 0).all()
    assert (np.abs(out.mean(axis=0) - expected) < 5.5 * errors).all()
