"""The arm with the largest upper confidence bound, of all arms or of those that are not
ruled out.

An arm x has the bound mean(x'theta) + width sqrt(x'Ax), A a symmetric matrix.  Rounding
makes forms of long contexts (1e8) negative: they count as 0.  The first arm wins ties;
identical arms tie.
Source: Abbasi-Yadkori, Pal and Szepesvari (2011), section 4; ruling out: Even-Dar, Mannor
and Mansour (2006).
"""

import math

import numpy as np

from companion.jit import jit
from companion.kernels.glm import LINEAR, mean
from companion.kernels.linalg import dot, quad

TINY = 1e-300  # keeps the bound above forms of contexts whose squares vanish


@jit
def row_sum(A):
    """The largest sum of absolute entries of a row: at least every eigenvalue of a
    symmetric A."""
    top = 0.0
    for i in range(A.shape[0]):
        row = 0.0
        for j in range(A.shape[1]):
            row += abs(A[i, j])
        top = max(top, row)
    return top


@jit
def optimistic_mean(link, theta, A_inv, width, X):
    """First row of X (K, d) with the largest mean(x'theta) + width ||x||_{A^-1}.

    The form is computed only of arms that may beat the best so far, for it is at most
    ||x||^2 times `row_sum`: with 100 arms in five dimensions a round of LinUCB takes half
    the time.
    """
    bound = width * width * (1.0 + 1e-9) * row_sum(A_inv)  # by more than rounding
    best = -np.inf
    arm = 0
    for k in range(X.shape[0]):
        z = 0.0
        size = TINY
        for i in range(X.shape[1]):
            z += X[k, i] * theta[i]
            size += X[k, i] * X[k, i]
        middle = mean(link, z)
        gap = best - middle
        if gap >= 0.0 and gap * gap >= bound * size:
            continue
        index = middle + width * math.sqrt(max(quad(A_inv, X[k]), 0.0))
        if index > best:
            best = index
            arm = k
    return arm


@jit
def optimistic_arm(X, V_inv, theta, width):
    """First row of X (K, d) with the largest x'theta + width sqrt(x'V_inv x)."""
    return optimistic_mean(LINEAR, theta, V_inv, width, X)


# Two estimates in one round: the first one rules arms out, the second one ranks those
# left.
#
# An arm x has a score x'first and the half-width w sqrt(x'Ax) around it; it is ruled out
# if its upper end lies below the lower end of some other arm.  The rest have the index
# x'second + v sqrt(x'Bx).


@jit
def widest(X, A, forms):
    """(largest x'Ax of the rows of X (K, d), the first row that has it); forms (K,) <-
    all of them, at least 0."""
    best = -np.inf
    arm = 0
    for k in range(X.shape[0]):
        form = quad(A, X[k])
        forms[k] = max(form, 0.0)
        if form > best:
            best = form
            arm = k
    return best, arm


@jit
def best_left(X, first, forms, reach, second, B, width):
    """First arm with the largest index x'second + width sqrt(x'Bx) of those that are not
    ruled out, with half-widths reach sqrt(forms)."""
    low = -np.inf
    for k in range(X.shape[0]):
        low = max(low, dot(X[k], first) - reach * math.sqrt(forms[k]))
    best = -np.inf
    arm = 0
    for k in range(X.shape[0]):
        if dot(X[k], first) + reach * math.sqrt(forms[k]) >= low:
            index = dot(X[k], second) + width * math.sqrt(max(quad(B, X[k]), 0.0))
            if index > best:
                best = index
                arm = k
    return arm
