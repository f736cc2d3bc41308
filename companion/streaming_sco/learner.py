"""Streaming Frank-Wolfe with recursive gradients: the kernels of Algorithms 1, 2 and 4.

Source: the paper's Algorithms 1, 2 and 4, equation (1).  With steps 1/(t + 1) and d_0 = 0 the
recursion d_t = grad f(theta_t; z_t) + (1 - 1/(t + 1)) (d_(t-1) - grad f(theta_(t-1); z_t)) is
d_t = (g_1 + ... + g_t)/(t + 1), g_t = (t + 1) grad f(theta_t; z_t) - t grad f(theta_(t-1); z_t).
A record enters one g_t.  The sum is released with the noise of a tree or of a square-root
factorisation, or not at all: then the vertex is chosen from it at random.
Cost: O(d) time per record, O(d log n) memory (tree), O(d) (vertices), O(d n) (square root).
Differs: d_0 = 0 (line 4 of Algorithm 2 counts record 1 twice); g_t may be clipped; records outside
the universe ||x||_q <= 1, low <= y <= Y are clipped into it and counted.
"""

import math
from typing import NamedTuple

import numpy as np

from companion.accounting.privacy import tree_levels
from companion.jit import inlined, jit
from companion.kernels import glm
from companion.kernels.geometry import admit, largest, lq_norm, vertex
from companion.kernels.mechanisms import (
    generalized_gaussian,
    laplace,
    signed_exponential,
    signed_noisy_max,
)
from companion.kernels.tree import complete, root_noise, trailing_zeros

LOSSES = ("squares", "logistic", "probit", "inner product")
SQUARES, LOGISTIC, PROBIT, INNER = range(4)  # 1 and 2 are the links of `glm`
METHODS = ("tree", "sqrt", "argmin", "coordinates", "gumbel")
TREE, SQRT, ARGMIN, COORDINATES, GUMBEL = range(5)
SCHEDULES = ("paper", "falling", "constant")
PAPER, FALLING, CONSTANT = range(3)


class Params(NamedTuple):
    d: int  # dimension
    n: int  # records for which the guarantee holds
    p: float  # the ball is that of l_p ...
    q: float  # ... and gradients live in l_q
    radius: float  # r
    loss: int  # of LOSSES
    low: float  # labels are clipped to [low, high]
    high: float
    clip: float  # bound of a leaf g_t in l_clip_norm; inf: none
    clip_norm: float
    step: float  # c in (0, 1]: steps are c/(t + 1)
    method: int  # of METHODS
    exponent: float  # the noise is that of the norm l_exponent
    sigma: float  # its scale
    scale: float  # vertices: b_t is this times the schedule
    schedule: int  # of SCHEDULES


class Memory(NamedTuple):
    """What one learner remembers besides its clock."""

    theta: np.ndarray  # (d,) public parameter
    old: np.ndarray  # (d,) the one before
    total: np.ndarray  # (d,) exact g_1 + ... + g_t (secret)
    gradient: np.ndarray  # (d,) d_t as released; for vertices it is exact, and secret
    v: np.ndarray  # (d,) vertex
    noise: np.ndarray  # tree: (levels, d) prefix noise by last level; sqrt: (n, d) of every prefix
    x: np.ndarray  # (d,) clipped context


class State(NamedTuple):
    t: int  # records read
    theta: np.ndarray  # (d,) what is public: memory.theta
    clipped: int  # records that were outside the universe
    memory: Memory


def memory(p: Params, rng: np.random.Generator | None = None) -> Memory:
    """Memory before the first record; rng draws the path of the square-root factorisation."""
    rows = tree_levels(p.n) if p.method == TREE else 1
    if p.method == SQRT and p.sigma > 0.0:
        noise = root_noise(p.n, p.d, p.sigma, rng)
    else:
        noise = np.zeros((rows, p.d))
    return Memory(*(np.zeros(p.d) for _ in range(5)), noise, np.zeros(p.d))


def init(p: Params, rng: np.random.Generator) -> State:
    """State before the first record: theta_0 = theta_1 = 0."""
    m = memory(p, rng)
    return State(0, m.theta, 0, m)


@jit
def pull(loss, z, y):
    """c such that the gradient of the loss at score z = x'theta is c x."""
    if loss == SQUARES:
        return 2.0 * (z - y)
    if loss == INNER:
        return 1.0
    return glm.mean(loss, z) - y


