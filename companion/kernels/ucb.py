"""The arm with the largest upper confidence bound, of all arms or of those that are not ruled out.

An arm x has the bound x'theta + width sqrt(x'Ax), A a symmetric matrix.  Rounding makes forms of
long contexts negative: they count as 0.  The first arm wins ties; identical arms tie.
Source: Abbasi-Yadkori, Pal and Szepesvari (2011), section 4; ruling out: Even-Dar, Mannor and
Mansour (2006).
"""

import math

import numpy as np

from companion.jit import jit
from companion.kernels.glm import mean
from companion.kernels.linalg import dot, quad

TINY = 1e-300  # keeps the bound above forms of contexts whose squares vanish


@jit
def optimistic_arm(X, V_inv, theta, width):
    """First row of X (K, d) with the largest x'theta + width sqrt(x'V_inv x).

    The quadratic form is computed only of arms that may beat the best so far, for it is at most
    ||x||^2 times `row_sum`: with 100 arms in five dimensions a round of LinUCB takes half the time.
    """
    bound = form_bound(V_inv, width)
    best, arm = -np.inf, 0
    for k in range(X.shape[0]):
        middle, size = 0.0, 0.0
        for i in range(X.shape[1]):
            middle += X[k, i] * theta[i]
            size += X[k, i] * X[k, i]
        gap = best - middle
        if gap > 0.0 and gap * gap >= bound * size:
            continue
        ucb = middle + width * math.sqrt(max(quad(V_inv, X[k]), 0.0))
        if ucb > best:
            best, arm = ucb, k
    return arm


@jit
def form_bound(A, width):
    """Times ||x||^2 it is at least width^2 x'Ax, by more than rounding, for a symmetric A."""
    return width * width * (1.0 + 1e-9) * row_sum(A)


@jit
def beaten(gap, bound, x):
    """Whether the arm x, whose score is `gap` below the best index so far, can have none above it:
    bound is the `form_bound` of its width."""
    return gap >= 0.0 and gap * gap >= bound * (dot(x, x) + TINY)


@jit
def row_sum(A):
    """The largest sum of absolute entries of a row: at least every eigenvalue of a symmetric A."""
    top = 0.0
    for i in range(A.shape[0]):
        row = 0.0
        for j in range(A.shape[1]):
            row += abs(A[i, j])
        top = max(top, row)
    return top


# Two estimates in one round: the first one rules arms out, the second one ranks those left.
#
# An arm x has a score x'first and the half-width w sqrt(x'Ax) around it; it is ruled out if its
# upper end lies below the lower end of some other arm.  The rest have the index x'second +
# v sqrt(x'Bx).  Bounds from norms leave out the forms that cannot matter.

# rows of a table (4, K): x'first, half-width, ||x||^2, x'second
FIRST, HALF, SIZE, SECOND = range(4)
UNKNOWN = -1.0  # a half-width that nobody has needed so far
SLACK = 1e-12  # of a difference that rounding can move


@jit
def tabulate(X, first, second, table):
    """table (4, K) <- what a round needs of every row of X (K, d); half-widths are unknown."""
    for k in range(X.shape[0]):
        a, b, size = 0.0, 0.0, 0.0
        for i in range(X.shape[1]):
            a += X[k, i] * first[i]
            b += X[k, i] * second[i]
            size += X[k, i] * X[k, i]
        table[FIRST, k], table[HALF, k] = a, UNKNOWN
        table[SIZE, k], table[SECOND, k] = size, b


@jit
def widest(X, A, least, table):
    """(largest x'Ax of the rows of X (K, d), the first row that has it); A is symmetric.

    Below `least` another row, or (-inf, 0), may be returned: nobody asks which one it is.
    """
    bound, best, arm = form_bound(A, 1.0), -np.inf, 0
    for k in range(X.shape[0]):
        if bound * (table[SIZE, k] + TINY) < max(best, least):
            continue
        form = quad(A, X[k])
        if form > best:
            best, arm = form, k
    return best, arm


@jit
def half_width(X, A, width, k, table):
    """width sqrt(x'Ax) of row k of X, computed once.  Rounding makes forms of long contexts (1e8)
    negative, here and below: they count as 0."""
    if table[HALF, k] == UNKNOWN:
        table[HALF, k] = width * math.sqrt(max(quad(A, X[k]), 0.0))
    return table[HALF, k]


@jit
def least_form(A):
    """Times ||x||^2 it is at most x'Ax, by more than rounding, for a symmetric A; 0 if nothing
    above it is sure (Gershgorin's circles)."""
    least = np.inf
    for i in range(A.shape[0]):
        row = A[i, i]
        for j in range(A.shape[1]):
            if j != i:
                row -= abs(A[i, j])
        least = min(least, row)
    return max(least - 1e-9 * row_sum(A), 0.0)


@jit
def best_lower(X, A, width, table):
    """Largest lower end of the arms: whose upper one is below it is ruled out."""
    low, bound = -np.inf, width * width * least_form(A)
    for k in range(X.shape[0]):
        score = table[FIRST, k]
        gap = (score - low) * (1.0 + SLACK) + SLACK * abs(score)
        if gap > 0.0 and not bound * table[SIZE, k] >= gap * gap:
            low = max(low, score - half_width(X, A, width, k, table))
    return low


@jit
def survives(X, A, width, low, k, table):
    """Whether the upper end of row k of X is not below `low`."""
    score = table[FIRST, k]
    return score >= low or score + half_width(X, A, width, k, table) >= low


@jit
def best_left(X, A, reach, low, B, width, table):
    """First arm with the largest index x'second + width sqrt(x'Bx) of those that survive, with
    half-widths reach sqrt(x'Ax)."""
    bound, best, arm = form_bound(B, width), -np.inf, 0
    for k in range(X.shape[0]):
        score = table[SECOND, k]
        gap = best - score - SLACK * (abs(best) + abs(score))
        if gap >= 0.0 and gap * gap >= bound * (table[SIZE, k] + TINY):
            continue
        index = score + width * math.sqrt(max(quad(B, X[k]), 0.0))
        if index > best and survives(X, A, reach, low, k, table):
            best, arm = index, k
    return arm


@jit
def optimistic_mean(link, theta, A_inv, width, X):
    """First row of X (K, d) with the largest mean(x'theta) + width ||x||_{A^-1}; forms are computed
    only of arms that may beat the best so far."""
    bound, best, arm = form_bound(A_inv, width), -np.inf, 0
    for k in range(X.shape[0]):
        middle = mean(link, dot(X[k], theta))
        if beaten(best - middle, bound, X[k]):
            continue
        index = middle + width * math.sqrt(max(quad(A_inv, X[k]), 0.0))
        if index > best:
            best, arm = index, k
    return arm
