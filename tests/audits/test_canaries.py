"""Streams with canaries: told without noise, rarely an alarm with it."""

import numpy as np

from companion.audits import canaries as streams
from companion.audits import faults
from companion.audits import table as audits
from companion.baselines import private_linucb as jdp_linucb

TARGETS = [t for t in audits.targets() if t.guarantee.model != "none"]
OWN = [t for t in TARGETS if t.calibration == "corrected"]


def test_a_tree_shows_its_nodes_in_one_stream():
    """Without noise every canary is told; its nodes hold nobody else's record."""
    from companion.baselines import private_linucb as noisy_ridge

    policy = jdp_linucb.jdp_linucb(2, 256, epsilon=1.0, delta=0.1)
    quiet = policy._replace(params=policy.params._replace(sigma=1e-9))
    pair, move = noisy_ridge.far_records(False, 2), noisy_ridge.far_move(False, 2)
    scores, coins = streams.nodes(quiet, 16, pair, move, np.random.default_rng(1))
    assert len(coins) == 16
    np.testing.assert_allclose(scores, (2 * coins - 1) * 4 * 4.5 / 2, rtol=1e-6)


def test_honest_streams_rarely_alarm_and_half_the_noise_does():
    (target,) = [t for t in OWN if t.name == "online_linucb"]
    keys = {"canaries": 1000, "guesses": 125, "delta": 0.1, "promised": 1.0, "repeats": 40}
    assert streams.rates(target.attacks[0], seed=5, **keys)[2] <= 16  # of 40 at 5 %: 1e-11
    weak = target.attack(faults.half_noise(target.algorithm))[0]
    assert streams.rates(weak, seed=6, **keys)[2] >= 20
