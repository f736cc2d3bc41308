"""LPLR: the LDP-LinUCB of its experiments, by hand."""

import math

import numpy as np
import pytest
from scipy import stats as sps

from companion.lplr.bandits import game_of
from companion.lplr.environments import hard_bandit
from companion.lplr.ldp_linucb_batches import hear, no_sums, radius_and_shift


def test_radius_and_shift_of_ldp_linucb():
    """sigma = 1/2, d = 4, t = 16, T = 50, failure 0.1: shift 2 (8 + 2 ln 1000) = 43.63102."""
    radius, shift = radius_and_shift(4, 16, 50, 0.5, 1.0, 0.1)
    assert shift == pytest.approx(43.63102, rel=1e-6)
    own = math.sqrt(4 * math.log(50))
    assert own == pytest.approx(3.955767, rel=1e-6)
    rest = (math.sqrt(130.89306) + 0.5 * math.sqrt(64 / 43.63102)) * 4 * math.log(50)
    assert radius == pytest.approx(own + rest, rel=1e-6)
    assert radius_and_shift(4, 16, 50, 0.5, 0.5, 0.1)[1] == pytest.approx(43.63102 / 2, rel=1e-6)


def test_a_batch_has_the_noise_of_all_its_users():
    """Variance n sigma^2 of a sum of n messages; false alarms 1e-7 (chi-square)."""
    game, _ = game_of(hard_bandit(2, 0.3))
    sums, rng = no_sums(2), np.random.default_rng(3)
    drawn = []
    for _ in range(200):
        sums.V[:], sums.u[:] = 0.0, 0.0
        hear(game, np.zeros(len(game.gap), np.int64), 25, 0.5, rng, sums)
        drawn += [*sums.u, sums.V[0, 0], sums.V[1, 0], sums.V[1, 1]]
    tail = sps.chi2(len(drawn)).cdf(np.square(drawn).sum() / (25 * 0.5**2))
    assert 1e-7 < tail < 1 - 1e-7
