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


def test_a_root_by_hand():
    """z = 1 solves 5/4 - sqrt(36 z) - z/4 + 5 z^(1/4) = 0; z = 16 solves it with 10 and 2."""
    assert theory.zcdp_root(1.25, np.exp(-36.0)) == pytest.approx(1.0, rel=1e-9)
    assert theory.zcdp_root(10.0, np.exp(-16.0)) == pytest.approx(16.0, rel=1e-9)


def test_random_play_by_hand():
    """Three arms of standard deviation |beta| = 5 without correlation lose 5 (3/2)/sqrt(pi)."""
    env = autoregressive(3, [3.0, 4.0], phi=0.0)
    assert theory.random_regret(env, 7) == pytest.approx(7 * 7.5 / np.sqrt(np.pi))


def test_one_step_by_hand():
    """Two uncorrelated arms have q = 1: one step from zero estimates beta, and loses nothing; of
    two coordinates it keeps the larger, and loses m (|beta| - |beta_1|)."""
    env = autoregressive(2, [3.0, 4.0], phi=0.0)
    theta, change, lost = theory.one_step_fixed_point(env, 2)
    assert (theta.tolist(), change) == ([3.0, 4.0], 0.0)
    assert lost == pytest.approx(0.0, abs=1e-12)
    theta, _, lost = theory.one_step_fixed_point(env, 1)
    assert theta.tolist() == [0.0, 4.0]
    assert lost == pytest.approx((5 - 4) / np.sqrt(np.pi))
    three = autoregressive(3, [3.0, 4.0], phi=0.0)  # q = 1 + sqrt(3)/(2 pi): theta_2 = q beta_2
    theta, _, _ = theory.one_step_fixed_point(three, 1)
    assert theta[1] == pytest.approx(4 * (1 + np.sqrt(3) / (2 * np.pi)))


def test_bounds_of_the_regret_by_hand():
    """sparsity^2 log d = 16; delta = 1/e^4 and epsilon = 8: 4^3 4 / 64 = 4; T = 81: n to 5."""
    inputs = {"T": 81, "sparsity": 4, "log_d": 1.0, "epsilon": 8.0, "delta": np.exp(-4.0)}
    free, private = theory.regret_bound(0.0, **inputs)
    assert (free, private) == (pytest.approx(8 * 4), pytest.approx((1 + 4 + 9 + 16 + 25) * 2))
    free, private = theory.regret_bound(1.0, **inputs)
    psi = 1 / 2 + 16 / 4 + 81 / 8 + 256 / 16 + 625 / 32
    assert (free, private) == (pytest.approx(np.log(9.0) * 16), pytest.approx(psi * 4))
    free, _ = theory.regret_bound(3.0, **inputs)  # (T^-1 - 1)/(-2) = 40/81
    assert free == pytest.approx(40 / 81 * 16**2)


def test_the_lower_bound_by_hand():
    """s = 4, T = 9, log(d/s) = 4, log(1/delta) = 9: sqrt(4 16 9)/2 = 12 and sqrt(4 9 4) = 12."""
    assert theory.lower_bound(9, 4, 4.0, 2.0, np.exp(-9.0)) == pytest.approx((12.0, 12.0))
    assert theory.lower_bound(9, 4, 4.0, 2.0, 0.0) == pytest.approx((4 * 8 / 2, 12.0))
