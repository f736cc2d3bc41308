"""Values from logs: replay and weighting are unbiased, private means have their noise."""

import numpy as np
import pytest
from scipy import stats as distributions

from companion.logs import private_mean, replay_value, weighted_rewards
from companion.policies import jdp_linucb, linucb, random

RNG = np.random.default_rng(1)
ROUND = np.ones((1, 2, 1))  # of two arms in one dimension


def test_replay_keeps_the_rounds_in_which_the_policy_agrees():
    X = RNG.uniform(-0.5, 0.5, (4000, 4, 3))
    arms = RNG.integers(0, 4, 4000)
    rewards = X[np.arange(4000), arms, 0]
    policy = linucb(3, noise=0.1, width=0.1)
    value, kept = replay_value(policy, X, arms, rewards, seed=1)
    best = X[:, :, 0].max(axis=1).mean()
    assert abs(kept - 1000) < 6 * np.sqrt(750)  # false alarm: 2e-9
    assert value.low > 0.8 * best
    value, _ = replay_value(random(), X, arms, rewards, seed=1)
    assert abs(value.value) < 6 * 0.29 / np.sqrt(1000)
    none, kept = replay_value(linucb(3), X[:1], [3], rewards[:1])  # it plays arm 0
    assert (kept, none.low) == (0, -np.inf)


def test_weighting_is_unbiased():
    shares = np.array([0.5, 0.3, 0.2])
    arms = RNG.choice(3, 100_000, p=shares)
    rewards = arms + RNG.standard_normal(100_000)
    found = weighted_rewards(arms == 2, shares[arms], rewards)
    spread = found.std() / np.sqrt(100_000)
    assert abs(found.mean() - 2.0) < 6 * spread  # false alarm: 2e-9


def test_the_noise_of_a_private_mean_is_laplace_and_its_interval_holds():
    values = np.array([0.2, 0.4, 9.0, -9.0])  # clipped to 1 and 0
    noise = []
    holds = []
    for seed in range(2000):
        found, guarantee = private_mean(values, 0, 1, epsilon=0.5, seed=seed)
        noise.append(found.value - 0.4)
        holds.append(found.low <= 0.4 <= found.high)
    law = distributions.laplace(scale=0.5)
    assert distributions.kstest(noise, law.cdf).pvalue > 1e-6
    assert guarantee.epsilon == 0.5
    assert type(found.low) is float
    assert np.mean(holds) > 0.97


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: weighted_rewards([-0.1], [0.5], [1]), r"target must be in \[0, 1\]"),
        (lambda: weighted_rewards([1.1], [0.5], [1]), r"target must be in \[0, 1\]"),
        (lambda: weighted_rewards([1], [1.1], [1]), "propensities must be in"),
        (
            lambda: weighted_rewards([1], [1e-300], [1e30]),
            r"propensities must be in \[1e-100, 1\]",
        ),
        (
            lambda: weighted_rewards([1], [0.5], [-1e31]),
            "rewards must be finite, at most 1e",
        ),
        (
            lambda: replay_value(random(), ROUND, [0], [1e31]),
            "rewards must be finite",
        ),
        (lambda: weighted_rewards([1], [0.5, 0.5], [1]), "propensities must have shape"),
        (lambda: private_mean([1], 1, 1, epsilon=1), "low must be below high"),
        (
            lambda: replay_value(random(), np.ones((2, 2, 1)), [0, 2], [1, 1]),
            "arms must be",
        ),
        (lambda: replay_value(None, ROUND, [0], [1]), "policy must hold"),
    ],
)
def test_what_is_wrong_is_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def test_the_interval_of_a_private_mean_by_hand():
    """8 values in [0, 2], level 0.9: 2 sqrt(log(40)/16) for the values, and for the noise
    of scale 2/(8 * 0.5) = 0.5 its quantile 0.5 log(20)."""
    found, _ = private_mean(np.ones(8), 0.0, 2.0, epsilon=0.5, seed=1, level=0.9)
    of_values = 2.0 * np.sqrt(np.log(40.0) / 16.0)
    half = of_values + 0.5 * np.log(20.0)
    assert found.high - found.value == pytest.approx(half)
    assert found.value - found.low == pytest.approx(half)


def test_replay_stops_at_the_horizon_of_the_policy():
    """One arm, so that every round agrees: of 5 rounds a policy for 2 keeps 2."""
    policy = jdp_linucb(1, 2, epsilon=1.0, delta=0.1)
    _, kept = replay_value(
        policy,
        np.ones((5, 1, 1)),
        np.zeros(5, int),
        np.ones(5),
        seed=1,
    )
    assert kept == 2


def test_replay_reads_all_rounds_of_a_log_that_is_cut_in_parts():
    """A part has 100 rounds; with one arm all 201 agree."""
    X = np.ones((201, 1, 1))
    arms = np.zeros(201, int)
    rewards = np.arange(201.0)
    value, kept = replay_value(random(), X, arms, rewards, seed=1)
    assert (value.value, kept) == (100.0, 201)


def test_one_round_that_agrees_has_no_interval():
    value, kept = replay_value(random(), np.ones((1, 1, 1)), [0], [0.3], seed=1)
    assert kept == 1
    assert value == (0.3, -np.inf, np.inf)
