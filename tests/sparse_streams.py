"""Streams whose rewards two coordinates make, for tests of FLIPHAT and its kin."""

from functools import partial

import numpy as np
import streams
from scipy import stats as sps

run = partial(streams.run, seed=0)  # (arms, state) of a policy on X, R


def stream(n, d, K=2, seed=1):
    """X (n, K, d) normal, R (n, K) = X[..., 0] - X[..., 1] / 2 with normal noise of 0.1."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, K, d))
    return X, X[:, :, 0] - 0.5 * X[:, :, 1] + 0.1 * rng.standard_normal((n, K))


def distances(a, b):
    """(largest |z| of the means, smallest Kolmogorov-Smirnov p-value) over the columns."""
    gap = a.mean(axis=0) - b.mean(axis=0)
    se = np.sqrt(a.var(axis=0) / len(a) + b.var(axis=0) / len(b))
    return np.abs(gap / se).max(), sps.ks_2samp(a, b, axis=0).pvalue.min()
