"""LinUCB against a slow twin written from the paper, and its radius by hand."""

import numpy as np
import pytest
from streams import THETA, run, stream

from companion.baselines.linucb import linucb, radius, theorem_radius


def test_radius_of_theorem_2_by_hand():
    """0.2 sqrt(3 ln(1 + 100/1.5) + 2 ln 20) + 1.5 sqrt(0.5)."""
    assert theorem_radius(3, 100, 0.5, 0.2, 1.5, 0.05) == pytest.approx(1.92403136931, 1e-10)


def test_every_choice_maximises_the_textbook_index():
    X, R, _ = stream()
    policy = linucb(3, ridge=0.5, noise=0.1)
    V, b = 0.5 * np.eye(3), np.zeros(3)
    for t, a in enumerate(run(policy, X, R)[0]):
        width = np.sqrt(np.einsum("ki,ij,kj->k", X[t], np.linalg.inv(V), X[t]))
        index = X[t] @ np.linalg.solve(V, b) + radius(policy.params, t) * width
        assert index[a] >= index.max() - 1e-9
        V, b = V + np.outer(X[t, a], X[t, a]), b + R[t, a] * X[t, a]


def test_learns_theta_and_stops_paying_regret():
    X, _, mu = stream(n=3000)
    arms, state = run(linucb(3, noise=0.1), X, 2.0 * mu - 1.0)
    regret = mu.max(1) - mu[np.arange(3000), arms]
    assert regret[-1000:].mean() < 0.05 * regret[:20].mean()
    np.testing.assert_allclose(state.theta_hat, THETA, atol=0.02)
