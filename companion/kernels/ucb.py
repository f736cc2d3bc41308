"""Optimism: the arm with the largest upper confidence bound of a linear score.

Cost: of K arms in R^d, K d^2/2 multiplications at most.  `optimistic_arm` takes 2 K d and bounds an
arm's width by its norm: of 100 arms, 6 to 11 are left in a late round, of which 5 are the best so
far when their turn comes.
The *floor* that Cost lines of policies count in is a pass over the contexts with one product per
arm, and the noise that is drawn, at T = 20000, K = 100, d = 5, timed in alternation
(`python -m benchmarks floors`).

Optimism from the scores of all arms, for arms that stay, or widths so large that no bound leaves
an arm out.

The arms are the innermost loop (the contexts are transposed once), which the compiler turns into
vector instructions.  An arm's own operations and their order are those of `optimism`.
Cost: K d^2/2 multiplications; at K = 100, d = 5 half the time of `optimistic_arm` where that
computes the form of every arm, and up to twice it where few are left.  Of arms that stay, a third
of it and as much as it: nothing is transposed, and 0.1 microseconds see that they do.

Two estimates in one round: the first one rules arms out, the second one ranks those left.

An arm x has a score x'first and the half-width w sqrt(x'Ax) around it; it is ruled out if its upper
end lies below the lower end of some other arm.  The rest have the index x'second + v sqrt(x'Bx).
Cost: 3 K d multiplications, and d^2/2 for every quadratic form that is needed: of a widest arm, of
a lower end, of an arm at the top of the ranking.  Bounds from norms leave the others out: with 100
arms, a fifth of the forms is computed.  What is chosen does not change, to the bit.
"""

import math

import numpy as np

from companion.jit import jit
from companion.kernels.linalg import dot, quad

MANY = 8  # arms from which bounding quadratic forms pays
TINY = 1e-300  # keeps the bound above forms of contexts whose squares vanish


@jit
def optimistic_arm(X, V_inv, theta, width):
    """First arm with the largest X[k]'theta + width sqrt(X[k]'V_inv X[k]); V_inv is symmetric.

    Negative quadratic forms count as 0.  The square root is taken only for arms that beat the best
    so far; from MANY arms on the quadratic form, too, only for arms that may, for it is at most
    ||x||^2 times the largest sum of absolute entries of a row.
    """
    many = X.shape[0] >= MANY
    bound = form_bound(V_inv, width) if many else np.inf
    best, arm = -np.inf, 0
    for k in range(X.shape[0]):
        mean, size = 0.0, TINY
        if many:
            for i in range(X.shape[1]):
                mean += X[k, i] * theta[i]
                size += X[k, i] * X[k, i]
        else:
            mean = dot(X[k], theta)
        gap = best - mean
        if gap >= 0.0 and gap * gap >= bound * size:
            continue
        form = max(quad(V_inv, X[k]), 0.0)
        if gap >= 0.0 and gap * gap >= width * width * form:
            continue
        index = mean + width * np.sqrt(form)
        if index > best:  # squares are rounded: without this a later, identical arm may win
            best, arm = index, k
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


@jit
def same_arms(X, t):
    """Whether the arms of round t >= 1 of X (n, K, d) are those of the round before, entry by
    entry.

    Asks the first arm first, where arms that are new differ; the rest is counted to the end, which
    the compiler turns into vector instructions.
    """
    _, K, d = X.shape
    for i in range(d):
        if X[t, 0, i] != X[t - 1, 0, i]:
            return False
    others = 0
    for k in range(K):
        for i in range(d):
            others += X[t, k, i] != X[t - 1, k, i]
    return others == 0


@jit
def combined(weights, n, rows, out):
    """out (K,) <- sum over j < n of weights[j] rows[j], added in this order, two rows at a time."""
    out[:] = 0.0
    if n % 2 == 1:
        a, x = weights[0], rows[0]
        for k in range(out.shape[0]):
            out[k] = a * x[k]
    for j in range(n % 2, n, 2):
        a, x, b, z = weights[j], rows[j], weights[j + 1], rows[j + 1]
        for k in range(out.shape[0]):
            out[k] = (out[k] + a * x[k]) + b * z[k]


@jit
def scores(seen, theta, A):
    """Rows d and d + 1 of seen <- x'theta and x'Ax of every arm x that it holds (`see`); A (d, d)
    is symmetric, its lower triangle read."""
    d, K = theta.shape[0], seen.shape[1]
    mean, form, row = seen[d], seen[d + 1], seen[d + 2]
    combined(theta, d, seen, mean)
    form[:] = 0.0
    for i in range(d):
        combined(A[i], i, seen, row)
        c, x = A[i, i], seen[i]
        for k in range(K):
            form[k] += x[k] * (c * x[k] + 2.0 * row[k])


@jit
def nothing_seen(X):
    """What remembers the arms of the last round of X (n, K, d), before the first: room for their d
    columns and three scores of each; a last row, whose first entry says whether they are there."""
    return np.zeros((X.shape[2] + 4, X.shape[1]))


@jit
def see(X, seen):
    """seen <- the arms X (K, d)."""
    for k in range(X.shape[0]):
        for i in range(X.shape[1]):
            seen[i, k] = X[k, i]
    seen[seen.shape[0] - 1, 0] = 1.0


@jit
def seen_alone(X):
    """What remembers the arms X (K, d): a new array."""
    seen = np.empty((X.shape[1] + 4, X.shape[0]))
    see(X, seen)
    return seen


@jit
def optimistic_of_seen(seen, V_inv, theta, width):
    """The arm of `optimistic_arm` among those that are seen, to the bit: the first one with the
    largest x'theta + width sqrt(x'V_inv x), V_inv symmetric and negative quadratic forms 0."""
    scores(seen, theta, V_inv)
    mean, forms, best, arm = seen[theta.shape[0]], seen[theta.shape[0] + 1], -np.inf, 0
    for k in range(seen.shape[1]):
        gap, form = best - mean[k], max(forms[k], 0.0)
        if gap >= 0.0 and gap * gap >= width * width * form:
            continue
        index = mean[k] + width * np.sqrt(form)
        if index > best:
            best, arm = index, k
    return arm


@jit
def optimistic_next(X, t, V_inv, theta, width, seen):
    """The arm of `optimistic_arm` in round t of X (n, K, d), to the bit: from the scores of all
    where there are MANY and they are those of the round before, which seen remembers."""
    if X.shape[1] < MANY or t == 0 or not same_arms(X, t):
        seen[seen.shape[0] - 1, 0] = 0.0
        return optimistic_arm(X[t], V_inv, theta, width)
    if seen[seen.shape[0] - 1, 0] == 0.0:
        see(X[t], seen)
    return optimistic_of_seen(seen, V_inv, theta, width)


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
