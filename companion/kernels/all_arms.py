"""Optimism from the scores of all arms, for arms that stay, or widths so large that no bound leaves
an arm out.

The arms are the innermost loop (the contexts are transposed once), which the compiler turns into
vector instructions.  An arm's own operations and their order are those of `optimism`.
Cost: K d^2/2 multiplications; at K = 100, d = 5 half the time of `optimistic_arm` where that
computes the form of every arm, and up to twice it where few are left.  Of arms that stay, a third
of it and as much as it: nothing is transposed, and 0.1 microseconds see that they do.
"""

import numpy as np

from companion._borrowed import lean
from companion._jit import jit
from companion._types import Array
from companion.kernels.optimism import MANY, optimistic_arm, same_arms


@lean
def combined(weights: Array, n: int, rows: Array, out: Array) -> None:
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


@lean
def scores(seen: Array, theta: Array, A: Array) -> None:
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
def nothing_seen(X: Array) -> Array:
    """What remembers the arms of the last round of X (n, K, d), before the first: room for their d
    columns and three scores of each; a last row, whose first entry says whether they are there."""
    return np.zeros((X.shape[2] + 4, X.shape[1]))


@lean
def see(X: Array, seen: Array) -> None:
    """seen <- the arms X (K, d)."""
    for k in range(X.shape[0]):
        for i in range(X.shape[1]):
            seen[i, k] = X[k, i]
    seen[seen.shape[0] - 1, 0] = 1.0


@jit
def seen_alone(X: Array) -> Array:
    """What remembers the arms X (K, d): a new array."""
    seen = np.empty((X.shape[1] + 4, X.shape[0]))
    see(X, seen)
    return seen


@lean
def optimistic_of_seen(seen: Array, V_inv: Array, theta: Array, width: float) -> int:
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


@lean
def optimistic_next(X: Array, t: int, V_inv: Array, theta: Array, width: float, seen: Array) -> int:
    """The arm of `optimistic_arm` in round t of X (n, K, d), to the bit: from the scores of all
    where there are MANY and they are those of the round before, which seen remembers."""
    if X.shape[1] < MANY or t == 0 or not same_arms(X, t):
        seen[seen.shape[0] - 1, 0] = 0.0
        return optimistic_arm(X[t], V_inv, theta, width)
    if seen[seen.shape[0] - 1, 0] == 0.0:
        see(X[t], seen)
    return optimistic_of_seen(seen, V_inv, theta, width)
