"""RS-GLinUCB: rarely switching optimism for generalized linear rewards, kappa-free in its
leading term.

Source: Sawarni, Das, Barman and Sinha (2024), Algorithm 2, with the hyper-parameters of
its public program: lambda = 0.5, gamma = S sqrt(d log(T/failure)), beta = 4 sqrt(d
log(T/failure)), warm-up threshold 100/(kappa S^2 d), growth 1.5 of the determinant.
Differs: from the paper as the program does (the index is taken at the average of the two
estimates, no factor 1/e in H, the second fit takes all rows), but not in its defect:
there the last matrix and the running one are the same array, so the switch happens once.
"""

import math
from typing import Literal, NamedTuple

import numpy as np

from companion.baselines.arguments import CLICKS, need_model
from companion.core import ROOM, Policy
from companion.jit import inlined, jit
from companion.kernels.glm import clipped_reward, fit, slope, work_for
from companion.kernels.linalg import (
    add_outer,
    cholesky,
    copy,
    dot,
    inverse,
    sherman_morrison,
)
from companion.kernels.ucb import best_left, widest
from companion.validate import need_int

PENALTY = 0.25  # of both fits
GROWTH = 1.5  # of the determinant between two fits


class Params(NamedTuple):
    d: int  # dimension of a context
    T: int  # horizon
    link: int  # number of the link
    ridge: float  # lambda
    elimination: float  # gamma sqrt(kappa)
    width: float  # beta
    threshold: float  # squared width above which an arm is explored
    tolerance: float = 1e-8  # of the fits


class State(NamedTuple):
    t: np.ndarray  # (1,) rounds played
    n_warm: np.ndarray  # (1,) of them warm-up
    V_inv: np.ndarray  # (d, d) of warm-up rounds
    H: np.ndarray  # (d, d) weighted, of all others
    H_inv: np.ndarray  # (d, d) inverse of H at the last fit
    log_det: np.ndarray  # (1,) of H at the last fit; -inf before
    theta_warm: np.ndarray  # (d,)
    theta_hat: np.ndarray  # (d,) of all rows
    X_warm: np.ndarray  # (T, d)
    y_warm: np.ndarray  # (T,)
    X: np.ndarray  # (T, d)
    y: np.ndarray  # (T,)
    # (2,) whether the round under way is a warm-up, whether theta_warm is stale
    warm: np.ndarray
    clipped: np.ndarray  # (1,) rewards that were outside [0, 1]
    L: np.ndarray  # (d, d) scratch
    work: np.ndarray  # (d + 3, d) scratch


def init(p):
    """State before the first round."""
    d = p.d
    T = p.T
    return State(
        t=np.zeros(1, np.int64),
        n_warm=np.zeros(1, np.int64),
        V_inv=np.eye(d) / p.ridge,
        H=p.ridge * np.eye(d),
        H_inv=np.zeros((d, d)),
        log_det=np.full(1, -np.inf),
        theta_warm=np.zeros(d),
        theta_hat=np.zeros(d),
        X_warm=np.zeros((T, d)),
        y_warm=np.zeros(T),
        X=np.zeros((T, d)),
        y=np.zeros(T),
        warm=np.zeros(2, np.int64),
        clipped=np.zeros(1, np.int64),
        L=np.zeros((d, d)),
        work=work_for(d),
    )


@jit
def log_det(A, L):
    """log det A of a positive definite A; L is overwritten."""
    cholesky(A, L)
    total = 0.0
    for i in range(A.shape[0]):
        total += 2.0 * math.log(L[i, i])
    return total


@inlined
def refit(p, s):
    """theta_hat, H_inv <- of all data, if det H has grown by GROWTH since the last."""
    now = log_det(s.H, s.L)
    if now >= s.log_det[0] + math.log(GROWTH):
        s.log_det[0] = now
        inverse(s.H, s.H_inv, s.L)
        fit(p.link, s.X, s.y, s.t[0], PENALTY, p.tolerance, s.theta_hat, s.work)


@inlined
def fit_warm_up(p, s):
    """theta_warm <- of the warm-up rounds, if there are new ones since the last fit."""
    if s.warm[1] == 1:
        s.warm[1] = 0
        n = s.n_warm[0]
        fit(p.link, s.X_warm, s.y_warm, n, PENALTY, p.tolerance, s.theta_warm, s.work)


@inlined
def choose(p, s, X, forms):
    """Arm with the largest index, at the average of the two estimates, among those that
    the warm-up estimate does not rule out; forms: those of `widest`."""
    average = np.empty(p.d)
    for i in range(p.d):
        average[i] = 0.5 * (s.theta_warm[i] + s.theta_hat[i])
    return best_left(X, s.theta_warm, forms, p.elimination, average, s.H_inv, p.width)


@jit
def select(p, s, X, rng):
    """The widest row of X (K, d) while it is too wide, else the optimistic one."""
    forms = np.empty(X.shape[0])
    square, arm = widest(X, s.V_inv, forms)
    s.warm[0] = 1 if square > p.threshold else 0
    if s.warm[0] == 0:
        fit_warm_up(p, s)
        refit(p, s)
        arm = choose(p, s, X, forms)
    return arm


@jit
def update(p, s, arm, x, r, rng):
    """Learn from reward r on context x (d,); s is changed in place."""
    y = clipped_reward(r)
    if y != r:
        s.clipped[0] += 1
    t = s.t[0]
    n = s.n_warm[0]
    s.y[t] = y
    copy(x, s.X[t])
    s.t[0] += 1
    if s.warm[0] == 1:
        s.y_warm[n] = y
        copy(x, s.X_warm[n])
        s.n_warm[0] += 1
        sherman_morrison(s.V_inv, x, s.work[0])
        s.warm[1] = 1
    else:
        add_outer(slope(p.link, dot(x, s.theta_warm)), x, s.H)


def rs_glinucb(
    d: int,
    T: int,
    *,
    link: Literal["logistic", "probit"] = "logistic",
    theta_bound: float = 1.0,
    kappa: float | None = None,
    failure: float = 0.01,
) -> Policy:
    """RS-GLinUCB for T rounds in the unit ball of R^d, rewards in [0, 1]; others are
    clipped.

    d in [1, 10,000], T in [1, 10^9 / d]; link "logistic" or "probit"; theta_bound in
    [1e-30, 1e30] bounds the norm of theta; kappa bounds 1/slope over all arms (None:
    1/slope(theta_bound)); failure in (0, 1).  Raises ValueError on anything else.
    """
    d, number, bound, kappa, failure = need_model(d, link, theta_bound, kappa, failure)
    T = need_int("T", T, 1, ROOM // d)
    root = math.sqrt(d * math.log(T / failure))
    p = Params(
        d=d,
        T=T,
        link=number,
        ridge=0.5,
        elimination=bound * root * math.sqrt(kappa),
        width=4.0 * root,
        threshold=100.0 / (kappa * bound**2 * d),
    )
    return Policy(
        name="RS-GLinUCB",
        params=p,
        init=init,
        select=select,
        update=update,
        universe=CLICKS,
    )
