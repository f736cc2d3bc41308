"""Balls and norms of l_p: where gradients live, and which vertex a linear function
prefers.

With 1/p + 1/q = 1 the dual of l_p is l_q (q = inf for p = 1).  Kernels take exponents in
[1, inf].
Source: Bassily, Guzman and Nandi (2021), section 2 (regular norms); the smooth exponent
of least regularity is derived in `smooth_exponent`.
"""

import math

import numpy as np

from companion.jit import inlined, jit
from companion.kernels.linalg import project_ball
from companion.validate import need_float, need_int


def need_exponent(name, value):
    """`value` as a float in [1, inf]."""
    return need_float(name, value, 1.0, allow_inf=True)


def dual_exponent(p):
    """q with 1/p + 1/q = 1, for p in [1, inf]."""
    p = need_exponent("p", p)
    if p == 1.0:
        return np.inf
    return 1.0 if p == np.inf else p / (p - 1.0)


def euclidean_factor(q, d):
    """Largest ||x||_2 over ||x||_q <= 1 in R^d: d^max(0, 1/2 - 1/q)."""
    return float(need_int("d", d, 1) ** max(0.0, 0.5 - 1.0 / q))


def smooth_exponent(q, d):
    """(r, kappa): the smooth norm l_r, 2 <= r <= q, that is closest to l_q in R^d, for q
    >= 2.

    Half the square of ||.||_r is (r - 1)-smooth and ||x||_q <= ||x||_r <= d^(1/r - 1/q)
    ||x||_q, so l_q is regular with kappa(r) = (r - 1) d^(2/r - 2/q).  The derivative of
    its logarithm, 1/(r - 1) - 2 log(d)/r^2, vanishes at r = log d -+ sqrt(log d (log d -
    2)).  For log d <= 2 kappa only grows and r = 2 is best; else the smaller root lies
    below 2, kappa falls up to the larger one, and that (or q, if it comes first) is best.
    ValueError unless q >= 2 and d >= 1.
    """
    q = need_float("q", q, 2.0, allow_inf=True)
    d = need_int("d", d, 1)
    log_d = math.log(d)
    r = 2.0 if log_d <= 2.0 else min(q, log_d + math.sqrt(log_d * (log_d - 2.0)))
    return r, regularity(r, q, d)


def regularity(r, q, d):
    """kappa(r) = (r - 1) d^(2/r - 2/q) of l_q with the smooth norm l_r."""
    return (r - 1.0) * d ** (2.0 / r - (0.0 if q == np.inf else 2.0 / q))


@jit
def power_sum(x, q, factor):
    """sum |factor x_i|^q for q in [1, inf)."""
    total = 0.0
    for i in range(x.shape[0]):
        a = abs(factor * x[i])
        if q == 1.0:
            total += a
        elif q == 2.0:
            total += a * a
        else:
            total += math.pow(a, q)
    return total


@jit
def largest(x):
    """max |x_i|."""
    top = 0.0
    for i in range(x.shape[0]):
        top = max(top, abs(x[i]))
    return top


@jit
def lq_norm(x, q):
    """The l_q norm of a vector, q in [1, inf]; scaled by the largest entry if powers
    overflow."""
    if q == 1.0:
        return power_sum(x, q, 1.0)
    top = 1.0
    total = 0.0
    if q < np.inf:
        total = power_sum(x, q, 1.0)
    if not 1e-200 < total < 1e200:
        top = largest(x)
        if q == np.inf or top == 0.0:
            return top
        top = max(top, 1e-300)  # of which the inverse is finite
        total = power_sum(x, q, 1.0 / top)
    return top * (math.sqrt(total) if q == 2.0 else math.pow(total, 1.0 / q))


@inlined
def admit(x, y, q, low, high, out):
    """out <- x scaled to ||x||_q <= 1; (y in [low, high], 1 if anything was clipped else
    0)."""
    size = lq_norm(x, q)
    c = 1.0 if size <= 1.0 + 1e-9 else 1.0 / size
    for i in range(x.shape[0]):
        out[i] = c * x[i]
    z = min(max(y, low), high)
    return z, (1 if c != 1.0 or z != y else 0)


@jit
def admit_all(X, Y, q, high, A, b):
    """A (n, d), b (n,) <- the records X, Y, labels within +-high; how many had to be
    clipped."""
    clipped = 0
    for t in range(X.shape[0]):
        b[t], outside = admit(X[t], Y[t], q, -high, high, A[t])
        clipped += outside
    return clipped


@inlined
def vertex(gradient, p, radius, out):
    """out <- argmin <gradient, v> over ||v||_p <= radius, the linear minimisation oracle.

    The value is -radius times the l_q norm.  p = 1: the lowest index wins ties.  Where
    the gradient is zero so is the coordinate; out is 0 for a zero gradient.
    """
    d = gradient.shape[0]
    top = 0.0
    at = 0
    for i in range(d):
        a = abs(gradient[i])
        if a > top:
            top = a
            at = i
    if p == 1.0 or p == np.inf or top == 0.0:
        for i in range(d):
            out[i] = -radius * np.sign(gradient[i]) if p == np.inf else 0.0
        if p == 1.0:
            out[at] = -radius * np.sign(gradient[at])
        return
    total = 0.0
    q = p / (p - 1.0)
    for i in range(d):
        a = abs(gradient[i]) / top
        w = math.pow(a, q - 1.0)
        total += w * a
        out[i] = w if gradient[i] > 0.0 else -w
    factor = -radius / math.pow(total, 1.0 / p)
    for i in range(d):
        out[i] *= factor


@jit
def project(x, p, radius):
    """x <- its Euclidean projection on ||v||_p <= radius, for p = 2 or inf."""
    if p == 2.0:
        project_ball(x, radius)
        return
    for i in range(x.shape[0]):
        x[i] = min(max(x[i], -radius), radius)
