"""The inverse that ridge regression on noisy statistics needs, of a symmetric matrix that is nearly
always definite.

A sweep of row k solves for coordinate k and leaves a symmetric matrix, so half of it is enough;
after all sweeps it is minus the inverse.  The pivots are those of a Cholesky factor, squared: if
one is not positive, Gauss-Jordan with pivoting (`linalg.inverse`) does it instead.
Source: Goodnight (1979), the sweep operator.
Cost: d^3/2 multiplications, half of `linalg.inverse`: 0.1 microseconds at d = 5, 13 at d = 50
(there 36).
"""

from companion._jit import jit
from companion._types import Array
from companion.kernels.linalg import copy, inverse


@jit
def ridge_inverse(G: Array, ridge: float, out: Array, work: Array) -> bool:
    """out <- (G + ridge I)^-1 for a symmetric G (d, d), of which the lower triangle is read.

    work (2, d, d) is overwritten.  Returns False, and leaves out as it is, if there is no inverse.
    """
    d, A, v = G.shape[0], work[0], work[1, 0]
    lower(G, ridge, A)
    for k in range(d):
        if not A[k, k] > 0.0:
            return indefinite_inverse(G, ridge, out, work)
        c = 1.0 / A[k, k]
        for j in range(k):
            v[j] = A[k, j]
        v[k] = 0.0
        for j in range(k + 1, d):
            v[j] = A[j, k]
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
def lower(G: Array, ridge: float, out: Array) -> None:
    """Lower triangle of out <- that of G + ridge I."""
    for i in range(G.shape[0]):
        for j in range(i):
            out[i, j] = G[i, j]
        out[i, i] = G[i, i] + ridge


@jit
def indefinite_inverse(G: Array, ridge: float, out: Array, work: Array) -> bool:
    """`ridge_inverse` of a matrix that need not be definite."""
    A = work[0]
    lower(G, ridge, A)
    for i in range(G.shape[0]):
        for j in range(i):
            A[j, i] = A[i, j]
    found = inverse(A, A, work[1])
    if found:
        copy(A, out)
    return found
