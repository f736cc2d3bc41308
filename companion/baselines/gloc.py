"""GLOC: a generalized linear bandit from an online Newton step; O(d^2) memory.

Source: Jun, Bhargava, Nowak and Willett (2017), Algorithm 1, as in the public program of Sawarni et
al. (2024): lambda = d, the index is taken at the online iterate (not at the ridge centre, which the
program computes and never uses), and the iterate is always scaled to norm S.
Cost: O(K d^2) time per round, O(d^2) memory; 5 times the floor of `kernels.optimism`: of 1.3
microseconds 0.2 learn; few arms take an exponential, but all are bounded.
"""

import math
from typing import NamedTuple

import numpy as np

from companion.accounting.privacy import NO_PRIVACY
from companion.baselines.glm_parts import clipped_reward, need_model, optimistic_mean
from companion.core import Policy, Universe
from companion.jit import jit
from companion.kernels.glm import mean, slope
from companion.kernels.linalg import dot, matvec, norm, quad, sherman_morrison


class Params(NamedTuple):
    d: int  # dimension of a context
    link: int  # number of the link
    theta_bound: float  # S
    k: float  # 1/kappa, the least slope
    q: float  # L^2 kappa
    ridge: float  # lambda = d
    failure: float


class State(NamedTuple):
    t: int  # rounds played
    V_inv: np.ndarray  # (d, d) inverse of lambda I + sum x x'
    theta_hat: np.ndarray  # (d,) iterate of the online Newton step
    regret: float  # B: bound on the online learner's regret
    clipped: int  # rewards that were outside [0, 1]
    work: np.ndarray  # (d,) scratch


def init(p: Params) -> State:
    """State before the first round."""
    regret = 2.0 * p.k * p.theta_bound * p.theta_bound * p.ridge
    return State(0, np.eye(p.d) / p.ridge, np.zeros(p.d), regret, 0, np.zeros(p.d))


def universe_of(p: Params) -> Universe:
    """What is not clipped: any context, rewards in [0, 1]."""
    return Universe(radius=np.inf, low=0.0)


@jit
def radius(p, s):
    """Radius of the confidence set after s.t rounds."""
    inside = 1.0 + 2.0 * s.regret / p.k + 4.0 * (p.q * p.q / p.failure) ** 2
    log_term = math.log(2.0 / p.failure * math.sqrt(inside))
    return math.sqrt(1.0 + 4.0 / p.k * s.regret + 8.0 * p.q * p.q * log_term)


@jit
def select(p, s, X, rng):
    """Row of X (K, d) with the largest mean(x'theta_hat) + radius ||x||_{V^-1}; the first on
    ties."""
    return optimistic_mean(p.link, s.theta_hat, s.V_inv, radius(p, s), X)


@jit
def update(p, s, arm, x, r, rng):
    """State after reward r on context x (d,); the arrays of s are overwritten."""
    y = clipped_reward(r)
    g = mean(p.link, dot(x, s.theta_hat)) - y
    sherman_morrison(s.V_inv, x, s.work)
    regret = s.regret + g * g * max(quad(s.V_inv, x), 0.0) / (2.0 * p.k)
    matvec(s.V_inv, x, s.work)
    for i in range(p.d):
        s.theta_hat[i] -= g * s.work[i] / p.k
    size = norm(s.theta_hat)
    if size > 0.0:
        for i in range(p.d):
            s.theta_hat[i] *= p.theta_bound / size
    return State(s.t + 1, s.V_inv, s.theta_hat, regret, s.clipped + (1 if y != r else 0), s.work)


@jit
def play(p, s, X, R, rng, arms):
    """Play n rounds: contexts X (n, K, d), rewards R (n, K); reads only R[t, arms[t]]."""
    for t in range(X.shape[0]):
        arms[t] = select(p, s, X[t], rng)
        s = update(p, s, arms[t], X[t, arms[t]], R[t, arms[t]], rng)
    return s


def gloc(
    d: int,
    *,
    link: str = "logistic",
    theta_bound: float = 1.0,
    kappa: float | None = None,
    failure: float = 0.01,
) -> Policy:
    """GLOC in the unit ball of R^d with rewards in [0, 1]; others are clipped.

    link "logistic" or "probit"; theta_bound > 0 bounds the norm of theta; kappa bounds 1/slope over
    all arms (None: 1/slope(theta_bound)); failure in (0, 1).  Raises ValueError on anything else.
    """
    m = need_model(d, link, theta_bound, kappa, failure)
    L = slope(m.link, 0.0)
    p = Params(m.d, m.link, m.theta_bound, 1.0 / m.kappa, L * L * m.kappa, float(m.d), m.failure)
    return Policy(
        "GLOC",
        p,
        init,
        select,
        update,
        play,
        NO_PRIVACY,
        universe=universe_of(p),
        delayed_feedback=True,
    )
