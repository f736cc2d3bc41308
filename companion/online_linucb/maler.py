"""Maler, one online learner for convex, exp-concave and strongly convex losses; and plain OGD.

Source: Wang, Lu and Zhang (2020); Algorithms 5 (meta), 6 (convex), 7 (exp-concave) and 8 (strongly
convex) of the online-LinUCB paper.  With no learning rates at all (`n_rates = 0`) only the convex
expert is left, which is projected online gradient descent with step 2D/(G sqrt t): the cheap
learner that the paper mentions.
Cost: O(n d^2) time per round for n = ceil(log2(T)/2) + 1 rates, plus O(n d^3) when a Newton expert
leaves the ball.
Differs: the paper leaves the priors open; these are Maler's own, and they sum to 1.  Algorithm 7's
constant is printed as 2/(G D); Maler's is 1/(8 G D), used here.  Clipping of g to norm G is the
caller's business.
"""

import math
from typing import NamedTuple

import numpy as np

from companion._jit import inlined
from companion._types import Array
from companion.checks import LARGEST, need_choice, need_int, need_positive
from companion.kernels.linalg import (
    add_outer,
    dot,
    project_ball,
    project_ball_in_norm,
    sherman_morrison,
)

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
    strong: np.ndarray  # (n, d) strongly convex experts
    newton: np.ndarray  # (n, d) exp-concave experts
    S: np.ndarray  # (n, d, d) Newton matrices
    S_inv: np.ndarray  # (n, d, d) their inverses
    log_w: np.ndarray  # (2 n + 1,) log weights: convex, strong, newton
    work: np.ndarray  # (4 + d, d) scratch: four vectors, a square


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
    S = np.repeat(np.eye(d)[None] / (4.0 * NEWTON**2 * p.ball**2), n, axis=0)
    S_inv = np.repeat(np.eye(d)[None] * (4.0 * NEWTON**2 * p.ball**2), n, axis=0)
    experts = [np.zeros((n, d)) for _ in range(2)]
    work = np.zeros((4 + d, d))
    return State(0, np.zeros(d), np.zeros(d), *experts, S, S_inv, log_w, work)  # type: ignore[call-arg]


@inlined
def update(p: Params, s: State, g: Array) -> State:
    """State after gradient g (d,), ||g|| <= G, at s.theta: experts move, then the prediction."""
    t = s.t + 1
    reweigh(p, s, g)
    step_convex(p, s, g, t)
    for i in range(p.rates.shape[0]):
        step_strong(p, s, g, t, i)
        step_newton(p, s, g, i)
    predict(p, s)
    return State(t, s.theta, s.convex, s.strong, s.newton, s.S, s.S_inv, s.log_w, s.work)


@inlined
def reweigh(p: Params, s: State, g: Array) -> None:
    """Algorithm 5: log_w <- log_w - surrogate loss of every expert, normalised to sum 1."""
    n, d = p.rates.shape[0], p.d
    gap, G = s.work[0], p.gradient
    for j in range(d):
        gap[j] = s.theta[j] - s.convex[j]
    c = 2.0 * p.rate_convex * G * p.ball
    s.log_w[0] -= -p.rate_convex * dot(gap, g) + c * c
    for i in range(n):
        eta = p.rates[i]
        for j in range(d):
            gap[j] = s.theta[j] - s.strong[i, j]
        s.log_w[1 + i] -= -eta * dot(gap, g) + eta * eta * G * G * dot(gap, gap)
        for j in range(d):
            gap[j] = s.theta[j] - s.newton[i, j]
        along = dot(gap, g)
        s.log_w[1 + n + i] -= -eta * along + eta * eta * along * along
    top, total = s.log_w[0], 0.0
    for k in range(2 * n + 1):
        top = max(top, s.log_w[k])
    for k in range(2 * n + 1):
        total += math.exp(s.log_w[k] - top)
    for k in range(2 * n + 1):
        s.log_w[k] -= top + math.log(total)


@inlined
def step_convex(p: Params, s: State, g: Array, t: int) -> None:
    """Algorithm 6: gradient step 2D/(G sqrt t), projected on the ball."""
    c = 2.0 * p.ball / (p.gradient * np.sqrt(float(t)))
    for j in range(p.d):
        s.convex[j] -= c * g[j]
    project_ball(s.convex, p.ball)


@inlined
def step_strong(p: Params, s: State, g: Array, t: int, i: int) -> None:
    """Algorithm 8, rate i: projected step 1/(2 eta^2 G^2 t) on eta g + 2 eta^2 G^2 (x - theta)."""
    eta, x = p.rates[i], s.strong[i]
    c = 2.0 * eta * eta * p.gradient * p.gradient
    for j in range(p.d):
        x[j] -= (eta * g[j] + c * (x[j] - s.theta[j])) / (c * t)
    project_ball(x, p.ball)


@inlined
def step_newton(p: Params, s: State, g: Array, i: int) -> None:
    """Algorithm 7 for rate i: online Newton step in the norm of S, projected in that norm."""
    eta, x, d = p.rates[i], s.newton[i], p.d
    grad, z, along = s.work[1], s.work[2], 0.0
    for j in range(d):
        along += g[j] * (x[j] - s.theta[j])
    for j in range(d):
        grad[j] = (eta + 2.0 * eta * eta * along) * g[j]
    add_outer(1.0, grad, s.S[i])
    sherman_morrison(s.S_inv[i], grad, s.work[3])  # leaves the old S^-1 grad in work[3]
    shrunk = 1.0 / (1.0 + dot(grad, s.work[3]))  # of which the new S^-1 grad is this multiple
    for j in range(d):
        z[j] = x[j] - shrunk * s.work[3, j] / NEWTON
    project_ball_in_norm(s.S[i], z, p.ball, s.work[4:], s.work[3], x)


@inlined
def predict(p: Params, s: State) -> None:
    """Algorithm 5: theta <- mean of the experts, weighted by weight times rate."""
    n = p.rates.shape[0]
    total = math.exp(s.log_w[0]) * p.rate_convex
    for j in range(p.d):
        s.theta[j] = total * s.convex[j]
    for i in range(n):
        a = math.exp(s.log_w[1 + i]) * p.rates[i]
        b = math.exp(s.log_w[1 + n + i]) * p.rates[i]
        total += a + b
        for j in range(p.d):
            s.theta[j] += a * s.strong[i, j] + b * s.newton[i, j]
    for j in range(p.d):
        s.theta[j] /= total


def regret_bound(p: Params, T: int, strong_convexity: float = 0.0) -> float:
    """Lemma H.6: regret of Maler after T rounds: logarithmic for mu > 0, else of order sqrt(T)."""
    diameter = 2.0 * p.ball
    if strong_convexity > 0.0:
        A = 2.0 * np.log(np.sqrt(3.0) * (0.5 * np.log2(T) + 3.0)) + 1.0 + np.log(T)
        return (10.0 * p.gradient * diameter + 4.5 * p.gradient**2 / strong_convexity) * A
    return (2.0 * np.log(3.0) + 1.5) * p.gradient * diameter * np.sqrt(T)
