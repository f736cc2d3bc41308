"""Closed forms: the paper's bounds with their constants, and the noise of released sums.

Source: the paper, Propositions 3.3 and A.2; the root mean squares are ours.
"""

import math

import numpy as np

from companion.kernels.tree import root_coefficients


def gradient_error_bound(
    t, problem, sigma: float, kappa: float, failure: float = 0.05
) -> np.ndarray:
    """Proposition A.2: with probability 1 - failure, ||d_t - grad F(theta_t)||_q is at most this.

    t (m,) records; problem: a `calibration.Problem`, whose G = 2 L holds for any loss; sigma: scale
    sigma_+ of the node's noise (0: none); kappa of the norm.
    """
    t = np.asarray(t, dtype=float)
    size = problem.beta * 2.0 * problem.radius + 2.0 * problem.lipschitz
    first = math.sqrt(2.0 * math.e * kappa) + 8.0 * math.sqrt(4.0 * math.log(2.0 / failure))
    nodes, d = math.ceil(math.log2(problem.n)), problem.d
    log_term = math.log(2.0 * nodes / failure)
    noise = math.sqrt(d + 2.0 * math.sqrt(d * log_term) + 2.0 * d * log_term)
    return first * 2.0 * size / np.sqrt(t + 1.0) + nodes * sigma * noise / (t + 1.0)


def prefix_noise(n: int, method: str) -> float:
    """Root mean square over prefixes of the noise per coordinate, for sensitivity 1 and mu = 1.

    tree: sqrt(m popcount(t)) at time t; sqrt: sqrt(sum_(k<n) f_k^2 sum_(k<t) f_k^2).
    """
    if method == "tree":
        ones = np.array([t.bit_count() for t in range(1, n + 1)])
        return math.sqrt(n.bit_length() * ones.mean())
    squares = np.cumsum(root_coefficients(n) ** 2)
    return math.sqrt(squares[-1] * squares.mean())
