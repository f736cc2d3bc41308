"""The lasso bandit of Bastani and Bayati: its forced rounds, its two lassos, and that it
learns."""

import numpy as np
import pytest
from streams import first_block, run

from companion.baselines import forced_lasso as fl
from companion.streaming_sco.environments import one_context


def test_forced_rounds_are_those_of_the_source():
    p = fl.forced_lasso(2, 3, forced=2).params
    expected = np.full(91, -1)
    for k in range(4):
        for i in range(3):
            for j in range(2 * i + 1, 2 * i + 3):
                expected[(2**k - 1) * 3 * 2 + j] = i
    for t in range(1, 91):
        assert fl.forced_arm(p, t) == expected[t]


def test_both_lassos_satisfy_their_optimality_conditions():
    policy = fl.forced_lasso(6, 2, penalty_all=0.3, tolerance=1e-10)
    T = 300
    p = policy.params
    X, R = first_block(one_context(2, 6, 2), T, seed=0)
    arms, state = run(policy, X, R)
    forced = np.array([fl.forced_arm(p, t + 1) for t in range(T)])
    sparse = 0
    for k in range(2):
        last = int(np.flatnonzero(arms == k)[-1]) + 1
        level = 0.3 * np.sqrt((np.log(last) + np.log(6)) / last)
        for which, rows, penalty in ((0, forced == k, 0.05), (1, arms == k, level)):
            A = X[rows, 0]
            y = R[rows, k]
            theta = state.theta[which, k]
            assert state.count[which, k] == len(A)
            g = 2 * A.T @ (y - A @ theta) / len(A)
            active = theta != 0
            assert g[active] == pytest.approx(penalty * np.sign(theta[active]), abs=1e-7)
            assert (np.abs(g[~active]) <= penalty + 1e-7).all()
            sparse += (~active).sum()
    assert sparse > 0


def test_defaults_by_their_source():
    """q = 1, h = 5, both penalties 0.05; a round's penalty is 0.05 sqrt((log t + log
    d)/t)."""
    policy = fl.forced_lasso(2, 2)
    p = policy.params
    assert p.forced == 1
    assert p.gap == 5
    assert p.penalty_forced == p.penalty_all == 0.05
    state = policy.init(p)
    policy.update(p, state, 0, np.array([1.0, 0.0]), 3.0, None)
    # (3 - theta)^2 + penalty |theta|: theta = 3 - penalty/2, in round 1 with log t = 0
    assert state.theta[0, 0] == pytest.approx([2.975, 0.0])
    assert state.theta[1, 0] == pytest.approx([3 - 0.025 * np.sqrt(np.log(2.0)), 0.0])


def test_the_arm_is_the_one_that_its_products_choose():
    """Against one product per arm and estimate."""
    policy = fl.forced_lasso(5, 9, gap=0.3)
    K = 9
    T = 400
    p = policy.params
    rng = np.random.default_rng(3)
    X, R = first_block(one_context(K, 5, 2), T, seed=3)
    state = policy.init(p)
    arms = np.empty(1, dtype=np.int64)
    near = []
    for t in range(T):
        forced, every = state.theta @ X[t, 0]
        candidates = np.flatnonzero(forced >= forced.max() - 0.5 * p.gap)
        expected = fl.forced_arm(p, t + 1)
        if expected < 0:
            expected = candidates[np.argmax(every[candidates])]
            near.append(len(candidates))
        policy.loop(p, state, X[t : t + 1], R[t : t + 1], rng, arms)
        assert arms[0] == expected
    assert min(near) < K  # some rounds leave arms out
    assert max(near) > 1


def test_an_arm_at_exactly_half_the_gap_is_a_candidate(rng):
    """Forced estimates 1 and 0.5, gap 1: the second arm stays, and the other lasso
    prefers it."""
    policy = fl.forced_lasso(1, 2, gap=1.0)
    p = policy.params
    s = policy.init(policy.params)
    X = np.ones((2, 1))
    s.t[0] = 4
    s.theta[0, :, 0] = 1.0, 0.5
    s.theta[1, :, 0] = 0.0, 1.0
    assert fl.forced_arm(p, 5) == -1
    assert policy.select(p, s, X, rng) == 1
    s.theta[0, 1, 0] = 0.499
    assert policy.select(p, s, X, rng) == 0
