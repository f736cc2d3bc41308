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


@pytest.mark.parametrize("make", POLICIES.values(), ids=POLICIES)
def test_the_first_of_identical_rows_is_played(make):
    """Before any reward, while the policy learns, and by `select` in the state it has reached."""
    for d in (2, 3, 8):
        policy, rng = make(d), np.random.default_rng(d)
        p = policy.params
        for K in (2, 9):
            x = rng.standard_normal((N, 1, d))
            x /= 1.01 * np.linalg.norm(x, axis=2, keepdims=True)
            X, R, arms = np.repeat(x, K, axis=1), rng.random((N, K)), np.full(N, -1)
            state = policy.init(p)
            policy.play(p, state, X, R, rng, arms)
            assert not arms.any(), (K, d)
            for row in rng.uniform(-0.4, 0.4, (50, 1, d)):
                assert policy.select(p, state, np.repeat(row, K, axis=0), rng) == 0, (K, d)
