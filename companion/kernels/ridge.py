"""The inverse that ridge regression on noisy statistics needs: of a symmetric matrix, which noise
may make indefinite.

A sweep of coordinate k solves for it and leaves a symmetric matrix, so half of it is enough; after
all sweeps, in any order, it is minus the inverse.  The next coordinate is the one with the largest
pivot: a definite matrix always has one that is large enough.  Where the pivot is below WEAK times
its column, which happens to one in a hundred matrices of noise, Gauss-Jordan (`linalg.inverse`)
does it all; above, a sweep makes no entry more than 1 + 1/WEAK times larger.
Source: Goodnight (1979), the sweep operator; the pivots are Bunch and Parlett's of one row.
Cost: d^3/2 multiplications, half of `linalg.inverse`: 13 microseconds at d = 50 (there 36).
"""

from companion._borrowed import lean
from companion._types import Array
from companion.kernels.linalg import copy, inverse

WEAK = 0.1  # least pivot, in units of the largest entry of its column that is not swept


@lean
def ridge_inverse(G: Array, ridge: float, out: Array, work: Array) -> bool:
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


@lean
def column(A: Array, k: int, left: Array, v: Array) -> float:
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


@lean
def lower(G: Array, ridge: float, out: Array) -> None:
    """Lower triangle of out <- that of G + ridge I."""
    for i in range(G.shape[0]):
        for j in range(i):
            out[i, j] = G[i, j]
        out[i, i] = G[i, i] + ridge


@lean
def pivoted_inverse(G: Array, ridge: float, out: Array, work: Array) -> bool:
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
