"""Peeling (`selection.peel`) from the draws that decide: the same law of the picks and values.

A pick is the largest of |v_j| + w_j over the entries j that are left, with fresh Laplace(xi) noise
w.  The noise of `sparsity` + MORE large entries is drawn, and some entry among them comes out above
all the others' |v_j|, almost always.  (If none does, the others' noise is drawn one by one until
one is.)  Let `best` be the largest so far.  Every other entry has |v_j| <= best, so it exceeds best
with probability q_j = exp((|v_j| - best)/xi)/2, and then by an exponential amount of scale xi,
whatever q_j is: the tail of the Laplace law has no memory.

Which entry is the next to exceed best is found without looking at each.  Points of a Poisson
process fall on a line on which entry j has length exp((|v_j| - rest)/xi), rest the largest of the
others.  At rate r = log(2) exp((rest - best)/xi) entry j gets a point with probability
1 - exp(-2 log(2) q_j) >= q_j, since q_j <= 1/2; a point is kept with the ratio of the two.  Entries
that were picked keep none.
Cost: d calls of exp; a pick takes about `sparsity` Laplace draws and a few points.
"""

import math

import numpy as np

from companion._borrowed import lean
from companion._jit import jit
from companion._types import Array, Bools, Ints, Rng
from companion.kernels.mechanisms import laplace
from companion.kernels.selection import peel

MORE = 4  # large entries whose noise is drawn, besides as many as are picked
LN4 = math.log(4.0)


@lean
def large_first(v: Array, m: int, order: Ints) -> float:
    """order (d,) <- all indices, those of the m <= d largest |v_j| in front, in decreasing order;
    returns the largest of the others, or -inf.
    """
    rest = -np.inf
    for j in range(v.shape[0]):
        k, size = j, abs(v[j])
        if j >= m:
            out = j
            if size > abs(v[order[m - 1]]):
                out = order[m - 1]
                k = m - 1
            order[j] = out
            rest = max(rest, abs(v[out]))
        if k < m:
            while k > 0 and abs(v[order[k - 1]]) < size:
                order[k] = order[k - 1]
                k -= 1
            order[k] = j
    return rest


@lean
def line(v: Array, xi: float, m: int, rest: float, order: Ints, ends: Array) -> None:
    """ends (d + 1,) <- where the entries in the places before end on the line, for noise of scale
    xi; the first m have no length.  order and rest are those of `large_first`."""
    ends[0] = 0.0
    for i in range(v.shape[0]):
        if i < m:
            ends[i + 1] = 0.0
        else:
            ends[i + 1] = ends[i] + math.exp((abs(v[order[i]]) - rest) / xi)


@lean
def pick(
    rng: Rng, v: Array, xi: float, m: int, rest: float, order: Ints, ends: Array, taken: Bools
) -> int:
    """Index of the noisily largest |v_j| of those not taken, with noise of scale xi; m, rest, order
    and ends as `line` leaves them.
    """
    d, best, at, i = v.shape[0], -np.inf, 0, 0
    while i < m or (i < d and best < rest):
        j = order[i]
        if not taken[j]:
            z = abs(v[j]) + laplace(rng, xi)
            if z > best:
                best, at = z, j
        i += 1
    tail = math.exp((rest - best) / xi)
    while i < d:
        point = ends[i] + rng.standard_exponential() / (0.5 * LN4 * tail)
        if not point < ends[d]:
            break
        high = d - 1
        while i < high:  # the place whose entry has the point
            middle = (i + high) // 2
            if point < ends[middle + 1]:
                high = middle
            else:
                i = middle + 1
        q = 0.5 * (ends[i + 1] - ends[i]) * tail
        if not taken[order[i]] and rng.random() * -math.expm1(-LN4 * q) < q:
            best, at = best + xi * rng.standard_exponential(), order[i]
            tail = math.exp((rest - best) / xi)
        i += 1
    return at


@jit
def lazy_peel(
    rng: Rng, v: Array, sparsity: int, xi: float, out: Array, picks: Ints, taken: Bools
) -> None:
    """`peel` with other draws: out (d,) <- the noisily largest `sparsity` entries of v with
    Laplace(xi) noise, picks <- where; taken (d,) is overwritten.
    """
    d = v.shape[0]
    if not xi > 0.0 or d <= sparsity + MORE:
        peel(rng, v, sparsity, xi, out, picks, taken)
        return
    m, order, ends = sparsity + MORE, np.empty(d, np.int64), np.empty(d + 1)
    rest = large_first(v, m, order)
    line(v, xi, m, rest, order, ends)
    for j in range(d):
        out[j] = 0.0
        taken[j] = False
    for i in range(sparsity):
        picks[i] = pick(rng, v, xi, m, rest, order, ends, taken)
        taken[picks[i]] = True
    for i in range(sparsity):
        out[picks[i]] = v[picks[i]] + laplace(rng, xi)
