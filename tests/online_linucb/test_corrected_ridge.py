"""Errors-in-variables ridge: unbiased statistics, a slow twin, and LinUCB without
noise."""

import numpy as np
from streams import forms, run, stream

from companion.baselines.linucb import theorem_radius
from companion.online_linucb.corrected_ridge import corrected_ridge
from companion.online_linucb.online_linucb import online_linucb, randomize


def test_plays_the_formula():
    X, R, _ = stream()
    policy = corrected_ridge(3, 400, epsilon=30.0, delta=0.1, shift=0.5, width=0.7)
    arms, s = run(policy, X, R)
    p = policy.params
    rng = np.random.default_rng(1)
    message = np.empty(4)
    A = np.zeros((3, 3))
    b = np.zeros(3)
    for t, a in enumerate(arms):
        ridge = 1 + 0.5 * (p.sigma**2 + p.sigma) * np.sqrt(3 * t)
        V = A + ridge * np.eye(3)
        radius = 0.7 * theorem_radius(3, t, ridge, 0.5, 1.0, 1 / 401)
        width = np.sqrt(np.maximum(forms(X[t], V), 0.0))
        index = X[t] @ np.linalg.solve(V, b) + radius * width
        assert index[a] >= index.max() - 1e-9
        randomize(p, X[t, a], R[t, a], rng, message)
        x = message[:3]
        y = message[3]
        A = A + np.outer(x, x) - p.sigma**2 * np.eye(3)
        b = b + y * x
    np.testing.assert_allclose(s.G, A, atol=1e-9)
    np.testing.assert_allclose(s.b, b, atol=1e-9)
    online = online_linucb(3, 400, epsilon=30.0, delta=0.1)
    assert policy.guarantee == online.guarantee
