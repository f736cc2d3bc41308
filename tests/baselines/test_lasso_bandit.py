"""The lasso bandit: optimality conditions of its fits, and when it plays at random."""

import numpy as np
import pytest
from streams import run

from companion.baselines.lasso_bandit import lasso, lasso_bandit, level
from companion.kernels.linalg import SWEEPS


def fitted(n, d, penalty, every=1, seed=1):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 2, d))
    noise = 0.1 * rng.standard_normal((n, 2))
    R = 2.0 * X[:, :, 0] - X[:, :, 3] + noise
    policy = lasso_bandit(d, 2 * n, penalty=penalty, every=every, tolerance=1e-12)
    arms, state = run(policy, X, R)
    return policy, state, X, R, arms


def test_every_fit_is_optimal():
    """Largest violation of the optimality conditions, in units of the penalty."""
    for n in (5, 40, 200):
        policy, state, contexts, R, arms = fitted(n, 12, 0.1)
        X = contexts[np.arange(n), arms]
        y = R[np.arange(n), arms]
        theta = state.theta_hat
        penalty = level(policy.params, n) * n
        z = X.T @ (y - X @ theta)
        gap = np.where(
            theta == 0.0,
            np.abs(z) - penalty,
            np.abs(z - np.sign(theta) * penalty),
        )
        assert gap.max() < 1e-9 * penalty
        assert state.capped[0] == 0


def test_arms_are_random_before_the_first_fit_and_greedy_between_fits(rng):
    policy, state, X, R, arms = fitted(50, 6, 0.1, every=50)
    assert 10 < arms.sum() < 40
    later = np.empty(49, np.int64)
    theta = state.theta_hat.copy()
    policy.loop(policy.params, state, X[:49], R[:49], rng, later)
    scores = X[:49] @ theta
    assert np.array_equal(later, scores.argmax(axis=1))


def test_the_penalty_and_the_other_defaults():
    """At t = 4 and d = 16 the level is 2 sqrt((8 log 2 + 8 log 2)/4) = 4 sqrt(log 2)."""
    p = lasso_bandit(16, 100).params
    assert level(p, 4) == pytest.approx(4.0 * np.sqrt(np.log(2.0)))
    assert p.penalty == p.every == 1
    assert p.tolerance == 1e-8


def test_the_first_arm_wins_ties(rng):
    policy, state, *_ = fitted(20, 6, 0.1)
    X = np.tile([1.0, 0.0, 0.0, -1.0, 0.0, 0.0], (3, 1))
    arm = policy.select(policy.params, state, X, rng)
    assert arm == 0


def test_a_fit_counts_as_capped_if_any_of_its_descents_was():
    """Columns 0 and 1 have the product 1 - u: a descent needs about 1.15 times as many
    sweeps as it may take.  Then column 2 joins, and a second descent converges."""
    policy = lasso_bandit(3, 3, penalty=1e-12)
    state = policy.init(policy.params)
    u = 5.0 / SWEEPS
    state.X[:] = np.eye(3)
    state.X[:2, 1] = 1.0 - u, np.sqrt(2 * u - u * u)
    state.c[:] = state.X.T @ state.X @ np.ones(3)
    state.t[0] = 3
    state.active[0] = 2
    state.index[:2] = state.place[:2] = 0, 1
    lasso(policy.params, state)
    assert state.theta_hat == pytest.approx(np.ones(3), abs=1e-4)
    assert (state.active[0], state.capped[0]) == (3, 1)
