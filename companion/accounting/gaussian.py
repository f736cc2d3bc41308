"""The Gaussian mechanism's exact bound and its two inverses, of checked arguments.

Policies of one budget are made again and again, so what was searched for is remembered.
Source: Balle and Wang (2018), Theorem 8.
"""

from functools import lru_cache

import numpy as np
from scipy.optimize import brentq
from scipy.special import log_ndtr, ndtr


def delta_at(epsilon: float, a: float) -> float:
    """Smallest delta at a = sensitivity / sigma > 0 and epsilon >= 0."""
    with np.errstate(over="ignore"):  # far below the answer the bound is -inf, which is below delta
        return float(ndtr(a / 2 - epsilon / a) - np.exp(epsilon + log_ndtr(-a / 2 - epsilon / a)))


@lru_cache(maxsize=1024)
def epsilon_at(delta: float, a: float) -> float:
    """Smallest epsilon >= 0 at this delta and a = sensitivity / sigma > 0."""
    if delta_at(0.0, a) <= delta:
        return 0.0
    # log of the loss tail: epsilon = a^2/2 + a z is enough when Phi(-z) = delta.
    high = a * a / 2 + a * 40.0
    if a > 1e8:  # where rounding hides the tail; what is enough is at most 1e-6 of it too large
        return high
    return float(brentq(lambda e: delta_at(e, a) - delta, 0.0, high, xtol=1e-13, rtol=1e-13))


@lru_cache(maxsize=1024)
def unit_scale(epsilon: float, delta: float) -> float:
    """Smallest sigma for sensitivity 1 at a finite budget."""
    low, high = 1e-3, 1e3
    while delta_at(epsilon, 1.0 / low) <= delta:
        low /= 10.0
    while delta_at(epsilon, 1.0 / high) > delta:
        high *= 10.0
    return float(
        brentq(lambda s: delta_at(epsilon, 1.0 / s) - delta, low, high, xtol=1e-15, rtol=1e-14)
    )
