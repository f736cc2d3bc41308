"""Optimism: the arm with the largest upper confidence bound of a linear score.

Cost: of K arms in R^d, K d^2/2 multiplications.  From WIDE arms on they are the innermost loop (the
contexts are transposed once), which the compiler turns into vector instructions: at K = 100, d = 5
that takes 0.6 microseconds where one arm after another takes 0.4 (most arms ruled out by their
means) to 2.  An arm's own operations and their order are the same either way, so its bits are too.
The *floor* that Cost lines of policies count in is a pass over the contexts with one product per
arm, and the noise that is drawn, at T = 20000, K = 100, d = 5, timed in alternation
(`python -m benchmarks floors`).
"""

import numpy as np

from companion._jit import jit
from companion._types import Array
from companion.kernels.linalg import dot, quad

WIDE = 16  # arms from which transposing pays


@jit
def combined(weights: Array, n: int, rows: Array, out: Array) -> None:
    """out (K,) <- sum over j < n of weights[j] rows[j], added in this order, two rows at a time."""
    out[:] = 0.0
    if n % 2 == 1:
        a, x = weights[0], rows[0]
        for k in range(out.shape[0]):
            out[k] = a * x[k]
    for j in range(n % 2, n, 2):
        a, x, b, z = weights[j], rows[j], weights[j + 1], rows[j + 1]
        for k in range(out.shape[0]):
            out[k] = (out[k] + a * x[k]) + b * z[k]


@jit
def scores(X: Array, theta: Array, A: Array) -> Array:
    """(2, K): x'theta and x'Ax of every row x of X (K, d); A is symmetric, its lower triangle read.

    The result is a new array: its size follows the arms, which Params need not know.
    """
    K, d = X.shape
    out = np.empty((d + 3, K))
    mean, form, row, columns = out[0], out[1], out[2], out[3:]
    for k in range(K):
        for i in range(d):
            columns[i, k] = X[k, i]
    combined(theta, d, columns, mean)
    form[:] = 0.0
    for i in range(d):
        combined(A[i], i, columns, row)
        c, x = A[i, i], columns[i]
        for k in range(K):
            form[k] += x[k] * (c * x[k] + 2.0 * row[k])
    return out[:2]


@jit
def optimistic_arm(X: Array, V_inv: Array, theta: Array, width: float) -> int:
    """First arm with the largest X[k]'theta + width sqrt(X[k]'V_inv X[k]).

    Negative quadratic forms count as 0.  The square root is taken only for arms that beat the best
    so far.
    """
    wide = X.shape[0] >= WIDE
    known = scores(X, theta, V_inv) if wide else X
    best, arm = -np.inf, 0
    for k in range(X.shape[0]):
        mean = known[0, k] if wide else dot(X[k], theta)
        form = max(known[1, k] if wide else quad(V_inv, X[k]), 0.0)
        gap = best - mean
        if gap >= 0.0 and gap * gap >= width * width * form:
            continue
        best, arm = mean + width * np.sqrt(form), k
    return arm
