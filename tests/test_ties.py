"""Of identical arms, the LinUCB family plays the first."""

import numpy as np
import pytest

from companion.baselines.linucb import linucb
from companion.baselines.private_linucb import jdp_linucb, ldp_linucb, sdp_linucb
from companion.online_linucb import (
    anytime_linucb,
    corrected_ridge,
    online_linucb,
    published_code,
)

N = 200  # rounds
BUDGET = {"epsilon": 5.0, "delta": 0.1}
POLICIES = {
    "linucb": linucb,
    "ldp_linucb": lambda d: ldp_linucb(d, N, **BUDGET),
    "jdp_linucb": lambda d: jdp_linucb(d, N, **BUDGET),
    "sdp_linucb": lambda d: sdp_linucb(d, N, **BUDGET),
    "corrected_ridge": lambda d: corrected_ridge(d, N, **BUDGET),
    "online_linucb": lambda d: online_linucb(d, N, **BUDGET),
    "anytime_linucb": lambda d: anytime_linucb(d, **BUDGET),
    "published LinUCB": lambda d: published_code.baseline("LinUCB", d, N, **BUDGET),
}


def test_two_identical_arms_before_any_reward():
    assert linucb(2).start(0).select([[0.3, -0.5], [0.3, -0.5]]) == 0


@pytest.mark.parametrize("stays", [False, True], ids=["new rows", "the same rows"])
@pytest.mark.parametrize("make", POLICIES.values(), ids=POLICIES)
def test_the_first_of_identical_rows_is_played(make, stays):
    """While the policy learns, and by `select` in the state that it has reached."""
    for d in (2, 3, 5, 8):
        policy, rng = make(d), np.random.default_rng(d)
        p = policy.params
        for K in (2, 5, 9):
            x = rng.standard_normal((1 if stays else N, 1, d))
            x /= 1.01 * np.linalg.norm(x, axis=2, keepdims=True)
            X = np.ascontiguousarray(np.broadcast_to(x, (N, K, d)))
            R, arms = rng.random((N, K)), np.full(N, -1)
            state = policy.init(p)
            state = policy.play(p, state, X, R, rng, arms) or state
            assert not arms.any(), (K, d)
            for row in rng.uniform(-0.4, 0.4, (50, 1, d)):
                assert policy.select(p, state, np.repeat(row, K, axis=0), rng) == 0, (K, d)
