"""What the tests of the LinUCBs on noisy statistics share."""

import numpy as np
from scipy.stats import chi2
from streams import stream


def one_arm(n, d=3, seed=0):
    """A stream in which there is nothing to choose, so that the exact statistics are known."""
    X, R, _ = stream(n, K=1, d=d, seed=seed)
    return X, R, np.einsum("ti,tj->ij", X[:, 0], X[:, 0]), X[:, 0].T @ R[:, 0]


def packed(G, b):
    """(G, b) as the vector in which the noise of one release is N(0, sigma^2 I)."""
    d = len(b)
    return np.concatenate([np.diag(G), np.sqrt(2) * G[np.tril_indices(d, -1)], b])


def looks_standard(z, level=1e-7):
    """Sum of squares of independent standard normals: two-sided, false alarms 2 * level."""
    total, n = np.sum(np.square(z)), np.size(z)
    return level < chi2.cdf(total, n) and level < chi2.sf(total, n)
