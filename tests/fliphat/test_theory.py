"""Closed forms of the chapter against simulation and the equations that they solve."""

import numpy as np
import pytest

from companion.fliphat import theory
from companion.fliphat.environments import autoregressive, pad


def test_moments_of_the_largest_of_a_few_normals():
    assert theory.best_moment(1) == pytest.approx(0.0, abs=1e-12)
    assert theory.best_moment(2) == pytest.approx(1 / np.sqrt(np.pi))
    assert theory.best_moment(3) == pytest.approx(1.5 / np.sqrt(np.pi))
    assert theory.best_moment(2, 2) == pytest.approx(1.0)
    assert theory.best_moment(3, 2) == pytest.approx(1 + np.sqrt(3) / (2 * np.pi))


def test_random_play_pays_what_its_formula_says():
    """200 000 rounds at 5.5 standard errors."""
    env = autoregressive(4, [1.0, -0.5, 0.0], phi=0.7)
    mu = np.concatenate([m for _, _, m in env.blocks(200_000, np.random.default_rng(1))])
    lost = mu.max(axis=1) - mu[:, 0]
    error = lost.std() / np.sqrt(len(lost))
    assert abs(lost.mean() - theory.random_regret(env, 1)) < 5.5 * error


def test_one_step_under_greedy_play():
    """E[x x'beta] of the greedy arm, by simulation, and the regret of a round; 6 standard errors
    in each of 7 numbers."""
    env = autoregressive(3, pad([1.0, 0.8, 0.6], 6), phi=0.6)
    theta, change, lost = theory.one_step_fixed_point(env, 4)
    assert change < 1e-12
    assert np.count_nonzero(theta) == 4
    X = np.concatenate([x for x, _, _ in env.blocks(200_000, np.random.default_rng(2))])
    best = (X @ theta).argmax(axis=1)
    x, mu = X[np.arange(len(X)), best], X @ env.beta
    rows = x * (x @ env.beta)[:, None]
    kept = theta != 0
    step, error = rows.mean(axis=0), rows.std(axis=0) / np.sqrt(len(rows))
    assert (np.abs(step - theta)[kept] < 6 * error[kept]).all()
    assert np.abs(step[~kept]).max() < np.abs(step[kept]).min()
    regret = mu.max(axis=1) - mu[np.arange(len(X)), best]
    assert abs(regret.mean() - lost) < 6 * regret.std() / np.sqrt(len(regret))


def test_the_root_solves_its_equation():
    for epsilon, delta in ((0.01, 0.01), (1.0, 0.3), (0.2, 1e-9)):
        z, log = theory.zcdp_root(epsilon, delta), np.log(1 / delta)
        assert abs(epsilon - np.sqrt(z * log) - z / 4 + 5 * z**0.25) < 1e-6
