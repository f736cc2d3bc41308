"""Twins in plain NumPy, round by round: as the paper writes it, and as a careful user would."""

import numpy as np
from companion.timing.plain import linucb, radius

__all__ = ["fresh_sphere", "linucb", "linucb_tuned"]


def linucb_tuned(X, R, *, ridge=1.0, noise=1.0, theta_bound=1.0, failure=0.01):
    """The same with a rank-one update of the inverse and BLAS for all arms at once."""
    n, _, d = X.shape
    V_inv, b, theta = np.eye(d) / ridge, np.zeros(d), np.zeros(d)
    arms = np.empty(n, dtype=np.int64)
    for t in range(n):
        width = np.sqrt(((X[t] @ V_inv) * X[t]).sum(axis=1))
        beta = radius(t, d, ridge, noise, theta_bound, failure)
        arms[t] = k = np.argmax(X[t] @ theta + beta * width)
        x = X[t, k]
        u = V_inv @ x
        V_inv -= np.outer(u, u) / (1 + x @ u)
        b += R[t, k] * x
        theta = V_inv @ b
    return arms


def fresh_sphere(T, K, d, rng):
    """(X, R, mu) of T rounds: fresh arms (u, 1/sqrt2), Bernoulli rewards, as whole arrays."""
    X = rng.standard_normal((T, K, d))
    X[:, :, :-1] *= np.sqrt(0.5) / np.linalg.norm(X[:, :, :-1], axis=2, keepdims=True)
    X[:, :, -1] = np.sqrt(0.5)
    theta = X[0, 0].copy()
    mu = X @ theta
    return X, (rng.random((T, K)) < mu).astype(float), mu
