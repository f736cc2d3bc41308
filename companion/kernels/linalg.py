"""Small dense linear algebra for kernels: loops, which up to d = 10 are faster than BLAS.

Every function takes C-contiguous float64 arrays and checks nothing.  What is overwritten
is said in the docstring.
Source: Golub and Van Loan (2013), chapters 3, 4 and 8; More and Sorensen (1983) for the
ball; Friedman, Hastie and Tibshirani (2010), section 2, for the lasso on its normal
equations.
"""

import math
from typing import NamedTuple

import numpy as np

from companion.jit import jit

SWEEPS = 10_000  # of the lasso, at most; the chapters need up to a thousand
EXACT = 1e-14  # a relative move below this is rounding


@jit
def dot(a, b):
    """a'b for vectors of one length."""
    s = 0.0
    for i in range(a.shape[0]):
        s += a[i] * b[i]
    return s


@jit
def norm(a):
    """Euclidean norm of a vector."""
    return np.sqrt(dot(a, a))


@jit
def axpy(c, x, y):
    """y <- y + c x."""
    for i in range(x.shape[0]):
        y[i] += c * x[i]


@jit
def copy(a, out):
    """out <- a, two arrays of one shape; `out[:] = a` takes two seconds to compile."""
    for i, v in np.ndenumerate(a):
        out[i] = v


@jit
def set_identity(c, out):
    """out <- c I."""
    out[:] = 0.0
    for i in range(out.shape[0]):
        out[i, i] = c


@jit
def matvec(A, x, out):
    """out <- A x."""
    for i in range(A.shape[0]):
        out[i] = dot(A[i], x)


@jit
def quad(A, x):
    """x'Ax for a symmetric A; the lower triangle is read."""
    s = 0.0
    for i in range(x.shape[0]):
        row = 0.0
        for j in range(i):
            row += A[i, j] * x[j]
        s += x[i] * (A[i, i] * x[i] + 2.0 * row)
    return s


@jit
def add_outer(c, x, A):
    """A <- A + c x x'."""
    for i in range(x.shape[0]):
        for j in range(x.shape[0]):
            A[i, j] += c * x[i] * x[j]


@jit
def sherman_morrison(A_inv, x, work):
    """A_inv <- (A + x x')^-1 for a symmetric positive definite A; work (d,) is
    overwritten."""
    matvec(A_inv, x, work)
    c = 1.0 / (1.0 + dot(x, work))
    for i in range(x.shape[0]):
        for j in range(x.shape[0]):
            A_inv[i, j] -= c * work[i] * work[j]


@jit
def inverse(A, out, work):
    """out <- A^-1 by Gauss-Jordan with partial pivoting, in place; A need not be
    definite.

    The first row of work (d, d) is overwritten; A and out may be the same array.  Returns
    False (and leaves out undefined) if a pivot is zero.  A column that is done holds the
    inverse's: the bits are those of the elimination on A and I side by side, without its
    zeros and ones.
    """
    d = A.shape[0]
    turned = False
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
    # rows that were exchanged are columns here
    for k in range(d - 1 if turned else -1, -1, -1):
        p = int(work[0, k])
        for i in range(d):
            out[i, k], out[i, p] = out[i, p], out[i, k]
    return True


@jit
def cholesky(A, L):
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


@jit
def cholesky_solve(L, b, out):
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


@jit
def project_ball(x, radius):
    """x <- its projection on the ball of the given radius around 0; True if x was
    outside."""
    n = norm(x)
    if not n > radius:
        return False
    for i in range(x.shape[0]):
        x[i] *= radius / n
    return True


@jit
def project_ball_in_norm(S, z, radius, L, work, out):
    """out <- argmin (v - z)'S(v - z) over ||v|| <= radius; S (d, d) is positive definite.

    The solution is v(m) = (S + m I)^-1 S z with the multiplier m >= 0 at which ||v(m)|| =
    radius. Newton's method on 1/||v(m)|| = 1/radius from m = 0 climbs monotonically to
    the root (More and Sorensen 1983).  L (d, d) and work (d,) are overwritten.
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


@jit
def jacobi(A, rows):
    """Diagonalise the symmetric A (m, m): its diagonal becomes the eigenvalues, row i of
    rows the i-th eigenvector.

    A is overwritten.  Sweeps stop when everything off the diagonal is below 1e-15 of the
    Frobenius norm; 30 sweeps are never reached for m <= 10 (convergence is quadratic).
    """
    m = A.shape[0]
    set_identity(1.0, rows)
    for _ in range(30):
        off = 0.0
        total = 0.0
        for i in range(m):
            total += A[i, i] * A[i, i]
            for j in range(i):
                off += 2.0 * A[i, j] * A[i, j]
        if off <= 1e-30 * (off + total):
            break
        for i in range(m):
            for j in range(i + 1, m):
                rotate(A, rows, i, j)


@jit
def rotate(A, rows, i, j):
    """One Jacobi rotation in the plane (i, j), which sets A[i, j] to zero."""
    if A[i, j] == 0.0:
        return
    ratio = (A[j, j] - A[i, i]) / (2.0 * A[i, j])
    t = (1.0 if ratio >= 0.0 else -1.0) / (abs(ratio) + math.hypot(ratio, 1.0))
    c = 1.0 / math.sqrt(1.0 + t * t)
    s = t * c
    m = A.shape[0]
    for k in range(m):
        x = A[k, i]
        y = A[k, j]
        A[k, i], A[k, j] = c * x - s * y, s * x + c * y
    for k in range(m):
        x = A[i, k]
        y = A[j, k]
        A[i, k], A[j, k] = c * x - s * y, s * x + c * y
        x = rows[i, k]
        y = rows[j, k]
        rows[i, k], rows[j, k] = c * x - s * y, s * x + c * y


class Gram(NamedTuple):
    """X'X, row by row: a row takes in new rows of data when it is read, for few are."""

    # (m, d) row a: X'X of coordinate index[a], over the first seen[a] rows of X
    rows: np.ndarray
    index: np.ndarray  # (m,) coordinates
    seen: np.ndarray  # (m,)
    X: np.ndarray  # (n or more, d) rows of data


@jit
def whole(G, a, n):
    """Row a of G, over at least n rows of X: those that it lacks enter in their order."""
    row = G.rows[a]
    j = G.index[a]
    for i in range(G.seen[a], n):
        axpy(G.X[i, j], G.X[i], row)
    G.seen[a] = max(G.seen[a], n)
    return row


@jit
def lasso_descent(G, n, active, penalty, tolerance, theta, q):
    """Coordinate descent of the lasso: theta <- argmin over its coordinates
    G.index[:active] of theta'G theta / 2 - c'theta + penalty ||theta||_1, for X'X over n
    rows (0 if all rows of G are whole); q (d,) = c - G theta is kept up to date.

    Sweeps until the largest move is at most `tolerance`, or rounding.  A coordinate that
    is 0 and stays there needs no row.  Returns False if that took more than `SWEEPS`
    sweeps: theta is then where the last of them left it.
    """
    for _ in range(SWEEPS):
        change = 0.0
        largest = 0.0
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
