"""The attacks find what the printed rule gives away, and nothing under the corrected one.

False alarms of a correct rule: 1e-6 (level of the audits).
"""

import numpy as np
import pytest

from companion.accounting import audit
from companion.private_glm import attacks, experiments

LEVEL = 1 - 1e-6


@pytest.mark.parametrize("rule", ["paper", "corrected"])
def test_leaks(rule):
    found = experiments.leaks(rule, 500, 2, level=LEVEL)
    assert set(found) == {
        "leak 1, the state",
        "leak 1, arms of others",
        "leak 2, estimates released",
        "leak 3, noise of gradients",
    }
    if rule == "paper":
        assert min(found.values()) > 1.5
    else:
        assert max(found.values()) <= 1.0


def test_the_second_leak_is_the_branch():
    """The noise alone outgrows so small a ridge; only who explores is not tested as printed."""
    a, b = attacks.late_world()
    assert np.allclose(np.linalg.norm(a[0][0], axis=1), 0.3)
    assert np.allclose(np.linalg.norm(a[0][1], axis=1), 1.0)
    assert not b[0][1].any()
    rng, fits = np.random.default_rng(0), {}
    for rule in ("paper", "corrected"):
        mechanism = attacks.estimates_released(experiments.late(rule))
        fits[rule] = [mechanism(data, rng, 200).mean() for data in (a, b)]
    assert fits["paper"][0] == 0.0
    assert min(fits["paper"][1], *fits["corrected"]) > 0.7


def test_a_tree_for_too_small_a_movement_is_seen():
    low, exact = attacks.tight_tree(0.25, 4 / 3, 0.02 / 3, 5000, 50_000, 1, level=LEVEL)
    assert 1.5 < low <= exact
    low, exact = attacks.tight_tree(np.sqrt(2.0), 4 / 3, 0.02 / 3, 5000, 50_000, 1, level=LEVEL)
    assert low <= exact <= 4 / 3


def test_explorations_of_others():
    """Without noise they give the user away; with noise they vary and show nothing."""
    assert experiments.exploration_audit(np.inf, 500, 1, level=LEVEL) > 1.5
    assert experiments.exploration_audit(1.0, 500, 1, level=LEVEL) <= 1.0


def test_node_losses_have_the_bits_of_the_same_loop_in_plain_python():
    shift, plain = np.array([1.0, 0.0, -1.0]), attacks._node_losses.py_func
    for user in (1, 5, 16):
        fast, slow = attacks.node_loss(16, user, 3.0, shift, 20, 7), np.empty(20)
        plain(np.random.default_rng(7), 16, user, 3.0, shift, np.zeros((5, 3)), slow)
        np.testing.assert_array_equal(fast, slow)


def test_node_losses_have_the_moments_of_a_gaussian():
    """Leaf 1 of 64 enters all 7 nodes: mean rho, variance 2 rho (6 standard errors)."""
    shift, sigma, trials = np.array([1.0, 0.0, -1.0]), 3.0, 4000
    rho = 7 * 2.0 / (2 * sigma**2)
    loss = attacks.node_loss(64, 1, sigma, shift, trials, 3)
    assert abs(loss.mean() - rho) < 6 * np.sqrt(2 * rho / trials)
    assert loss.var() == pytest.approx(2 * rho, rel=6 * np.sqrt(2 / trials))
    assert attacks.node_loss(64, 64, sigma, shift, 500, 3).mean() < 0.3 * rho


def test_the_printed_rule_shows_a_user_and_the_corrected_one_does_not():
    """False alarms of a correct rule: 1e-6 (level of the audit)."""
    a, b = attacks.attack_world()
    found = {}
    for rule in ("paper", "corrected"):
        mechanism = attacks.estimate_changes(experiments.leaky(rule), 59)
        found[rule] = audit.epsilon_lower_bound(
            mechanism, a, b, delta=0.01, trials=400, seed=2, level=1 - 1e-6
        ).epsilon
    assert found["paper"] > 1.5
    assert found["corrected"] <= 1.0
