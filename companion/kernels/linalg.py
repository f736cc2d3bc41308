"""Small dense linear algebra for kernels: loops that beat BLAS up to d = 10 and compile fast.

Every function takes C-contiguous float64 arrays and checks nothing.  What is overwritten is said in
the docstring.
"""

from typing import Any

import numpy as np

from companion._borrowed import lean
from companion._types import Array

WIDE = 20  # dimension from which four sums side by side pay


@lean
def dot(a: Any, b: Any) -> float:
    """a'b for vectors of one length."""
    s = 0.0
    for i in range(a.shape[0]):
        s += a[i] * b[i]
    return s


@lean
def norm(a: Array) -> float:
    """Euclidean norm of a vector."""
    return np.sqrt(dot(a, a))


@lean
def axpy(c: float, x: Array, y: Array) -> None:
    """y <- y + c x."""
    for i in range(x.shape[0]):
        y[i] += c * x[i]


@lean
def copy(a: Array, out: Array) -> None:
    """out <- a, two arrays of one shape; a whole slice would take two seconds to compile."""
    for i, v in np.ndenumerate(a):
        out[i] = v


@lean
def set_identity(c: float, out: Array) -> None:
    """out <- c I."""
    out[:] = 0.0
    for i in range(out.shape[0]):
        out[i, i] = c


@lean
def matvec(A: Array, x: Array, out: Array) -> None:
    """out <- A x; four rows at a time, whose sums do not wait for each other."""
    n = A.shape[0] - A.shape[0] % 4
    for i in range(0, n, 4):
        p, q, r, s = 0.0, 0.0, 0.0, 0.0
        for j in range(A.shape[1]):
            p += A[i, j] * x[j]
            q += A[i + 1, j] * x[j]
            r += A[i + 2, j] * x[j]
            s += A[i + 3, j] * x[j]
        out[i], out[i + 1], out[i + 2], out[i + 3] = p, q, r, s
    for i in range(n, A.shape[0]):
        s = 0.0
        for j in range(A.shape[1]):
            s += A[i, j] * x[j]
        out[i] = s


@lean
def quad(A: Array, x: Array) -> float:
    """x'Ax for a symmetric A; the lower triangle is read."""
    if x.shape[0] >= WIDE:
        return wide_quad(A, x)
    s = 0.0
    for i in range(x.shape[0]):
        row = 0.0
        for j in range(i):
            row += A[i, j] * x[j]
        s += x[i] * (A[i, i] * x[i] + 2.0 * row)
    return s


@lean
def wide_quad(A: Array, x: Array) -> float:
    """`quad` with four rows at a time, whose sums do not wait for each other, from the first entry
    of x that is not 0 to the last: the same bits."""
    total, begin, d = 0.0, 0, x.shape[0]
    while begin < d and x[begin] == 0.0:
        begin += 1
    while d > begin and x[d - 1] == 0.0:
        d -= 1
    n = d - (d - begin) % 4
    for i in range(begin, n, 4):
        p, q, r, s = 0.0, 0.0, 0.0, 0.0
        for j in range(begin, i):
            p += A[i, j] * x[j]
            q += A[i + 1, j] * x[j]
            r += A[i + 2, j] * x[j]
            s += A[i + 3, j] * x[j]
        q += A[i + 1, i] * x[i]
        for j in range(i, i + 2):
            r += A[i + 2, j] * x[j]
        for j in range(i, i + 3):
            s += A[i + 3, j] * x[j]
        total += x[i] * (A[i, i] * x[i] + 2.0 * p)
        total += x[i + 1] * (A[i + 1, i + 1] * x[i + 1] + 2.0 * q)
        total += x[i + 2] * (A[i + 2, i + 2] * x[i + 2] + 2.0 * r)
        total += x[i + 3] * (A[i + 3, i + 3] * x[i + 3] + 2.0 * s)
    for i in range(n, d):
        row = 0.0
        for j in range(begin, i):
            row += A[i, j] * x[j]
        total += x[i] * (A[i, i] * x[i] + 2.0 * row)
    return total


@lean
def add_outer(c: float, x: Array, A: Array) -> None:
    """A <- A + c x x'."""
    for i in range(x.shape[0]):
        for j in range(x.shape[0]):
            A[i, j] += c * x[i] * x[j]


