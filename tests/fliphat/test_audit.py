"""An attack on the actions of other users convicts the printed noise, not the corrected one.

The bound is at level 1 - 1e-7, so each accusation is wrong with at most that chance.
"""

import numpy as np
import pytest

from companion import audit
from companion.fliphat.policy import fliphat
from companion.fliphat.residual import residual_fliphat

D, ROWS, X_MAX = 20, 64, 3.46
ROUNDS = 2 * ROWS - 1 + 2 * D


def neighbours(reward):
    """User 2n - 1 has the reward +R or -R; later users ask for the sign of theta_j."""
    for sign in (1.0, -1.0):
        X, R = np.zeros((ROUNDS, 2, D)), np.zeros((ROUNDS, 2))
        X[2 * ROWS - 2], R[2 * ROWS - 2] = X_MAX, sign * reward
        for j in range(D):
            X[2 * ROWS - 1 + 2 * j, 0, j] = 1.0
            X[2 * ROWS + 2 * j, 1, j] = 1.0
        yield X, R


def signs(actions):
    questions = actions[:, -2 * D :]
    return (questions[:, 1::2] == 1).sum(axis=1) - (questions[:, 0::2] == 1).sum(axis=1)


def lost(policy, trials=6000):
    a, b = neighbours(1e3)
    keys = {"delta": 0.01, "trials": trials, "seed": 3, "level": 1 - 1e-7, "statistic": signs}
    return audit.epsilon_lower_bound(audit.playing(policy, user=2 * ROWS - 2), a, b, **keys).epsilon


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [1.0, 2.0])
def test_the_printed_noise_loses_more_than_it_claims(epsilon):
    keys = {"sparsity": 10, "epsilon": epsilon, "b_max": 3.44, "x_max": X_MAX}
    paper = fliphat(D, ROUNDS, calibration="paper", clip_contexts=True, **keys)
    assert epsilon < lost(paper, 20_000) < paper.guarantee.epsilon
    assert lost(fliphat(D, ROUNDS, **keys)) < epsilon


@pytest.mark.slow
@pytest.mark.parametrize("warm", [True, False])
def test_the_residual_variants_keep_their_promise(warm):
    policy = residual_fliphat(D, ROUNDS, sparsity=10, epsilon=1.0, iterations=2, warm=warm)
    assert lost(policy) < 1.0
