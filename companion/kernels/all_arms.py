"""Optimism from the scores of all arms, where no bound leaves an arm out.

Cost: one `scores` and a pass over the arms; at K = 100, d = 5 half of what `optimistic_arm` takes
if it computes the form of every arm, and twice what it takes if a tenth are left.
"""

import numpy as np

from companion._jit import jit
from companion._types import Array
from companion.kernels.optimism import scores


@jit
def optimistic_of_all(X: Array, V_inv: Array, theta: Array, width: float) -> int:
    """The arm of `optimistic_arm`, to the bit: the first one with the largest X[k]'theta + width
    sqrt(X[k]'V_inv X[k]), V_inv symmetric and negative quadratic forms 0.
    """
    both = scores(X, theta, V_inv)
    best, arm = -np.inf, 0
    for k in range(X.shape[0]):
        gap, form = best - both[0, k], max(both[1, k], 0.0)
        if not (gap >= 0.0 and gap * gap >= width * width * form):
            best, arm = both[0, k] + width * np.sqrt(form), k
    return arm
