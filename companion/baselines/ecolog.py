"""ECOLog: an efficient, kappa-free bandit for logistic rewards.

Source: Faury, Abeille, Jun and Calauzenes (2022), Algorithm 1, as in the public program
of Sawarni et al. (2024): lambda = 10, step 0.75/(1/4 + 1/(1 + S/2)), gradient descent in
the norm of V.
Differs: written in the original coordinates, where the gradient step is theta - (theta -
theta_t) - V^-1 x (.) and the projection is `project_ball_in_norm` (the program takes
matrix square roots and skips projections that move by less than 1e-3).
"""

import math
from typing import NamedTuple

import numpy as np

from companion.baselines.arguments import CLICKS, need_model
from companion.core import Policy
from companion.jit import jit
from companion.kernels import linalg
from companion.kernels.glm import LOGISTIC, clipped_reward, mean, slope, true_loss
from companion.kernels.ucb import optimistic_mean

STEP = 0.75  # of the inverse smoothness
SETTLED = 1e-13  # further steps would move theta by rounding errors only


class Params(NamedTuple):
    d: int  # dimension of a context
    theta_bound: float  # S
    failure: float
    ridge: float = 10.0  # lambda


class State(NamedTuple):
    t: np.ndarray  # (1,) rounds played
    V: np.ndarray  # (d, d) lambda I + sum slope(x'theta) x x'
    V_inv: np.ndarray  # (d, d)
    theta_hat: np.ndarray  # (d,)
    surplus: np.ndarray  # (1,) C of the radius
    clipped: np.ndarray  # (1,) rewards that were outside [0, 1]
    work: np.ndarray  # (5, d) scratch
    L: np.ndarray  # (d, d) scratch


def init(p):
    """State before the first round."""
    d = p.d
    return State(
        t=np.zeros(1, np.int64),
        V=p.ridge * np.eye(d),
        V_inv=np.eye(d) / p.ridge,
        theta_hat=np.zeros(d),
        surplus=np.zeros(1),
        clipped=np.zeros(1, np.int64),
        work=np.zeros((5, d)),
        L=np.zeros((d, d)),
    )


@jit
def radius(p, s):
    """Radius of the confidence set after t rounds."""
    root = math.sqrt(p.ridge)
    inside = 2.0 / p.failure * math.sqrt(1.0 + (s.t[0] + 1.0) / (4.0 * p.ridge))
    gain = 0.5 * root + 2.0 / root * math.log(inside)
    square = 2.0 * p.ridge * p.theta_bound**2 + (1.0 + p.theta_bound) ** 2 * gain
    square += s.surplus[0]
    return math.sqrt(max(square, 0.0))


@jit
def select(p, s, X, rng):
    """Row of X (K, d) with the largest mean(x'theta_hat) + radius ||x||_{V^-1}; the first
    on ties."""
    return optimistic_mean(LOGISTIC, s.theta_hat, s.V_inv, radius(p, s), X)


@jit
def descend(p, s, x, centre, scale, target, steps, theta):
    """theta <- about argmin ||theta - centre||_V^2/2 + loss with derivative scale
    mean(x'theta) - target, over the ball of radius S, started from theta.

    s.work: row 0 holds V^-1 x; rows 2 to 4 are overwritten.
    """
    direction = s.work[0]
    out = s.work[2]
    outside = s.work[3]
    size = STEP / (0.25 + 1.0 / (1.0 + 0.5 * p.theta_bound))
    for _ in range(steps):
        g = scale * mean(LOGISTIC, linalg.dot(x, theta)) - target
        moved = 0.0
        for i in range(p.d):
            out[i] = theta[i] - size * (theta[i] - centre[i] + g * direction[i])
        if linalg.norm(out) > p.theta_bound:
            linalg.copy(out, outside)
            linalg.project_ball_in_norm(s.V, outside, p.theta_bound, s.L, s.work[4], out)
        for i in range(p.d):
            moved = max(moved, abs(out[i] - theta[i]))
            theta[i] = out[i]
        if moved <= SETTLED * p.theta_bound:
            return


@jit
def update(p, s, arm, x, r, rng):
    """Learn from reward r on context x (d,); s is changed in place."""
    y = clipped_reward(r)
    s.t[0] += 1
    if y != r:
        s.clipped[0] += 1
    log_term = math.log(p.theta_bound * (s.t[0] + 1.0))
    depth = math.ceil((2.25 + p.theta_bound / 8.0) * log_term)
    steps = int(max(depth, 1.0) / STEP)
    direction = s.work[0]
    shifted = s.work[1]
    out = s.work[2]
    linalg.matvec(s.V_inv, x, direction)
    theta = s.theta_hat
    linalg.copy(theta, shifted)  # the old estimate is the centre of the first problem
    descend(p, s, x, shifted, 1.0, y, steps, theta)
    linalg.copy(theta, shifted)
    descend(p, s, x, theta, 2.0, 1.0, steps, shifted)
    z = linalg.dot(x, theta)
    z_shifted = linalg.dot(x, shifted)
    weight = slope(LOGISTIC, z)
    gain = true_loss(LOGISTIC, z_shifted, y) - true_loss(LOGISTIC, z, y)
    for i in range(p.d):
        out[i] = theta[i] - shifted[i]
    apart = math.sqrt(max(linalg.quad(s.V, out), 0.0))
    s.surplus[0] += 2.0 * (1.0 + p.theta_bound) * gain - 0.5 * apart
    linalg.add_outer(weight, x, s.V)
    for i in range(p.d):
        out[i] = math.sqrt(weight) * x[i]
    linalg.sherman_morrison(s.V_inv, out, direction)


def ecolog(d: int, *, theta_bound: float = 1.0, failure: float = 0.01) -> Policy:
    """ECOLog in the unit ball of R^d for logistic rewards in [0, 1]; others are clipped.

    d in [1, 10,000]; theta_bound in [1e-30, 1e30] bounds the norm of theta; failure in
    (0, 1). Raises ValueError on anything else.
    """
    d, _, bound, _, failure = need_model(d, "logistic", theta_bound, None, failure)
    return Policy(
        name="ECOLog",
        params=Params(d=d, theta_bound=bound, failure=failure),
        init=init,
        select=select,
        update=update,
        universe=CLICKS,
        delayed_feedback=True,
    )
