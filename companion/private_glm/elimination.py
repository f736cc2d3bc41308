"""Which arms the finished batches of ShuffleGLM rule out.

Source: Algorithm 1 of the paper, line 17.
Cost: K d^2/2 multiplications for each batch: 100 ns a round at K = 10, d = 3 and two batches.
"""

import math

import numpy as np

from companion.jit import inlined, jit
from companion.kernels.linalg import WIDE, wide_quad


@jit
def ends(d, X, V_inv, theta, width, left, half, score):
    """half, score <- width sqrt(x'V_inv x) and x'theta of the rows x = X[a] for a in left; the
    largest lower end.  The bits are those of `linalg.quad` and `linalg.dot`.

    d is the dimension: a caller that writes it as a number gets loops without counters.
    """
    low = -np.inf
    for n in range(left.shape[0]):
        a, form, middle = left[n], 0.0, 0.0
        if d >= WIDE:
            form = wide_quad(V_inv, X[a])
        else:
            for i in range(d):
                row = 0.0
                for j in range(i):
                    row += V_inv[i, j] * X[a, j]
                form += X[a, i] * (V_inv[i, i] * X[a, i] + 2.0 * row)
        for i in range(d):
            middle += X[a, i] * theta[i]
        half[a], score[a] = width * math.sqrt(form), middle
        low = max(low, score[a] - half[a])
    return low


@inlined
def eliminate(p, s, X):
    """s.left[:n] <- arms that no earlier batch rules out, one batch after the other (line 17), in
    order; s.alive <- the same; s.doubt <- half-widths of the first batch; returns n.

    Arms that are out are taken from the list, for a question whether an arm is in is one that no
    processor can guess.
    """
    most = p.K
    for a in range(p.K):
        s.left[a], s.alive[a] = a, 0
    for k in range(s.k):
        half, left = s.doubt if k == 0 else s.half, s.left[:most]
        V_inv, theta, w = s.V_inv[k], s.theta[k], p.widths[k]
        if p.d == 3:
            low = ends(3, X, V_inv, theta, w, left, half, s.score)
        elif p.d == 4:
            low = ends(4, X, V_inv, theta, w, left, half, s.score)
        elif p.d == 5:
            low = ends(5, X, V_inv, theta, w, left, half, s.score)
        else:
            low = ends(p.d, X, V_inv, theta, w, left, half, s.score)
        n = 0
        for i in range(most):
            a = left[i]
            left[n] = a
            n += 0 if s.score[a] + half[a] < low else 1
        most = n
    for i in range(most):
        s.alive[s.left[i]] = 1
    return most
