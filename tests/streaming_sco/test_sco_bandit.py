"""Algorithm 3: its clocks, its synthetic updates, its privacy pair, and that it
learns."""

import numpy as np
import pytest
from plain import plain
from streams import rounds, run

from companion.accounting.privacy import NO_PRIVACY
from companion.streaming_sco import streaming
from companion.streaming_sco.environments import one_context
from companion.streaming_sco.sco_bandit import (
    LEARNERS,
    sco_bandit,
)
from companion.streaming_sco.streaming import (
    streaming_fw,
    vertex_fw,
)

every_learner = pytest.mark.parametrize("learner", LEARNERS)


@pytest.mark.parametrize("epsilon", [8.0, np.inf])
def test_the_plain_version_of_the_chapter_is_the_kernel(
    epsilon,
):
    """The filter matters, and without noise the best arm is found."""
    X, R, mu = rounds(one_context(3, 4, 2), 1_000, 2)
    policy = sco_bandit(
        4, 3, 1_000, epsilon=epsilon, t0=30, gap=0.5, label_bound=5.0, clip=3.0
    )
    arms, _ = run(policy, X, R, seed=0)
    cell = plain("sco_bandit")
    sigma = cell["noise_scale"](1_000, epsilon, 1e-3, 3.0)
    assert sigma == pytest.approx(policy.params.learner.sigma, rel=1e-9)

    for gap, same in ((0.5, True), (9.0, False)):
        rng = np.random.default_rng(0)
        slow = cell["algorithm_3"](X[:, 0], R, 30, gap, 1.0, 3.0, sigma, rng)
        assert (slow == arms).all() == same
    if epsilon == np.inf:
        assert (arms == mu.argmax(axis=1))[500:].mean() > 0.8


def test_the_plain_version_plays_the_four_rounds_by_hand(rng):
    X = np.array([[1, 0], [0, 1], [1, 0.4], [0.2, 1]])
    arms = plain("sco_bandit")["algorithm_3"](X, 0.9 * X, 1, 2.0, 1.0, 9.0, 0.0, rng)
    assert arms.tolist() == [0, 1, 0, 1]


@every_learner
def test_a_synthetic_step_leaves_the_sum_and_moves_the_parameter(
    learner,
    rng,
):
    policy = sco_bandit(4, 2, 50, epsilon=2.0, t0=0, learner=learner)
    p = policy.params
    state = policy.init(p)
    for _ in range(20):
        policy.update(p, state, 0, np.full(4, 0.5), 0.7, rng)
        assert (state.arms.total[1] == 0.0).all()
    assert (state.arms.total[0] != 0.0).any()
    assert (state.arms.theta[1] != 0.0).any()


def test_every_arm_is_the_optimiser_of_its_own_records(rng):
    """Arm 1's learner equals Algorithm 1 fed with its records, zeros where others were
    played."""
    T = 60
    d = 3
    policy = sco_bandit(d, 2, T, epsilon=np.inf, t0=5)
    X = np.repeat(rng.uniform(-1, 1, (T, 1, d)), 2, axis=1)
    R = rng.uniform(-1, 1, (T, 2))
    arms, state = run(policy, X, R)
    learner = streaming.init(policy.params.learner, None)
    for t in range(5, T):
        hers = t < 10 or arms[t] == 1
        x = X[t, 0] if hers else np.zeros(d)
        r = R[t, 1] if hers else 0.0
        streaming.step(policy.params.learner, learner, x, r, rng)
    assert (learner.theta == state.arms.theta[1]).all()
    assert 0 < (arms[10:] == 1).sum() < T - 10


def test_two_arms_move_by_half_each():
    """A user whose data differ moves one learner by 2 C, or two by C each, and no
    other."""
    rng = np.random.default_rng(3)
    C = 0.8
    worst = {True: 0.0, False: 0.0}
    policy = sco_bandit(
        3,
        3,
        80,
        epsilon=1.0,
        t0=0,
        clip=C,
        learner="gumbel",
    )
    p = policy.params
    for start in range(400):
        sums = []
        arms = rng.integers(0, 3, 2)
        for arm in arms:
            state = policy.init(p)
            noise = np.random.default_rng(start)
            for t in range(3):
                policy.update(p, state, t, np.full(3, 0.4), 0.5, noise)
            x = rng.choice([-1.0, 1.0], 3)
            policy.update(
                p,
                state,
                arm,
                x,
                rng.choice([-1.0, 1.0]),
                noise,
            )
            sums.append(state.arms.total)
        moved = np.abs(sums[0] - sums[1]).max(axis=1)
        same = arms[0] == arms[1]
        most = 2 * C if same else C
        assert (moved <= most * (1 + 1e-12) * np.isin(range(3), arms)).all()
        worst[same] = max(worst[same], max(moved))
    assert worst[True] > 1.95 * C
    assert worst[False] > 0.95 * C


@pytest.mark.parametrize(
    ("x", "third", "arm"),
    [
        (
            1.0,
            0.31,
            2,
        ),  # the second lies too far below the first
        (0.5, 0.31, 1),
        (-1.0, 0.31, 2),
        (1.0, 0.3, 0),  # exactly half of the gap is too far
        (1.0, 0.301, 2),
    ],
)
def test_the_filter_keeps_arms_within_half_the_gap_of_the_best_forced_estimate(
    x, third, arm
):
    policy = sco_bandit(1, 3, 50, epsilon=np.inf, t0=1, gap=0.4)
    state = policy.init(policy.params)
    state.t[0] = 3
    state.forced[:, 0] = 0.5, 0.29, third
    state.arms.theta[:, 0] = 0.1, 0.9, 0.2
    assert policy.select(policy.params, state, np.full((3, 1), x), None) == arm


def test_the_guarantee_is_that_of_one_learner():
    budget = {"epsilon": 1.0, "delta": 1e-2, "radius": 0.5}
    tree = streaming_fw(3, 100, p=1.0, clip=2 * (0.5 + 1.0), **budget)
    policy = sco_bandit(3, 4, 100, t0=0, **budget)
    assert policy.params.learner == tree.params
    assert policy.guarantee.model == "joint"
    assert policy.guarantee.epsilon == tree.guarantee.epsilon
    policy = sco_bandit(3, 4, 100, t0=0, learner="gumbel", **budget)
    assert policy.params.learner == vertex_fw(3, 100, **budget).params


def test_without_synthetic_updates_there_is_no_guarantee():
    policy = sco_bandit(3, 4, 100, epsilon=1.0, t0=5, synthetic=False)
    assert policy.guarantee is NO_PRIVACY


def test_one_round_at_least_must_follow_the_forced_ones():
    assert sco_bandit(1, 3, 10, epsilon=1.0, t0=3).params.t0 == 3
    with pytest.raises(
        ValueError,
        match="t0 must leave rounds after the K t0 forced",
    ):
        sco_bandit(1, 3, 9, epsilon=1.0, t0=3)


def test_leaves_of_the_tree_are_clipped_in_l2_by_default_without_the_dimension():
    """Twice the bound is the sensitivity, in every dimension; a bound that never binds in
    l_2 would be sqrt(d) times as large, and so would be the noise."""
    keys = {
        "epsilon": 4.0,
        "delta": 1e-4,
        "t0": 10,
        "label_bound": 1.2,
    }
    narrow, wide = (sco_bandit(d, 3, 1_000, **keys).params.learner for d in (1, 20))
    assert (wide.clip, wide.clip_norm) == (
        2 * (1.0 + 1.2),
        2.0,
    )
    assert narrow.sigma == wide.sigma
