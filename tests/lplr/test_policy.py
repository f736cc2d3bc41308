"""LPLR's live policies: whom they feed, what they refuse."""

import math

import numpy as np
import pytest

from companion.lplr import hard_bandit, lplr, suffstats
from companion.lplr.bins import COUNT
from companion.simulate import simulate


def test_the_oracle_of_the_arm_played_is_fed_whatever_was_advised():
    policy = lplr(1, 100, 3, epsilon=math.inf, per_action=True, n0=8, threshold=0.0)
    live, X = policy.start(0), np.array([[0.9], [0.8], [0.7]])
    advised = []
    for _ in range(8):  # the users of the first stage
        advised.append(live.select(X))
        live.update(2, 1.0)
    assert set(advised) != {2}
    counts = live.state.memory.forest.stat[:3, :, COUNT].sum(axis=1)
    assert counts.tolist() == [0, 0, 8]  # without noise a dummy leaves no trace


def test_with_noise_every_oracle_gets_a_message():
    live = lplr(1, 100, 2, per_action=True, n0=8).start(0)
    live.select([[0.9], [0.8]])
    live.update(0, 1.0)
    assert (live.state.memory.forest.stat[:2, 0, COUNT] != 0).all()


@pytest.mark.parametrize("make", [lplr, suffstats])
def test_records_outside_the_universe_are_clipped_before_they_are_sent(make):
    live = make(2, 100, 2, math.inf, n0=8).start(0)
    live.select([[3.0, 4.0], [0.1, 0.0]])
    live.update(0, -7.0)
    memory = live.state.memory
    sent = memory.forest.vec[0, 0] if make is lplr else memory.models.vec[0]
    assert sent == pytest.approx([-0.6, -0.8])


@pytest.mark.parametrize("make", [lplr, suffstats])
def test_another_number_of_arms_is_refused(make):
    live = make(2, 100, 3, n0=8).start(0)
    for rows in (1, 2, 4, 5000):
        with pytest.raises(ValueError, match="K=3"):
            live.select(np.full((rows, 2), 0.1))
    live.select(np.full((3, 2), 0.1))


@pytest.mark.parametrize("make", [lplr, suffstats])
def test_factories_refuse_by_name(make):
    good = {"d": 2, "T": 1000, "K": 3}
    for name, value in (("d", 0), ("T", 7), ("K", 0), ("K", 1e9), ("n0", 1), ("epsilon", 0.0)):
        with pytest.raises(ValueError, match=name):
            make(**{**good, name: value})
    with pytest.raises(ValueError, match="per_action"):
        lplr(2, 1000, 3, per_action=3)


@pytest.mark.parametrize("make", [lplr, suffstats])
@pytest.mark.parametrize("name", ["d", "T", "K", "n0"])
def test_absurd_integers_are_refused_by_name(make, name):
    for value in (1e30, 10**30):
        with pytest.raises(ValueError, match=name):
            make(**{"d": 2, "T": 1000, "K": 3, name: value})


@pytest.mark.parametrize("make", [lplr, suffstats])
def test_a_policy_that_has_learned_plays_the_best_arm(make):
    """Without noise the first epochs tell the arms apart; then nothing but the best is played."""
    options = {"n0": 16} | ({"gamma": 4.0} if make is lplr else {})
    policy = make(1, 4000, 2, math.inf, **options)
    regret = simulate(hard_bandit(1, 0.8), [policy], 4000, range(8)).regret[:, 0]
    assert (regret[:, -1] < 0.3 * 0.4 * 4000).all()  # uniform play: 0.4 per round
    assert (regret[:, -1] == regret[:, 120]).all()
