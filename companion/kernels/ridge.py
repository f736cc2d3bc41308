"""Ridge regression on noisy statistics (sum x x', sum r x), as the private LinUCBs fit
it."""

from companion.jit import jit
from companion.kernels.linalg import copy, inverse, matvec
from companion.kernels.mechanisms import clip_record, pack_statistics


@jit
def clipped_statistics(offset, x, r, clean, packed):
    """packed <- (x x', r x) of the clipped record, clean (d,) <- its context; 1 if the
    record was outside the universe, else 0."""
    r, clipped = clip_record(offset, x, r, clean)
    pack_statistics(clean, r, packed)
    return clipped


@jit
def fit(s, ridge):
    """s.V_inv <- (s.G + ridge I)^-1 and s.theta <- s.V_inv s.b; returns whether that
    worked.

    A noisy Gram matrix s.G may stay indefinite; its inverse is then used as it is.  One
    that has no inverse (a shuffler's noise is discrete) leaves the last model in force.
    """
    A = s.work[0]
    copy(s.G, A)
    for i in range(A.shape[0]):
        A[i, i] += ridge
    if not inverse(A, A, s.work[1]):
        return False
    copy(A, s.V_inv)
    matvec(s.V_inv, s.b, s.theta)
    return True
