"""Maler, one online learner for convex, exp-concave and strongly convex losses; and plain OGD.

Source: Wang, Lu and Zhang (2020); Algorithms 5 (meta), 6 (convex), 7 (exp-concave) and 8 (strongly
convex) of the online-LinUCB paper.  With no learning rates at all (`n_rates = 0`) only the convex
expert is left, which is projected online gradient descent with step 2D/(G sqrt t): the cheap
learner that the paper mentions.
Cost: O(n d^2) time per round for n = ceil(log2(T)/2) + 1 rates, plus O(n d^3) when a Newton expert
leaves the ball.
What all experts do alike stands in `experts`.
Differs: the paper leaves the priors open; these are Maler's own, and they sum to 1.  Algorithm 7's
constant is printed as 2/(G D); Maler's is 1/(8 G D), used here.  Clipping of g to norm G is the
caller's business.
"""

import math
from typing import NamedTuple

import numpy as np

from companion.jit import inlined, jit
from companion.kernels.linalg import dot, project_ball, project_ball_in_norm
from companion.online_linucb.experts import add_squares, divide, gaps, scaled
from companion.validate import LARGEST, need_choice, need_int, need_positive

KINDS = ("maler", "ogd")
NEWTON = 0.5 * 1.0 / (8.0 * 7.0 / 50.0)  # a = 1/2 min(1/(8 G_l D), 1) with G_l = 7/(50 D): 0.446...


class Params(NamedTuple):
    d: int  # dimension
    ball: float  # D: predictions stay in the ball of this radius
    gradient: float  # G: bound on the norm of every gradient
    rates: np.ndarray  # (n,) eta_i of the Newton and strongly convex experts
    rate_convex: float  # eta_c


class State(NamedTuple):
    t: int  # gradients seen
    theta: np.ndarray  # (d,) prediction
    convex: np.ndarray  # (d,) the convex expert
    strong: np.ndarray  # (d, n) strongly convex experts
    newton: np.ndarray  # (d, n) exp-concave experts
    S: np.ndarray  # (d, d, n) Newton matrices, lower triangles
    S_inv: np.ndarray  # (d, d, n) their inverses
    log_w: np.ndarray  # (2 n + 1,) log weights: convex, strong, newton
    rows: np.ndarray  # (3 + 2 d, n) scratch: a number or two vectors per expert
    work: np.ndarray  # (3 + 2 d, d) scratch: three vectors, two squares


def learner(kind: str, d: int, T: int, *, ball: float = 1.0, gradient: float) -> Params:
    """Parameters of a learner: kind, dimension d, horizon T >= 1, D = ball > 0, G = gradient > 0.

    kind: one of `KINDS`.  Raises ValueError on anything else.
    """
    need_choice("kind", kind, KINDS)
    d, T = need_int("d", d, 1, LARGEST), need_int("T", T, 1, LARGEST)
    D, G = need_positive("ball", ball), need_positive("gradient", gradient)
    n = int(np.ceil(0.5 * np.log2(T))) + 1 if kind == "maler" else 0
    rates = 2.0 ** -np.arange(n) / (10.0 * D * G)  # 2^-i / (5 D_m G), D_m = 2 D
    return Params(d, D, G, rates, 1.0 / (4.0 * G * D * np.sqrt(T)))


def init(p: Params) -> State:
    """State before the first gradient: every expert at 0, with Maler's priors."""
    n, d = len(p.rates), p.d
    i = np.arange(n)
    prior = (1.0 + 1.0 / max(n, 1)) / (3.0 * (i + 1.0) * (i + 2.0))
    log_w = np.log(np.concatenate([[1.0 / 3.0 if n else 1.0], prior, prior]))
    scale = 4.0 * NEWTON**2 * p.ball**2
    squares = [np.repeat(c * np.eye(d)[:, :, None], n, axis=2) for c in (1.0 / scale, scale)]
    experts = [np.zeros((d, n)) for _ in range(2)]
    scratch = [np.zeros((3 + 2 * d, size)) for size in (n, d)]
    return State(0, np.zeros(d), np.zeros(d), *experts, *squares, log_w, *scratch)


@inlined
def update(p, s, g):
    """State after gradient g (d,), ||g|| <= G, at s.theta: experts move, then the prediction."""
    t, n = s.t + 1, p.rates.shape[0]
    reweigh(p, s, g)
    step_convex(p, s, g, t)
    if n > 0:
        step_strong(p, g, s.theta, t, s.strong, s.rows[0])
        step_newton(p, s, g)
    predict(p, s)
    return at(s, t)


@inlined
def at(s, t):
    """The state s after t gradients."""
    arrays = s.theta, s.convex, s.strong, s.newton, s.S, s.S_inv
    return State(t, *arrays, s.log_w, s.rows, s.work)


