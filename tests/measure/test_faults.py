"""Attacks on every private algorithm: sound on the honest, and they find what is planted.

Every bound is at level 1 - 1e-7: some two hundred are made.
"""

import numpy as np
import pytest
from scipy import stats as sps

from companion import optimisers, policies
from evidence.attacks import audit
from evidence.measure import faults

TARGETS = faults.targets()
OWN = [t for t in TARGETS if t.calibration == "corrected"]
LEVEL = 1 - 1e-7
named = [f"{t.name}-{t.calibration}-{i}" for i, t in enumerate(TARGETS)]


def test_no_private_algorithm_is_forgotten():
    private = set()
    for table in (policies, optimisers):
        for name in table.TABLE:
            if table.example(name).guarantee.model != "none":
                private.add(name)
    assert {t.name for t in TARGETS} == private
    for target in TARGETS:
        assert target.attacks, f"{target.name}: its audit must offer `attacks`"
    calibrated = {t.name for t in TARGETS if t.calibration == "paper"}
    assert {"online_linucb", "fliphat", "lplr", "joint_glm", "streaming_fw"} <= calibrated


@pytest.mark.parametrize("target", TARGETS, ids=named)
def test_no_attack_counts_more_than_is_proved(target):
    table = faults.audited([target], trials=8000, seed=1, level=LEVEL)
    assert (table["counted"] <= table["proved"]).all()


@pytest.mark.parametrize("target", OWN, ids=[t.name for t in OWN])
def test_the_strongest_attack_tells_the_two_inputs_apart_without_noise(target):
    """With a thousandth of the noise the two inputs give outputs that never meet."""
    quiet = target.algorithm
    for _ in range(10):
        quiet = faults.half_noise(quiet)
    found = audit.attacked(
        target.attack(quiet)[0],
        delta=0.1,
        trials=800,
        seed=1,
        level=0.99,
    )
    assert found.epsilon > 2.0


@pytest.mark.parametrize("target", OWN, ids=[t.name for t in OWN])
def test_reused_noise_and_open_doors_are_found(target):
    found = faults.planted(target, trials=4000, seed=2, level=LEVEL)
    assert found["far"] <= target.algorithm.guarantee.epsilon
    assert found["noise reused"] > target.algorithm.guarantee.epsilon
    assert found["not clipped"] > target.algorithm.guarantee.epsilon


@pytest.mark.parametrize(
    "name",
    ["online_linucb", "lplr", "fliphat", "streaming_fw", "suffstats"],
)
def test_half_the_noise_is_found(name):
    (target,) = [t for t in OWN if t.name == name]
    found = faults.planted(target, trials=100_000, seed=3, level=LEVEL)
    assert found["half the noise"] > target.algorithm.guarantee.epsilon


def test_what_is_made_of_two_outputs_by_hand(rng):
    """Means of two have half the variance, known data meet the same draws; false alarm:
    2e-6."""

    def noisy(data, rng, n):
        return data + rng.standard_normal((n, 1))

    attack = audit.Attack(
        mechanism=noisy,
        a=0.0,
        b=3.0,
        statistic=None,
        sees="message",
    )
    means = faults.twice(attack).mechanism(0.0, rng, 4_000)
    assert 1e-6 < sps.chi2(4_000).cdf(2.0 * (means**2).sum()) < 1 - 1e-6
    apart = faults.reused(attack).mechanism(3.0, rng, 5)
    np.testing.assert_allclose(apart, np.full(5, 3.0))
