"""The terms of the proof against the regret of `simulate` and a potential by determinants."""

import numpy as np
import pytest

from companion.private_glm import PRESETS, decomposition, joint_glm, world
from companion.simulate import repetitions, simulate


def test_terms_add_up_to_the_regret_and_potentials_to_their_bounds():
    env, seeds = world("ball", 3, 3.0), repetitions(1, 2)
    preset = PRESETS["explore"]._replace(gamma=0.4)
    policy = joint_glm(3, 300, epsilon=np.inf, delta=0.02, theta_bound=3.0, preset=preset)
    found = decomposition.terms(env, policy, 300, seeds)
    parts = [found[k] for k in ("regret exploring", "before the first fit", "after it")]
    assert min(parts) > 0
    assert sum(parts) == pytest.approx(simulate(env, [policy], 300, seeds).final.mean())
    for side in "VH":
        assert 0 < found[f"potential of {side}"] <= found[f"bound {side}"]
    assert 0 < found["weights above the slope"] < 1


def test_the_potential_is_between_log_det_and_twice_it():
    X = np.random.default_rng(1).uniform(-0.5, 0.5, (40, 3))
    weights = np.linspace(0.2, 1.0, 40)
    V = np.eye(3) + (X.T * weights) @ X
    log_det = np.linalg.slogdet(V)[1]
    assert log_det < decomposition._potential(X, weights, 1.0) < 2 * log_det
    one = decomposition._potential(X[:1], weights[:1], 2.0)
    assert one == pytest.approx(0.2 * X[0] @ X[0] / 2)
    same = decomposition._potential(np.eye(2)[[0, 0, 1]], np.array([1.0, 0.5, 1.0]), 1.0)
    assert same == pytest.approx(1.0 + 0.5 / 2.0 + 1.0)
