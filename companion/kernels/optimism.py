"""Optimism: the arm with the largest upper confidence bound of a linear score.

Cost: of K arms in R^d, K d^2/2 multiplications at most.  `optimistic_arm` takes 2 K d and bounds an
arm's width by its norm: of 100 arms, 6 to 11 are left in a late round, of which 5 are the best so
far when their turn comes.
The *floor* that Cost lines of policies count in is a pass over the contexts with one product per
arm, and the noise that is drawn, at T = 20000, K = 100, d = 5, timed in alternation
(`python -m benchmarks floors`).
"""

import numpy as np

from companion._borrowed import lean
from companion._types import Array
from companion.kernels.linalg import dot, quad

MANY = 8  # arms from which bounding quadratic forms pays
TINY = 1e-300  # keeps the bound above forms of contexts whose squares vanish


@lean
def optimistic_arm(X: Array, V_inv: Array, theta: Array, width: float) -> int:
    """First arm with the largest X[k]'theta + width sqrt(X[k]'V_inv X[k]); V_inv is symmetric.

    Negative quadratic forms count as 0.  The square root is taken only for arms that beat the best
    so far; from MANY arms on the quadratic form, too, only for arms that may, for it is at most
    ||x||^2 times the largest sum of absolute entries of a row.
    """
    many = X.shape[0] >= MANY
    bound = form_bound(V_inv, width) if many else np.inf
    best, arm = -np.inf, 0
    for k in range(X.shape[0]):
        mean, size = 0.0, TINY
        if many:
            for i in range(X.shape[1]):
                mean += X[k, i] * theta[i]
                size += X[k, i] * X[k, i]
        else:
            mean = dot(X[k], theta)
        gap = best - mean
        if gap >= 0.0 and gap * gap >= bound * size:
            continue
        form = max(quad(V_inv, X[k]), 0.0)
        if gap >= 0.0 and gap * gap >= width * width * form:
            continue
        index = mean + width * np.sqrt(form)
        if index > best:  # squares are rounded: without this a later, identical arm may win
            best, arm = index, k
    return arm


@lean
def form_bound(A: Array, width: float) -> float:
    """Times ||x||^2 it is at least width^2 x'Ax, by more than rounding, for a symmetric A."""
    return width * width * (1.0 + 1e-9) * row_sum(A)


@lean
def beaten(gap: float, bound: float, x: Array) -> bool:
    """Whether the arm x, whose score is `gap` below the best index so far, can have none above it:
    bound is the `form_bound` of its width."""
    return gap >= 0.0 and gap * gap >= bound * (dot(x, x) + TINY)


@lean
def row_sum(A: Array) -> float:
    """The largest sum of absolute entries of a row: at least every eigenvalue of a symmetric A."""
    top = 0.0
    for i in range(A.shape[0]):
        row = 0.0
        for j in range(A.shape[1]):
            row += abs(A[i, j])
        top = max(top, row)
    return top


@lean
def same_arms(X: Array, t: int) -> bool:
    """Whether the arms of round t >= 1 of X (n, K, d) are those of the round before, entry by
    entry.

    Asks the first arm first, where arms that are new differ; the rest is counted to the end, which
    the compiler turns into vector instructions.
    """
    _, K, d = X.shape
    for i in range(d):
        if X[t, 0, i] != X[t - 1, 0, i]:
            return False
    others = 0
    for k in range(K):
        for i in range(d):
            others += X[t, k, i] != X[t - 1, k, i]
    return others == 0
