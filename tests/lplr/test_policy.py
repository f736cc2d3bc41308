"""LPLR's live policies: whom they feed, what they refuse."""

import math

import numpy as np
import pytest
from scipy.stats import ks_2samp
from streams import run

from companion.lplr import lplr, suffstats
from companion.lplr.bandits import eliminate_with
from companion.lplr.bins import COUNT
from companion.lplr.environments import contexts
from companion.lplr.trials import generator


def test_the_oracle_of_the_arm_played_is_fed_whatever_was_advised():
    policy = lplr(1, 100, 3, math.inf, per_action=True, n0=8, threshold=0.0)
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


@pytest.mark.parametrize(
    ("make", "options"),
    [(lplr, {"gamma": 4.0}), (lplr, {"gamma": 4.0, "per_action": True}), (suffstats, {})],
)
def test_what_was_learned_decides_what_is_played(make, options):
    """Two arms, rewards 0.9 and -0.9: a coin decides until an epoch ends that tells them apart.

    The fast path then has the regret of the rounds played: that of the epochs before, no more.
    """
    T, n0 = 4000, 64
    policy = make(2, T, 2, 1000.0, n0=n0, **options)
    bandit = contexts([[[0.9, 0.0], [-0.9, 0.0]]], [1.0, 0.0])
    X, R, mu = (np.concatenate(a) for a in zip(*bandit.blocks(T, generator(1)), strict=True))
    arms, state = run(policy, X, R)
    first = 2 * n0  # rounds of the first epoch
    assert 0.2 < arms[:first].mean() < 0.8
    assert not arms[T // 2 :].any()
    rng = generator(3)
    assert {policy.select(policy.params, state, X[0], rng) for _ in range(20)} == {0}
    oracle = "ssp" if make is suffstats else "lplr"
    fast = eliminate_with(oracle, bandit, T, 200, generator(2), epsilon=1000.0, n0=n0, **options)
    slow = [(mu.max(1) - mu[np.arange(T), run(policy, X, R, seed=i)[0]]).sum() for i in range(60)]
    assert np.mean(slow) < 0.25 * T * 0.9  # random play loses T * 0.9
    assert ks_2samp(slow, fast.regret).pvalue > 1e-7
