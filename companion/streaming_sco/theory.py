"""Closed forms: the paper's bounds with their constants, and the laws that its lemmas are about.

Source: the paper, Lemma 3.2, Propositions 3.3 and A.2, section 2; the moments are ours.
"""

import math

import numpy as np
from scipy.special import gammaln

from companion.tree import root_coefficients


def gradient_error_bound(t, problem, sigma, kappa, failure=0.05):
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


def generalized_gaussian_variance(d, exponent):
    """E Z_i^2 / sigma^2 = d Gamma(3/r) Gamma(d/r) / (Gamma(1/r) Gamma((d + 2)/r)), r = exponent."""
    r = exponent
    logs = gammaln(3.0 / r) + gammaln(d / r) - gammaln(1.0 / r) - gammaln((d + 2.0) / r)
    return d * math.exp(logs)


def prefix_noise(n, method):
    """Root mean square over prefixes of the noise per coordinate, for sensitivity 1 and mu = 1.

    tree: sqrt(m popcount(t)) at time t; sqrt: sqrt(sum_(k<n) f_k^2 sum_(k<t) f_k^2).
    """
    if method == "tree":
        ones = np.array([t.bit_count() for t in range(1, n + 1)])
        return math.sqrt(n.bit_length() * ones.mean())
    squares = np.cumsum(root_coefficients(n) ** 2)
    return math.sqrt(squares[-1] * squares.mean())
