"""The plain twin of LinUCB plays the arms of the policy."""

import numpy as np

from companion.baselines.linucb import linucb, radius
from companion.timing import floors, plain


def test_both_play_the_same_arms():
    X, R = floors.stream(600, 12, 4, seed=3)
    policy, arms = linucb(4, noise=0.1), np.empty(600, np.int64)
    policy.play(policy.params, policy.init(policy.params), X, R, np.random.default_rng(0), arms)
    assert (arms == plain.linucb(X, R, noise=0.1)).mean() > 0.99
    assert len(set(arms)) > 3
    assert plain.radius(9, 4, 1.0, 0.1, 1.0, 0.01) == radius(policy.params, 9)
