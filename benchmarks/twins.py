"""Twins in plain NumPy, round by round: as the paper writes it, and as a careful user would."""

import numpy as np


def radius(t, d, ridge, noise, theta_bound, failure):
    """Theorem 2 of Abbasi-Yadkori, Pal and Szepesvari (2011)."""
    log_det = d * np.log1p(t / (ridge * d))
    return noise * np.sqrt(log_det - 2 * np.log(failure)) + np.sqrt(ridge) * theta_bound


def linucb(X, R, *, ridge=1.0, noise=1.0, theta_bound=1.0, failure=0.01):
    """Arms (n,) of LinUCB on contexts X (n, K, d) and rewards R (n, K), line by line as printed."""
    n, _, d = X.shape
    V, b = ridge * np.eye(d), np.zeros(d)
    arms = np.empty(n, dtype=np.int64)
    for t in range(n):
        theta, V_inv = np.linalg.solve(V, b), np.linalg.inv(V)
        width = np.sqrt(np.einsum("ki,ij,kj->k", X[t], V_inv, X[t]))
        beta = radius(t, d, ridge, noise, theta_bound, failure)
        arms[t] = k = np.argmax(X[t] @ theta + beta * width)
        V += np.outer(X[t, k], X[t, k])
        b += R[t, k] * X[t, k]
    return arms


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
