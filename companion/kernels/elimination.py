"""Two estimates in one round: the first one rules arms out, the second one ranks those left.

An arm x has a score x'first and the half-width w sqrt(x'Ax) around it; it is ruled out if its upper
end lies below the lower end of some other arm.  The rest have the index x'second + v sqrt(x'Bx).
Cost: 3 K d multiplications, and d^2/2 for every quadratic form that is needed: of a widest arm, of
a lower end, of an arm at the top of the ranking.  Bounds from norms leave the others out: with 100
arms, a fifth of the forms is computed.  What is chosen does not change, to the bit.
"""

import math

import numpy as np

from companion._borrowed import lean
from companion._types import Array
from companion.kernels.linalg import quad
from companion.kernels.optimism import TINY, form_bound, row_sum

# rows of a table (4, K): x'first, half-width, ||x||^2, x'second
FIRST, HALF, SIZE, SECOND = range(4)
UNKNOWN = -1.0  # a half-width that nobody has needed so far
SLACK = 1e-12  # of a difference that rounding can move


@lean
def tabulate(X: Array, first: Array, second: Array, table: Array) -> None:
    """table (4, K) <- what a round needs of every row of X (K, d); half-widths are unknown."""
    for k in range(X.shape[0]):
        a, b, size = 0.0, 0.0, 0.0
        for i in range(X.shape[1]):
            a += X[k, i] * first[i]
            b += X[k, i] * second[i]
            size += X[k, i] * X[k, i]
        table[FIRST, k], table[HALF, k] = a, UNKNOWN
        table[SIZE, k], table[SECOND, k] = size, b


@lean
def widest(X: Array, A: Array, least: float, table: Array) -> tuple[float, int]:
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


@lean
def half_width(X: Array, A: Array, width: float, k: int, table: Array) -> float:
    """width sqrt(x'Ax) of row k of X, computed once.  Rounding makes forms of long contexts (1e8)
    negative, here and below: they count as 0."""
    if table[HALF, k] == UNKNOWN:
        table[HALF, k] = width * math.sqrt(max(quad(A, X[k]), 0.0))
    return table[HALF, k]


@lean
def least_form(A: Array) -> float:
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


@lean
def best_lower(X: Array, A: Array, width: float, table: Array) -> float:
    """Largest lower end of the arms: whose upper one is below it is ruled out."""
    low, bound = -np.inf, width * width * least_form(A)
    for k in range(X.shape[0]):
        score = table[FIRST, k]
        gap = (score - low) * (1.0 + SLACK) + SLACK * abs(score)
        if gap > 0.0 and not bound * table[SIZE, k] >= gap * gap:
            low = max(low, score - half_width(X, A, width, k, table))
    return low


@lean
def survives(X: Array, A: Array, width: float, low: float, k: int, table: Array) -> bool:
    """Whether the upper end of row k of X is not below `low`."""
    score = table[FIRST, k]
    return score >= low or score + half_width(X, A, width, k, table) >= low


@lean
def best_left(
    X: Array, A: Array, reach: float, low: float, B: Array, width: float, table: Array
) -> int:
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