@inlined
def leaf(p, t, x, y, theta, old):
    """c such that g_t = c x, clipped: a gradient of a linear model is a multiple of x."""
    z, z_old = 0.0, 0.0
    for i in range(x.shape[0]):
        z += x[i] * theta[i]
        z_old += x[i] * old[i]
    c = (t + 1.0) * pull(p.loss, z, y) - t * pull(p.loss, z_old, y)
    if p.clip < np.inf:
        size = abs(c) * lq_norm(x, p.clip_norm)
        if size > p.clip:
            c *= p.clip / size
    return c


@inlined
def release(p, t, total, noise, gradient, rng):
    """gradient <- d_t from the released prefix sum of t leaves; noise as in `Memory`."""
    row = 0
    if p.method == SQRT:
        row = t - 1 if p.sigma > 0.0 else 0
    elif p.sigma > 0.0:
        row = trailing_zeros(t)
        if p.exponent == 2.0:
            for i in range(p.d):
                noise[row, i] = p.sigma * rng.standard_normal()
        else:
            generalized_gaussian(rng, p.exponent, p.sigma, noise[row])
        complete(noise, t)
    weight = 1.0 / (t + 1.0)
    for i in range(p.d):
        gradient[i] = weight * (total[i] + noise[row, i])


@jit
def noise_scale(p, t):
    """b_t of the vertex selection at local time t >= 1."""
    if p.schedule == PAPER:
        return p.scale / math.sqrt(t)
    return p.scale * (math.sqrt(t) if p.schedule == FALLING else 1.0) / (t + 1.0)


@jit
def choose(p, t, total, gradient, v, rng):
    """v <- a vertex +-r e_j with noisily small <d_t, v>; the exact d_t is never shown."""
    b, best, at = noise_scale(p, t) / p.radius, 0.0, 0
    for j in range(p.d):
        gradient[j] = total[j] / (t + 1.0)
        v[j] = 0.0
    if b == 0.0:
        vertex(gradient, 1.0, p.radius, v)
        return
    if p.method == COORDINATES:
        for j in range(p.d):
            z = gradient[j] + laplace(rng, b)
            if abs(z) > abs(best):
                best, at = z, 2 * j if z > 0.0 else 2 * j + 1
    elif p.method == ARGMIN:
        at = signed_noisy_max(rng, gradient, b, largest(gradient))
    else:
        at = signed_exponential(rng, gradient, b, largest(gradient))
    v[at >> 1] = -p.radius if at & 1 == 0 else p.radius


@inlined
def publish(p, t, m, rng):
    """Local time t >= 1 once its leaf is in m.total: the vertex, and the next parameter."""
    theta, old, total, gradient, v, noise, _ = m
    if p.method <= SQRT:
        release(p, t, total, noise, gradient, rng)
        vertex(gradient, p.p, p.radius, v)
    else:
        choose(p, t, total, gradient, v, rng)
    eta = p.step / (t + 1.0)
    for i in range(p.d):
        old[i] = theta[i]
        theta[i] += eta * (v[i] - theta[i])


@inlined
def advance(p, t, m, x, y, rng):
    """One step with local time t >= 1: m after the record; returns 1 if it was clipped else 0."""
    total, inside = m.total, m.x
    y, clipped = admit(x, y, p.q, p.low, p.high, inside)
    c = leaf(p, t, inside, y, m.theta, m.old)
    for i in range(p.d):
        total[i] += c * inside[i]
    publish(p, t, m, rng)
    return clipped


@jit
def step(p, s, x, y, rng):
    """State after the record x (d,), y; the arrays of s are overwritten."""
    clipped = advance(p, s.t + 1, s.memory, x, y, rng)
    return State(s.t + 1, s.theta, s.clipped + clipped, s.memory)


@jit
def run(p, s, X, Y, rng, out):
    """Read n records X (n, d), Y (n,); out (n, d) <- the public parameter after each."""
    clipped, theta = s.clipped, s.theta
    for t in range(X.shape[0]):
        clipped += advance(p, s.t + t + 1, s.memory, X[t], Y[t], rng)
        for i in range(p.d):
            out[t, i] = theta[i]
    return State(s.t + X.shape[0], theta, clipped, s.memory)
