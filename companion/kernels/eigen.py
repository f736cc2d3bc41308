"""Eigenvalues of small symmetric matrices, and least squares in the unit ball, for kernels.

Source: Jacobi's method with cyclic sweeps (Golub and Van Loan, section 8.5); More and Sorensen
(1983) for the ball.
"""

import math
from typing import Any

from companion._borrowed import lean
from companion._types import Array


@lean
def jacobi(A: Array, rows: Any) -> None:
    """Diagonalise the symmetric A (m, m): its diagonal becomes the eigenvalues, row i of rows the
    i-th eigenvector.

    A is overwritten.  Sweeps stop when everything off the diagonal is below 1e-15 of the Frobenius
    norm; 30 sweeps are never reached for m <= 10 (convergence is quadratic).
    """
    m = A.shape[0]
    for i in range(m):
        for j in range(m):
            rows[i, j] = 1.0 if i == j else 0.0
    for _ in range(30):
        off, total = 0.0, 0.0
        for i in range(m):
            total += A[i, i] * A[i, i]
            for j in range(i):
                off += 2.0 * A[i, j] * A[i, j]
        if off <= 1e-30 * (off + total):
            break
        for i in range(m):
            for j in range(i + 1, m):
                rotate(A, rows, i, j)


@lean
def rotate(A: Array, rows: Array, i: int, j: int) -> None:
    """One Jacobi rotation in the plane (i, j), which sets A[i, j] to zero."""
    if A[i, j] == 0.0:
        return
    ratio = (A[j, j] - A[i, i]) / (2.0 * A[i, j])
    t = (1.0 if ratio >= 0.0 else -1.0) / (abs(ratio) + math.hypot(ratio, 1.0))
    c = 1.0 / math.sqrt(1.0 + t * t)
    s = t * c
    m = A.shape[0]
    for k in range(m):
        x, y = A[k, i], A[k, j]
        A[k, i], A[k, j] = c * x - s * y, s * x + c * y
    for k in range(m):
        x, y = A[i, k], A[j, k]
        A[i, k], A[j, k] = c * x - s * y, s * x + c * y
        x, y = rows[i, k], rows[j, k]
        rows[i, k], rows[j, k] = c * x - s * y, s * x + c * y


@lean
def ball_least_squares(A: Array, b: Array, rows: Array, work: Array, out: Array) -> None:
    """out <- argmin v'Av/2 - b'v over ||v|| <= 1, with the negative eigenvalues of the symmetric A
    set to 0.

    A, rows (m, m) and work (m,) are overwritten.  In the eigenbasis v_i = b_i / (a_i + t); the
    multiplier t >= 0 that brings the norm down to 1 is found by bisection.
    """
    m = b.shape[0]
    jacobi(A, rows)
    size = 0.0
    for i in range(m):
        work[i] = 0.0
        for k in range(m):
            work[i] += rows[i, k] * b[k]
        size += work[i] * work[i]
    low, high = 0.0, math.sqrt(size)
    if not ball_norm(A, work, 0.0) <= 1.0:
        for _ in range(200):
            middle = 0.5 * (low + high)
            if ball_norm(A, work, middle) > 1.0:
                low = middle
            else:
                high = middle
    else:
        high = 0.0
    for k in range(m):
        out[k] = 0.0
    for i in range(m):
        a = max(A[i, i], 0.0) + high
        for k in range(m):
            out[k] += rows[i, k] * (work[i] / a if a > 0.0 else 0.0)


@lean
def ball_norm(A: Array, b: Array, t: float) -> float:
    """Norm of (A_+ + t I)^-1 b for a diagonal A; infinite if it does not exist."""
    total = 0.0
    for i in range(b.shape[0]):
        a = max(A[i, i], 0.0) + t
        if a > 0.0:
            total += (b[i] / a) ** 2
        elif b[i] != 0.0:
            return math.inf
    return math.sqrt(total)
