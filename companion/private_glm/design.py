"""G-optimal designs of one round's arms, with a certificate: Wynn's algorithm.

A design pi on arms a_1, ..., a_K has the widths g_i = a_i' M^-1 a_i with M = sum pi_i a_i a_i'.
Always sum pi_i g_i = r, the rank of the arms, so max g >= r, with equality exactly at the optimum
(Kiefer and Wolfowitz 1960).  Moving mass s = (g/r - 1)/(g - 1) to the widest arm is the exact line
search for log det M.  At max g <= tolerance r the gap log det M* - log det M is at most r
log(tolerance): the duality gap.
Source: Lemma 4.3 of the paper, whose relaxed bound is tolerance 2; Wynn (1970).
Cost: O(K d^2) per move after O(d^3); a few moves, none in benign contexts.
"""

from typing import NamedTuple

import numpy as np

from companion.jit import jit
from companion.kernels.linalg import axpy, dot, inverse, matvec, quad
from companion.validate import need_array, need_float, need_int

RIDGE = 1e-8  # of the largest squared norm: makes M invertible where the arms do not span


class Work(NamedTuple):
    """Scratch for K arms in R^d."""

    g: np.ndarray  # (K,) widths at the end
    M: np.ndarray  # (d, d)
    M_inv: np.ndarray  # (d, d)
    B: np.ndarray  # (d, d)
    v: np.ndarray  # (d,)


def work_for(K: int, d: int) -> Work:
    """Scratch of `optimal`."""
    matrices = [np.zeros((d, d)) for _ in range(3)]
    return Work(np.zeros(K), *matrices, np.zeros(d))


@jit
def begin(A, alive, pi, w):
    """pi <- uniform on the arms alive, w.M_inv <- inverse of its matrix; False if all are zero."""
    K, d = A.shape
    n, top, first = 0, 0.0, -1
    for k in range(K):
        pi[k] = 0.0
        if alive[k]:
            first = k if first < 0 else first
            n += 1
            top = max(top, dot(A[k], A[k]))
    if top == 0.0 or n == 1:
        pi[first] = 1.0
        return False
    for i in range(d):
        for j in range(d):
            w.M[i, j] = RIDGE * top if i == j else 0.0
    for k in range(K):
        if alive[k]:
            pi[k] = 1.0 / n
            for i in range(d):
                axpy(A[k, i] / n, A[k], w.M[i])
    inverse(w.M, w.M_inv, w.B)
    return True


@jit
def move(a, s, w):
    """M_inv <- inverse of (1 - s) M + s a a'."""
    d = a.shape[0]
    matvec(w.M_inv, a, w.v)
    c = s / (1.0 - s + s * dot(a, w.v))
    for i in range(d):
        for j in range(d):
            w.M_inv[i, j] = (w.M_inv[i, j] - c * w.v[i] * w.v[j]) / (1.0 - s)


@jit
def optimal(A, alive, tolerance, most, pi, w):
    """pi (K,) <- a design on the arms A (K, d) with alive[k], at least one; (moves, max g, rank).

    Ends at max g <= tolerance times the rank, or after `most` moves.  Arms that are zero keep their
    share of the start; if all are, the first one gets everything, and (0, 0, 0) is returned, as it
    is for a single arm.
    """
    if not begin(A, alive, pi, w):
        return 0, 0.0, 0.0
    moves = 0
    while True:
        rank, best, at = 0.0, -1.0, 0
        for k in range(A.shape[0]):
            if alive[k]:
                w.g[k] = quad(w.M_inv, A[k])
                rank += pi[k] * w.g[k]
                if w.g[k] > best:
                    best, at = w.g[k], k
        if best <= tolerance * rank or moves == most or best <= 1.0:
            return moves, best, rank
        s = (best / rank - 1.0) / (best - 1.0)
        for k in range(A.shape[0]):
            pi[k] *= 1.0 - s
        pi[at] += s
        move(A[at], s, w)
        moves += 1


@jit
def draw(pi, rng):
    """An arm drawn from the design pi (K,)."""
    u, last = rng.random(), 0
    for k in range(pi.shape[0]):
        if pi[k] > 0.0:
            last = k
            u -= pi[k]
            if u < 0.0:
                return k
    return last


def design(A: np.ndarray, tolerance: float = 2.0, most: int = 500):
    """(pi, max g, rank, moves) of one set of arms A (K, d); tolerance > 1, most >= 0.

    Raises ValueError on anything else, and on arms that are not finite.

    >>> import numpy as np
    >>> design(np.eye(3))[0].round(3).tolist()
    [0.333, 0.333, 0.333]
    """
    A = need_array("A", A, ("K", "d"))
    tolerance = need_float("tolerance", tolerance, 1.0, open_low=True)
    pi = np.zeros(len(A))
    alive = np.ones(len(A), np.int64)
    moves, g, rank = optimal(A, alive, tolerance, need_int("most", most, 0), pi, work_for(*A.shape))
    return pi, g, rank, moves
