"""Coordinate descent for the lasso on its normal equations: the solver of the lasso bandits.

Source: Friedman, Hastie and Tibshirani (2010), section 2.
A Gram row takes in new rows of data when it is read: few are.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from companion.jit import jit
from companion.kernels.linalg import axpy

SWEEPS = 10_000  # at most; the chapters need up to a thousand
EXACT = 1e-14  # a relative move below this is rounding


class Gram(NamedTuple):
    """X'X, row by row, as far as anybody has read it."""

    rows: np.ndarray  # (m, d) row a: X'X of coordinate index[a], over the first seen[a] rows of X
    index: np.ndarray  # (m,) coordinates
    seen: np.ndarray  # (m,)
    X: np.ndarray  # (n or more, d) rows of data


@jit
def whole(G, a, n):
    """Row a of G, over at least n rows of X: those that it lacks enter in their order."""
    row, j = G.rows[a], G.index[a]
    for i in range(G.seen[a], n):
        axpy(G.X[i, j], G.X[i], row)
    G.seen[a] = max(G.seen[a], n)
    return row


@jit
def descend(G, n, active, penalty, tolerance, theta, q):
    """Sweep until the largest move is at most `tolerance`, or rounding: theta <- argmin over its
    coordinates G.index[:active] of theta'G theta / 2 - c'theta + penalty ||theta||_1, for X'X over
    n rows (0 if all rows of G are whole); q (d,) = c - G theta is kept up to date.  A coordinate
    that is 0 and stays there needs no row.  Returns False if that took more than `SWEEPS` sweeps:
    theta is then where the last of them left it.
    """
    for _ in range(SWEEPS):
        change, largest = 0.0, 0.0
        for a in range(active):
            j = G.index[a]
            old = theta[j]
            if old == 0.0 and abs(q[j]) <= penalty:
                continue
            row = whole(G, a, n)
            curvature = row[j]
            if curvature > 0.0:
                z = q[j] + curvature * old
                new = np.sign(z) * max(abs(z) - penalty, 0.0) / curvature
                if new != old:
                    theta[j] = new
                    axpy(old - new, row, q)
                    change = max(change, abs(new - old))
                largest = max(largest, abs(new))
        if not change > max(tolerance, EXACT * largest):
            return True
    return False
