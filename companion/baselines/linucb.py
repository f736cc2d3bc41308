"""LinUCB: optimism for linear rewards, without privacy.

Source: Abbasi-Yadkori, Pal and Szepesvari (2011), Figure 1 and Theorem 2.
Cost: O(K d^2) time per round, O(d^2) memory; 3 times the floor of `kernels.optimism`: of 0.8
microseconds 0.6 select, 0.25 of them for reading the contexts, and 0.1 learn.
"""

import math
from typing import NamedTuple

import numpy as np

from companion.accounting.privacy import NO_PRIVACY
from companion.core import Policy
from companion.jit import jit
from companion.kernels.linalg import axpy, matvec, sherman_morrison
from companion.kernels.ucb import nothing_seen, optimistic_arm, optimistic_next
from companion.validate import need_float, need_int, need_positive, need_probability


class Params(NamedTuple):
    d: int  # dimension of a context
    ridge: float  # lambda > 0
    noise: float  # R, sub-Gaussian scale of the rewards
    theta_bound: float  # S, bound on the norm of theta
    failure: float  # chance that some confidence set misses theta
    width: float  # multiple of the theorem's radius that is used; 1 is the theorem


class State(NamedTuple):
    t: int  # rounds played
    V_inv: np.ndarray  # (d, d) inverse of lambda I + sum x x'
    b: np.ndarray  # (d,) sum r x
    theta_hat: np.ndarray  # (d,) V_inv b
    work: np.ndarray  # (d,) scratch


def init(p: Params) -> State:
    """State before the first round."""
    return State(0, np.eye(p.d) / p.ridge, np.zeros(p.d), np.zeros(p.d), np.zeros(p.d))


@jit
def theorem_radius(d, t, ridge, noise, theta_bound, failure):
    """Theorem 2 for contexts in the unit ball: confidence radius after t rounds."""
    log_det = d * math.log1p(t / (ridge * d))
    return noise * np.sqrt(log_det - 2.0 * math.log(failure)) + np.sqrt(ridge) * theta_bound


@jit
def radius(p, t):
    """The radius that is used after t rounds: the theorem's, times the width."""
    return p.width * theorem_radius(p.d, t, p.ridge, p.noise, p.theta_bound, p.failure)


@jit
def select(p, s, X, rng):
    """Row of X (K, d) with the largest upper confidence bound; the first one on ties."""
    return optimistic_arm(X, s.V_inv, s.theta_hat, radius(p, s.t))


@jit
def update(p, s, arm, x, r, rng):
    """State after reward r on context x (d,); the arrays of s are overwritten."""
    sherman_morrison(s.V_inv, x, s.work)  # V <- V + x x'
    axpy(r, x, s.b)  # b <- b + r x
    matvec(s.V_inv, s.b, s.theta_hat)  # theta_hat <- V^-1 b
    return State(s.t + 1, s.V_inv, s.b, s.theta_hat, s.work)


@jit
def play(p, s, X, R, rng, arms):
    """Play n rounds: contexts X (n, K, d), rewards R (n, K); reads only R[t, arms[t]]."""
    seen = nothing_seen(X)
    for t in range(X.shape[0]):
        arms[t] = optimistic_next(X, t, s.V_inv, s.theta_hat, radius(p, s.t), seen)
        s = update(p, s, arms[t], X[t, arms[t]], R[t, arms[t]], rng)
    return s


def linucb(
    d: int,
    *,
    ridge: float = 1.0,
    noise: float = 1.0,
    theta_bound: float = 1.0,
    failure: float = 0.01,
    width: float = 1.0,
) -> Policy:
    """LinUCB for contexts in the unit ball of R^d.

    ridge > 0; noise >= 0, sub-Gaussian scale of the rewards; theta_bound >= 0; failure in (0, 1);
    width >= 0 multiplies the theorem's radius (1: the theorem).  Raises ValueError on anything
    else.

    >>> live = linucb(2).start(0)
    >>> live.select([[1.0, 0.0], [0.0, 1.0]])
    0
    """
    p = Params(
        need_int("d", d, 1),
        need_positive("ridge", ridge),
        need_float("noise", noise, 0.0),
        need_float("theta_bound", theta_bound, 0.0),
        need_probability("failure", failure),
        need_float("width", width, 0.0),
    )
    return Policy("LinUCB", p, init, select, update, play, NO_PRIVACY, delayed_feedback=True)
