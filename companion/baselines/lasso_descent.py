"""Coordinate descent for the lasso on its normal equations: the solver of the lasso bandits.

Source: Friedman, Hastie and Tibshirani (2010), section 2.
Cost: O(a) per sweep over a coordinates, and one Gram row for each that moves.
"""

import numpy as np

from companion._jit import jit
from companion._types import Array, Ints
from companion.kernels.linalg import axpy

SWEEPS = 10_000  # at most; the chapters need up to a thousand
EXACT = 1e-14  # a relative move below this is rounding


@jit
def descend(
    G: Array, index: Ints, active: int, penalty: float, tolerance: float, theta: Array, q: Array
) -> bool:
    """Sweep until the largest move is at most `tolerance`, or rounding: theta <- argmin over its
    coordinates index[:active] of theta'G theta / 2 - c'theta + penalty ||theta||_1.

    G[a] is the Gram row of coordinate index[a]; q (d,) = c - G theta is kept up to date.  Returns
    False if that took more than `SWEEPS` sweeps: theta is then where the last of them left it.
    """
    for _ in range(SWEEPS):
        change, largest = 0.0, 0.0
        for a in range(active):
            j = index[a]
            curvature, old = G[a, j], theta[j]
            if curvature > 0.0:
                z = q[j] + curvature * old
                new = np.sign(z) * max(abs(z) - penalty, 0.0) / curvature
                if new != old:
                    theta[j] = new
                    axpy(old - new, G[a], q)
                    change = max(change, abs(new - old))
                largest = max(largest, abs(new))
        if not change > max(tolerance, EXACT * largest):
            return True
    return False
