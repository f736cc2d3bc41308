"""Small dense linear algebra for kernels: loops that beat BLAS up to d = 10 and compile fast.

Every function takes C-contiguous float64 arrays and checks nothing.  What is overwritten is said in
the docstring.

Eigenvalues of small symmetric matrices, and least squares in the unit ball, for kernels.

Source: Jacobi's method with cyclic sweeps (Golub and Van Loan, section 8.5); More and Sorensen
(1983) for the ball.

The inverse that ridge regression on noisy statistics needs: of a symmetric matrix, which noise
may make indefinite.

A sweep of coordinate k solves for it and leaves a symmetric matrix, so half of it is enough; after
all sweeps, in any order, it is minus the inverse.  The next coordinate is the one with the largest
pivot: a definite matrix always has one that is large enough.  Where the pivot is below WEAK times
its column, which happens to one in a hundred matrices of noise, Gauss-Jordan (`linalg.inverse`)
does it all; above, a sweep makes no entry more than 1 + 1/WEAK times larger.
Source: Goodnight (1979), the sweep operator; the pivots are Bunch and Parlett's of one row.
Cost: d^3/2 multiplications, half of `linalg.inverse`: 13 microseconds at d = 50 (there 36).
"""

import math

import numpy as np

from companion.jit import jit

WIDE = 20  # dimension from which four sums side by side pay


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
    """out <- a, two arrays of one shape; a whole slice would take two seconds to compile."""
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


@jit
def quad(A, x):
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


@jit
def wide_quad(A, x):
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


@jit
def add_outer(c, x, A):
    """A <- A + c x x'."""
    for i in range(x.shape[0]):
        for j in range(x.shape[0]):
            A[i, j] += c * x[i] * x[j]


@jit
def sherman_morrison(A_inv, x, work):
    """A_inv <- (A + x x')^-1 for a symmetric positive definite A; work (d,) is overwritten."""
    matvec(A_inv, x, work)
    c = 1.0 / (1.0 + dot(x, work))
    for i in range(x.shape[0]):
        for j in range(x.shape[0]):
            A_inv[i, j] -= c * work[i] * work[j]


@jit
def inverse(A, out, work):
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
    """x <- its projection on the ball of the given radius around 0; True if x was outside."""
    n = norm(x)
    if not n > radius:
        return False
    for i in range(x.shape[0]):
        x[i] *= radius / n
    return True


@jit
def project_ball_in_norm(S, z, radius, L, work, out):
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


@jit
def jacobi(A, rows):
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
        x, y = A[k, i], A[k, j]
        A[k, i], A[k, j] = c * x - s * y, s * x + c * y
    for k in range(m):
        x, y = A[i, k], A[j, k]
        A[i, k], A[j, k] = c * x - s * y, s * x + c * y
        x, y = rows[i, k], rows[j, k]
        rows[i, k], rows[j, k] = c * x - s * y, s * x + c * y


@jit
def ball_least_squares(A, b, rows, work, out):
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


@jit
def ball_norm(A, b, t):
    """Norm of (A_+ + t I)^-1 b for a diagonal A; infinite if it does not exist."""
    total = 0.0
    for i in range(b.shape[0]):
        a = max(A[i, i], 0.0) + t
        if a > 0.0:
            total += (b[i] / a) ** 2
        elif b[i] != 0.0:
            return math.inf
    return math.sqrt(total)


WEAK = 0.1  # least pivot, in units of the largest entry of its column that is not swept


@jit
def ridge_inverse(G, ridge, out, work):
    """out <- (G + ridge I)^-1 for a symmetric G (d, d), of which the lower triangle is read.

    work (3, d, d) is overwritten.  Returns False, and leaves out as it is, if there is no inverse.
    """
    d, A, v, left = G.shape[0], work[0], work[1, 0], work[2, 0]
    lower(G, ridge, A)
    for i in range(d):
        left[i] = 1.0
    for _ in range(d):
        k = -1
        for i in range(d):
            if left[i] > 0.0 and (k < 0 or abs(A[i, i]) > abs(A[k, k])):
                k = i
        left[k] = 0.0
        if not column(A, k, left, v) * WEAK < abs(A[k, k]):
            return pivoted_inverse(G, ridge, out, work)
        c = 1.0 / A[k, k]
        for i in range(d):
            f = c * v[i]
            for j in range(i + 1):
                A[i, j] -= f * v[j]
        for j in range(k):
            A[k, j] = c * v[j]
        A[k, k] = -c
        for i in range(k + 1, d):
            A[i, k] = c * v[i]
    for i in range(d):
        for j in range(i + 1):
            out[i, j] = -A[i, j]
            out[j, i] = -A[i, j]
    return True


@jit
def column(A, k, left, v):
    """v <- column k of a symmetric A, with 0 at k; the lower triangle is read.

    Returns the largest size of an entry whose coordinate is left.
    """
    top = 0.0
    for j in range(k):
        v[j] = A[k, j]
        top = max(top, left[j] * abs(v[j]))
    v[k] = 0.0
    for j in range(k + 1, A.shape[0]):
        v[j] = A[j, k]
        top = max(top, left[j] * abs(v[j]))
    return top


@jit
def lower(G, ridge, out):
    """Lower triangle of out <- that of G + ridge I."""
    for i in range(G.shape[0]):
        for j in range(i):
            out[i, j] = G[i, j]
        out[i, i] = G[i, i] + ridge


@jit
def pivoted_inverse(G, ridge, out, work):
    """`ridge_inverse` by exchanges of rows: out <- (G + ridge I)^-1; work is overwritten.

    Returns whether there is an inverse.
    """
    A = work[0]
    lower(G, ridge, A)
    for i in range(G.shape[0]):
        for j in range(i):
            A[j, i] = A[i, j]
    found = inverse(A, A, work[1])
    if found:
        copy(A, out)
    return found
