"""GLM-UCB: optimism around the maximum-likelihood estimate, with a width that grows with kappa.

Source: Filippi, Cappe, Garivier and Szepesvari (2010), Algorithm 1, with the width of the public
program of Sawarni et al. (2024): c sqrt(log t) for the probit link, c for the logistic link.
Cost: O(K d^2 + d^3) time per round, and a pass over all rounds so far, d^3 numbers each, where the
estimate has left the anchor of `kernels.anchor`, less often from round to round: 126 passes in the
first 2000 rounds; T d numbers of memory; 18 times the floor of `kernels.optimism` at T = 2000, a
third of it these passes.
Differs: Newton's method from the last estimate in place of BFGS, and between passes the cubic
model, surely within the same tolerance; no projection of the estimate (neither has the program).
"""

import math
from typing import NamedTuple

import numpy as np

from companion.accounting.privacy import NO_PRIVACY
from companion.baselines.glm_parts import (
    clipped_reward,
    need_model,
    optimistic_mean,
    start_at_random,
)
from companion.core import Policy, Universe
from companion.jit import jit
from companion.kernels.glm import PROBIT, Anchor, add, anchor_for, fit, follow, put, slope, work_for
from companion.kernels.linalg import copy, sherman_morrison
from companion.validate import need_int


class Params(NamedTuple):
    d: int  # dimension of a context
    T: int  # horizon
    link: int  # number of the link
    ridge: float  # lambda = d: of V, and penalty of the estimate
    width: float  # c
    tolerance: float  # of the estimate


class State(NamedTuple):
    t: int  # rounds played
    V_inv: np.ndarray  # (d, d) inverse of lambda I + sum x x'
    theta_hat: np.ndarray  # (d,)
    X: np.ndarray  # (T, d) contexts of the played arms
    y: np.ndarray  # (T,)
    started: np.ndarray  # (1,) whether theta_hat was drawn
    clipped: int  # rewards that were outside [0, 1]
    anchor: Anchor  # sums by which the estimate is kept up
    work: np.ndarray  # (d + 3, d) scratch
    column: np.ndarray  # (d,) scratch


def init(p: Params) -> State:
    """State before the first round."""
    X, y = np.zeros((p.T, p.d)), np.zeros(p.T)
    V_inv, started = np.eye(p.d) / p.ridge, np.zeros(1, np.int64)
    anchor = anchor_for(p.d, p.ridge)
    return State(0, V_inv, np.zeros(p.d), X, y, started, 0, anchor, work_for(p.d), np.zeros(p.d))


def universe_of(p: Params) -> Universe:
    """What is not clipped: any context, rewards in [0, 1]."""
    return Universe(radius=np.inf, low=0.0)


@jit
def select(p, s, X, rng):
    """Row of X (K, d) with the largest mean(x'theta_hat) + c_t ||x||_{V^-1}; the first on ties."""
    start_at_random(s.started, s.theta_hat, rng)
    width = p.width * (math.sqrt(math.log(s.t + 1.0)) if p.link == PROBIT else 1.0)
    return optimistic_mean(p.link, s.theta_hat, s.V_inv, width, X)


@jit
def update(p, s, arm, x, r, rng):
    """State after reward r on context x (d,); the arrays of s are overwritten."""
    y = clipped_reward(r)
    s.y[s.t] = y
    copy(x, s.X[s.t])
    sherman_morrison(s.V_inv, x, s.column)
    add(p.link, x, y, s.anchor)
    for tried in range(2):
        if follow(p.link, p.tolerance, s.anchor, s.theta_hat):
            break
        if tried == 1:
            fit(p.link, s.X, s.y, s.t + 1, p.ridge, p.tolerance, s.theta_hat, s.work)
        put(p.link, s.X, s.y, s.t + 1, p.ridge, s.theta_hat, s.anchor)
    clipped = s.clipped + (1 if y != r else 0)
    rows = s.X, s.y, s.started, clipped, s.anchor, s.work, s.column
    return State(s.t + 1, s.V_inv, s.theta_hat, *rows)


@jit
def play(p, s, X, R, rng, arms):
    """Play n rounds: contexts X (n, K, d), rewards R (n, K); reads only R[t, arms[t]]."""
    for t in range(X.shape[0]):
        arms[t] = select(p, s, X[t], rng)
        s = update(p, s, arms[t], X[t, arms[t]], R[t, arms[t]], rng)
    return s


def width_of(d: int, T: int, link: int, kappa: float, failure: float) -> float:
    """c = 2 L kappa sqrt(3 + 2 log(1 + 2/lambda)) sqrt(2 d log(2 d T/failure)), with lambda = d and
    L the largest slope of the link."""
    log_term = 2.0 * d * math.log(2.0 * d * T / failure)
    bracket = 3.0 + 2.0 * math.log1p(2.0 / d)
    return 2.0 * slope(link, 0.0) * kappa * math.sqrt(bracket * log_term)


def glm_ucb(
    d: int,
    T: int,
    *,
    link: str = "logistic",
    theta_bound: float = 1.0,
    kappa: float | None = None,
    failure: float = 0.01,
    tolerance: float = 1e-8,
) -> Policy:
    """GLM-UCB for T rounds in the unit ball of R^d with rewards in [0, 1]; others are clipped.

    link "logistic" or "probit"; theta_bound > 0 bounds the norm of theta; kappa >= 1/slope(0)
    bounds 1/slope over all arms (None: 1/slope(theta_bound)); failure in (0, 1); tolerance > 0 of
    the estimate's objective.  Raises ValueError on anything else.
    """
    m = need_model(d, link, theta_bound, kappa, failure, tolerance)
    T = need_int("T", T, 1)
    width = width_of(m.d, T, m.link, m.kappa, m.failure)
    p = Params(m.d, T, m.link, float(m.d), width, m.tolerance)
    return Policy(
        "GLM-UCB",
        p,
        init,
        select,
        update,
        play,
        NO_PRIVACY,
        universe=universe_of(p),
        delayed_feedback=True,
    )
