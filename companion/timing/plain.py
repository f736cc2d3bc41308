"""LinUCB in plain NumPy, round by round, as the paper prints it: what the kernels are timed beside.

Source: Abbasi-Yadkori, Pal and Szepesvari (2011), Figure 1 and Theorem 2.
"""

import numpy as np

from companion._types import Array, Ints


def radius(t: int, d: int, ridge: float, noise: float, theta_bound: float, failure: float) -> float:
    """The confidence radius after t rounds, for contexts in the unit ball of R^d."""
    log_det = d * np.log1p(t / (ridge * d))
    return noise * np.sqrt(log_det - 2 * np.log(failure)) + np.sqrt(ridge) * theta_bound


def linucb(
    X: Array,
    R: Array,
    *,
    ridge: float = 1.0,
    noise: float = 1.0,
    theta_bound: float = 1.0,
    failure: float = 0.01,
) -> Ints:
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
