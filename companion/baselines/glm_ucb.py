"""GLM-UCB: optimism around the maximum-likelihood estimate, with a width that grows with
kappa.

Source: Filippi, Cappe, Garivier and Szepesvari (2010), Algorithm 1, with the width of the
public program of Sawarni et al. (2024): c sqrt(log t) for the probit link, c for the
logistic link.
Differs: Newton's method from the last estimate in place of BFGS; no projection of the
estimate (neither has the program).
"""

import math
from typing import Literal, NamedTuple

import numpy as np

from companion.baselines.arguments import CLICKS, need_model
from companion.core import ROOM, Policy
from companion.jit import jit
from companion.kernels.glm import (
    PROBIT,
    clipped_reward,
    fit,
    slope,
    true_derivatives,
    work_for,
)
from companion.kernels.linalg import axpy, cholesky_solve, copy, dot, sherman_morrison
from companion.kernels.ucb import optimistic_mean
from companion.validate import need_int


class Params(NamedTuple):
    d: int  # dimension of a context
    T: int  # horizon
    link: int  # number of the link
    ridge: float  # lambda = d: of V, and penalty of the estimate
    width: float  # c
    tolerance: float = 1e-8  # of the estimate's objective


class State(NamedTuple):
    t: np.ndarray  # (1,) rounds played
    V_inv: np.ndarray  # (d, d) inverse of lambda I + sum x x'
    theta_hat: np.ndarray  # (d,)
    X: np.ndarray  # (T, d) contexts of the played arms
    y: np.ndarray  # (T,)
    started: np.ndarray  # (1,) whether theta_hat was drawn
    clipped: np.ndarray  # (1,) rewards that were outside [0, 1]
    # (d + 3, d) scratch of a fit; rows :d keep the last Hessian's Cholesky factor
    work: np.ndarray
    column: np.ndarray  # (d,) scratch


def init(p):
    """State before the first round."""
    d = p.d
    work = work_for(d)
    work[:d] = np.sqrt(2.0 * p.ridge) * np.eye(d)  # of the Hessian without rows
    return State(
        t=np.zeros(1, np.int64),
        V_inv=np.eye(d) / p.ridge,
        theta_hat=np.zeros(d),
        X=np.zeros((p.T, d)),
        y=np.zeros(p.T),
        started=np.zeros(1, np.int64),
        clipped=np.zeros(1, np.int64),
        work=work,
        column=np.zeros(d),
    )


@jit
def select(p, s, X, rng):
    """Row of X (K, d) with the largest mean(x'theta_hat) + c_t ||x||_{V^-1}; the first on
    ties."""
    if s.started[0] == 0:
        s.started[0] = 1
        for i in range(p.d):
            s.theta_hat[i] = rng.standard_normal()
    width = p.width
    if p.link == PROBIT:
        width = p.width * math.sqrt(math.log(s.t[0] + 1.0))
    return optimistic_mean(p.link, s.theta_hat, s.V_inv, width, X)


@jit
def approach(p, s, x, y):
    """theta_hat <- after one Newton step for the new row x, y: the gradient of all rows
    before is 0 at the last estimate, and their Hessian is known.  It spares `fit` one
    pass over the rows."""
    first, second = true_derivatives(p.link, dot(x, s.theta_hat), y)
    cholesky_solve(s.work[: p.d], x, s.column)
    axpy(-first / (1.0 + second * dot(x, s.column)), s.column, s.theta_hat)


@jit
def update(p, s, arm, x, r, rng):
    """Learn from reward r on context x (d,); s is changed in place."""
    y = clipped_reward(r)
    n = s.t[0]
    if y != r:
        s.clipped[0] += 1
    s.y[n] = y
    copy(x, s.X[n])
    sherman_morrison(s.V_inv, x, s.column)
    approach(p, s, x, y)
    fit(p.link, s.X, s.y, n + 1, p.ridge, p.tolerance, s.theta_hat, s.work)
    s.t[0] += 1


def glm_ucb(
    d: int,
    T: int,
    *,
    link: Literal["logistic", "probit"] = "logistic",
    theta_bound: float = 1.0,
    kappa: float | None = None,
    failure: float = 0.01,
) -> Policy:
    """GLM-UCB for T rounds in the unit ball of R^d with rewards in [0, 1]; others are
    clipped.

    d in [1, 10,000], T in [1, 10^9 / d]; link "logistic" or "probit"; theta_bound in
    [1e-30, 1e30] bounds the norm of theta; kappa >= 1/slope(0) bounds 1/slope over all
    arms (None:
    1/slope(theta_bound)); failure in (0, 1).  Raises ValueError on anything else.

    The width is c = 2 L kappa sqrt(3 + 2 log(1 + 2/lambda)) sqrt(2 d log(2 d T/failure)),
    with lambda = d and L the largest slope of the link.
    """
    d, number, _, kappa, failure = need_model(d, link, theta_bound, kappa, failure)
    T = need_int("T", T, 1, ROOM // d)
    log_term = 2.0 * d * math.log(2.0 * d * T / failure)
    root = math.sqrt((3.0 + 2.0 * math.log1p(2.0 / d)) * log_term)
    p = Params(
        d=d,
        T=T,
        link=number,
        ridge=float(d),
        width=2.0 * slope(number, 0.0) * kappa * root,
    )
    return Policy(
        name="GLM-UCB",
        params=p,
        init=init,
        select=select,
        update=update,
        universe=CLICKS,
        delayed_feedback=True,
    )