@inlined
def reweigh(p, s, g):
    """Algorithm 5: log_w <- log_w - surrogate loss of every expert, normalised to sum 1."""
    n, d = p.rates.shape[0], p.d
    gap, along, square, G = s.work[0], s.rows[0], s.rows[1], p.gradient
    for j in range(d):
        gap[j] = s.theta[j] - s.convex[j]
    c = 2.0 * p.rate_convex * G * p.ball
    s.log_w[0] -= -p.rate_convex * dot(gap, g) + c * c
    gaps(s.strong, s.theta, g, n, along, square)
    for i in range(n):
        eta = p.rates[i]
        s.log_w[1 + i] -= -eta * along[i] + eta * eta * G * G * square[i]
    gaps(s.newton, s.theta, g, n, along, square)
    for i in range(n):
        eta = p.rates[i]
        s.log_w[1 + n + i] -= -eta * along[i] + eta * eta * along[i] * along[i]
    top, total = s.log_w[0], 0.0
    for k in range(2 * n + 1):
        top = max(top, s.log_w[k])
    for k in range(2 * n + 1):
        total += math.exp(s.log_w[k] - top)
    for k in range(2 * n + 1):
        s.log_w[k] -= top + math.log(total)


@inlined
def step_convex(p, s, g, t):
    """Algorithm 6: gradient step 2D/(G sqrt t), projected on the ball."""
    c = 2.0 * p.ball / (p.gradient * np.sqrt(float(t)))
    for j in range(p.d):
        s.convex[j] -= c * g[j]
    project_ball(s.convex, p.ball)


@jit
def step_strong(p, g, theta, t, x, square):
    """Algorithm 8, all rates: projected step 1/(2 eta^2 G^2 t) on eta g + 2 eta^2 G^2 (x - theta).

    x (d, n): the experts; square (n,) is overwritten.
    """
    n, G = p.rates.shape[0], p.gradient
    for i in range(n):
        square[i] = 0.0
    for j in range(p.d):
        for i in range(n):
            eta = p.rates[i]
            c = 2.0 * eta * eta * G * G
            x[j, i] -= (eta * g[j] + c * (x[j, i] - theta[j])) / (c * t)
            square[i] += x[j, i] * x[j, i]
    for i in range(n):
        size = np.sqrt(square[i])
        if size > p.ball:
            for j in range(p.d):
                x[j, i] *= p.ball / size


@inlined
def step_newton(p, s, g):
    """Algorithm 7, all rates: online Newton step in the norm of S, projected in that norm."""
    n, d = p.rates.shape[0], p.d
    grad, z = s.rows[3 : 3 + d], s.rows[3 + d :]
    scaled(s.newton, p.rates, g, s.theta, grad, s.rows[0])
    add_squares(s.S, grad, n)
    divide(s.S_inv, grad, n, z, s.rows[:3])
    for i in range(n):
        s.rows[0, i] = 0.0
    for j in range(d):
        for i in range(n):
            z[j, i] = s.newton[j, i] - s.rows[1, i] * z[j, i] / NEWTON
            s.rows[0, i] += z[j, i] * z[j, i]
    for i in range(n):
        if np.sqrt(s.rows[0, i]) <= p.ball:
            for j in range(d):
                s.newton[j, i] = z[j, i]
        else:
            project_expert(p, s, z, i)


@jit
def project_expert(p, s, z, i):
    """Newton expert i <- column i of z (d, n), projected on the ball in the norm of its S."""
    d, point, out = p.d, s.work[0], s.work[1]
    S, L = s.work[3 : 3 + d], s.work[3 + d :]
    for a in range(d):
        point[a] = z[a, i]
        for b in range(a + 1):
            S[a, b] = S[b, a] = s.S[a, b, i]
    project_ball_in_norm(S, point, p.ball, L, s.work[2], out)
    for a in range(d):
        s.newton[a, i] = out[a]


@inlined
def predict(p, s):
    """Algorithm 5: theta <- mean of the experts, weighted by weight times rate."""
    n, a, b = p.rates.shape[0], s.rows[0], s.rows[1]
    total = math.exp(s.log_w[0]) * p.rate_convex
    for j in range(p.d):
        s.theta[j] = total * s.convex[j]
    for i in range(n):
        a[i] = math.exp(s.log_w[1 + i]) * p.rates[i]
        b[i] = math.exp(s.log_w[1 + n + i]) * p.rates[i]
        total += a[i] + b[i]
    for j in range(p.d):
        for i in range(n):
            s.theta[j] += a[i] * s.strong[j, i] + b[i] * s.newton[j, i]
        s.theta[j] /= total


def regret_bound(p: Params, T: int, strong_convexity: float = 0.0) -> float:
    """Lemma H.6: regret of Maler after T rounds: logarithmic for mu > 0, else of order sqrt(T)."""
    diameter = 2.0 * p.ball
    if strong_convexity > 0.0:
        A = 2.0 * np.log(np.sqrt(3.0) * (0.5 * np.log2(T) + 3.0)) + 1.0 + np.log(T)
        return (10.0 * p.gradient * diameter + 4.5 * p.gradient**2 / strong_convexity) * A
    return (2.0 * np.log(3.0) + 1.5) * p.gradient * diameter * np.sqrt(T)
