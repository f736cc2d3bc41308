"""The lasso bandit's solver against its optimality conditions and a slow twin."""

import numpy as np
import pytest

from companion.baselines.lasso_bandit import lasso_bandit, level


def fitted(n, d, penalty, every=1, seed=1):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 2, d))
    R = 2.0 * X[:, :, 0] - X[:, :, 3] + 0.1 * rng.standard_normal((n, 2))
    policy = lasso_bandit(d, n, penalty=penalty, every=every, tolerance=1e-12)
    arms = np.empty(n, np.int64)
    state = policy.init(policy.params)
    policy.play(policy.params, state, X, R, rng, arms)
    return policy, state, X[np.arange(n), arms], R[np.arange(n), arms], arms, X


def test_every_fit_is_optimal():
    """Largest violation of the optimality conditions, in units of the penalty."""
    for n in (5, 40, 200):
        policy, state, X, y, *_ = fitted(n, 12, 0.1)
        theta, penalty = state.theta_hat, level(policy.params, n) * n
        z = X.T @ (y - X @ theta)
        gap = np.where(theta == 0.0, np.abs(z) - penalty, np.abs(z - np.sign(theta) * penalty))
        assert gap.max() < 1e-9 * penalty
        assert state.capped[0] == 0


def test_fit_equals_proximal_gradient_descent():
    policy, state, X, y, _, _ = fitted(80, 10, 0.2)
    alpha, theta = level(policy.params, 80), np.zeros(10)
    step = 1 / np.linalg.eigvalsh(X.T @ X / 80)[-1]
    for _ in range(5000):
        z = theta + step * X.T @ (y - X @ theta) / 80
        theta = np.sign(z) * np.maximum(np.abs(z) - step * alpha, 0.0)
    np.testing.assert_allclose(state.theta_hat, theta, atol=1e-9)


def test_arms_are_greedy_and_fits_come_every_so_often():
    policy, state, _, _, arms, X = fitted(100, 6, 0.1, every=50)
    half = lasso_bandit(6, 100, penalty=0.1, every=50, tolerance=1e-12)
    assert half.params == policy.params
    again = fitted(100, 6, 0.1, every=50)[1]
    np.testing.assert_array_equal(again.theta_hat, state.theta_hat)
    assert 10 < arms[:50].sum() < 40  # random before the first fit
    assert X.shape == (100, 2, 6)


@pytest.mark.parametrize(
    ("name", "value"), [("d", 0), ("T", 0), ("penalty", 0.0), ("every", 0), ("tolerance", np.nan)]
)
def test_rejects_bad_input_by_name(name, value):
    with pytest.raises(ValueError, match=name):
        lasso_bandit(**{"d": 3, "T": 10, name: value})


def test_defaults_by_their_formulas():
    """alpha_t = 2 sqrt((4 log t + 2 log d)/t): at t = d = 16 it is 2 sqrt(6 log(16)/16)."""
    p = lasso_bandit(16, 100).params
    assert level(p, 16) == pytest.approx(2.0393341, rel=1e-7)
    assert (p.penalty, p.every, p.tolerance) == (1.0, 1, 1e-8)
