"""The common streams keep to what a policy was built for."""

import numpy as np

from companion.baselines.linucb import linucb
from companion.baselines.private_linucb import ldp_linucb
from companion.judge import streams


def test_a_stream_has_the_policy_s_dimension_and_horizon():
    X, R, mu = streams.stream_for(linucb(5), 100, 3)
    assert X.shape == (100, 3, 5)
    assert R.shape == mu.shape == (100, 3)
    assert np.linalg.norm(X, axis=2).max() <= 1
    short = linucb(3)
    short = short._replace(params=type("P", (), {"d": 3, "T": 40}))
    assert len(streams.stream_for(short)[0]) == 40


def test_states_are_compared_to_the_bit():
    policy = ldp_linucb(3, 400, epsilon=1.0, delta=0.01)
    X, R, _ = streams.stream_for(policy, 50)
    one, other = (streams.run(policy, X, R, seed=s)[1] for s in (1, 2))
    assert streams.same_state(one, one)
    assert not streams.same_state(one, other)