@lean
def sherman_morrison(A_inv: Array, x: Array, work: Array) -> None:
    """A_inv <- (A + x x')^-1 for a symmetric positive definite A; work (d,) is overwritten."""
    matvec(A_inv, x, work)
    c = 1.0 / (1.0 + dot(x, work))
    for i in range(x.shape[0]):
        for j in range(x.shape[0]):
            A_inv[i, j] -= c * work[i] * work[j]


@lean
def inverse(A: Array, out: Array, work: Array) -> bool:
    """out <- A^-1 by Gauss-Jordan with partial pivoting, in place; A need not be definite.

    The first row of work (d, d) is overwritten; A and out may be the same array.  Returns False
    (and leaves out undefined) if a pivot is zero.  A column that is done holds the inverse's: the
    bits are those of the elimination on A and I side by side, without its zeros and ones.
    """
    d, turned = A.shape[0], False
    copy(A, out)
    for k in range(d):
        p = k
        for i in range(k + 1, d):
            if abs(out[i, k]) > abs(out[p, k]):
                p = i
        if out[p, k] == 0.0:
            return False
        work[0, k] = p
        if p != k:
            turned = True
            for j in range(d):
                out[k, j], out[p, j] = out[p, j], out[k, j]
        c = 1.0 / out[k, k]
        out[k, k] = 1.0
        for j in range(d):
            out[k, j] *= c
        for i in range(d):
            if i != k:
                c = out[i, k]
                out[i, k] = 0.0
                for j in range(d):
                    out[i, j] -= c * out[k, j]
    for k in range(d - 1 if turned else -1, -1, -1):  # rows that were exchanged are columns here
        p = int(work[0, k])
        for i in range(d):
            out[i, k], out[i, p] = out[i, p], out[i, k]
    return True


@lean
def cholesky(A: Array, L: Array) -> bool:
    """Lower triangle of L <- Cholesky factor of A, of which the lower triangle is read.

    Returns False (and leaves L undefined) if A is not positive definite.
    """
    for i in range(A.shape[0]):
        for j in range(i + 1):
            s = A[i, j]
            for k in range(j):
                s -= L[i, k] * L[j, k]
            if i == j:
                if not s > 0.0:
                    return False
                L[i, i] = np.sqrt(s)
            else:
                L[i, j] = s / L[j, j]
    return True


@lean
def cholesky_solve(L: Array, b: Array, out: Array) -> None:
    """out <- (L L')^-1 b; b and out may be the same array."""
    d = L.shape[0]
    for i in range(d):
        s = b[i]
        for k in range(i):
            s -= L[i, k] * out[k]
        out[i] = s / L[i, i]
    for i in range(d - 1, -1, -1):
        s = out[i]
        for k in range(i + 1, d):
            s -= L[k, i] * out[k]
        out[i] = s / L[i, i]


@lean
def project_ball(x: Array, radius: float) -> bool:
    """x <- its projection on the ball of the given radius around 0; True if x was outside."""
    n = norm(x)
    if not n > radius:
        return False
    for i in range(x.shape[0]):
        x[i] *= radius / n
    return True


@lean
def project_ball_in_norm(
    S: Array, z: Array, radius: float, L: Array, work: Array, out: Array
) -> None:
    """out <- argmin (v - z)'S(v - z) over ||v|| <= radius; S (d, d) is positive definite.

    The solution is v(m) = (S + m I)^-1 S z with the multiplier m >= 0 at which ||v(m)|| = radius.
    Newton's method on 1/||v(m)|| = 1/radius from m = 0 climbs monotonically to the root (More and
    Sorensen 1983).  L (d, d) and work (d,) are overwritten.
    """
    d = z.shape[0]
    for i in range(d):
        out[i] = z[i]
    if norm(z) <= radius:
        return
    m = 0.0
    for _ in range(100):
        for i in range(d):  # L <- factor of S + m I, with S copied into L first
            for j in range(i + 1):
                L[i, j] = S[i, j]
            L[i, i] += m
        cholesky(L, L)
        matvec(S, z, out)
        cholesky_solve(L, out, out)
        n = norm(out)
        if n <= radius * (1.0 + 1e-13):
            break
        cholesky_solve(L, out, work)
        m += n * n / dot(out, work) * (n - radius) / radius
    project_ball(out, radius)  # the last rounding error
