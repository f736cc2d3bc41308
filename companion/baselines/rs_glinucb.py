"""RS-GLinUCB: rarely switching optimism for generalized linear rewards, kappa-free in its leading
term.

Source: Sawarni, Das, Barman and Sinha (2024), Algorithm 2, with the hyper-parameters of its public
program: lambda = 0.5, gamma = S sqrt(d log(T/failure)), beta = 4 sqrt(d log(T/failure)), warm-up
threshold 100/(kappa S^2 d), growth 1.5 of the determinant.
Cost: O(K d^2 + d^3 log T) time per round: O(t d^2) for each of O(d log T) fits and for a fit after
each run of warm-up rounds; 2 T d numbers of memory; 16 times the floor of
`kernels.optimism`: of 4.2 microseconds 1.8 learn, most of them fits; the others compute the scores
of all arms by both estimates.
Differs: from the paper as the program does (the index is taken at the average of the two estimates,
no factor 1/e in H, the second fit takes all rows), but not in its defect: there the last matrix and
the running one are the same array, so the switch happens once (`private_glm/as_run.py`).
"""

import math
from typing import Any, NamedTuple

import numpy as np

from companion._jit import inlined, jit
from companion._types import Array, Ints, Rng
from companion.accounting.privacy import NO_PRIVACY
from companion.baselines.glm_parts import (
    best_lower,
    clipped_reward,
    need_model,
    widest,
)
from companion.checks import need_int
from companion.core import Policy, Universe
from companion.kernels.glm import slope
from companion.kernels.likelihood import fit, work_for
from companion.kernels.linalg import (
    add_outer,
    cholesky,
    copy,
    dot,
    inverse,
    sherman_morrison,
)
from companion.kernels.optimism import scores

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
    tolerance: float  # of the fits


class State(NamedTuple):
    t: int  # rounds played
    n_warm: int  # of them warm-up
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
    warm: np.ndarray  # (2,) whether the round under way is a warm-up, whether theta_warm is stale
    clipped: int  # rewards that were outside [0, 1]
    L: np.ndarray  # (d, d) scratch
    work: np.ndarray  # (d + 3, d) scratch


def init(p: Params) -> State:
    """State before the first round."""
    d, T = p.d, p.T
    V_inv, H = np.eye(d) / p.ridge, p.ridge * np.eye(d)
    rows = np.zeros((T, d)), np.zeros(T), np.zeros((T, d)), np.zeros(T)
    last = np.zeros((d, d)), np.full(1, -np.inf), np.zeros(d), np.zeros(d)
    flag = np.zeros(2, np.int64)
    return State(0, 0, V_inv, H, *last, *rows, flag, 0, np.zeros((d, d)), work_for(d))


def universe(p: Params) -> Universe:
    """What is not clipped: any context, rewards in [0, 1]."""
    return Universe(radius=np.inf, low=0.0)


@inlined
def refit(p: Params, s: State) -> None:
    """theta_hat, H_inv <- of all data, if det H has grown by GROWTH since the last fit."""
    cholesky(s.H, s.L)
    log_det = 0.0
    for i in range(p.d):
        log_det += 2.0 * math.log(s.L[i, i])
    if log_det >= s.log_det[0] + math.log(GROWTH):
        s.log_det[0] = log_det
        inverse(s.H, s.H_inv, s.L)
        fit(p.link, s.X, s.y, s.t, PENALTY, p.tolerance, s.theta_hat, s.work)


@inlined
def choose(p: Params, s: State, X: Array, known: Any) -> int:
    """Arm with the largest index, at the average of the two estimates, among those that the warm-up
    estimate does not rule out; known: the `scores` of X by theta_warm and V^-1, overwritten."""
    low, later = best_lower(known, p.elimination), scores(X, s.theta_hat, s.H_inv)
    best, arm = -np.inf, 0
    for k in range(X.shape[0]):
        if known[0, k] + known[1, k] >= low:
            index = 0.5 * (known[0, k] + later[0, k]) + p.width * math.sqrt(max(later[1, k], 0.0))
            if index > best:
                best, arm = index, k
    return arm


@inlined
def select(p: Params, s: State, X: Array, rng: Rng) -> int:
    """The widest row of X (K, d) while it is too wide, else the optimistic one."""
    known = scores(X, s.theta_warm, s.V_inv)
    square, arm = widest(known)
    s.warm[0] = 1 if square > p.threshold else 0
    if s.warm[0] == 0:
        if s.warm[1] == 1:
            s.warm[1] = 0
            fit(p.link, s.X_warm, s.y_warm, s.n_warm, PENALTY, p.tolerance, s.theta_warm, s.work)
            known = scores(X, s.theta_warm, s.V_inv)
        refit(p, s)
        arm = choose(p, s, X, known)
    return arm


@jit
def store(X: Array, y: Array, n: int, x: Array, r: float) -> None:
    """Row n of X, y <- x, r."""
    y[n] = r
    copy(x, X[n])


@inlined
def update(p: Params, s: State, arm: int, x: Array, r: float, rng: Rng) -> State:
    """State after reward r on context x (d,); the arrays of s are overwritten."""
    y, n_warm = clipped_reward(r), s.n_warm
    store(s.X, s.y, s.t, x, y)
    if s.warm[0] == 1:
        store(s.X_warm, s.y_warm, n_warm, x, y)
        n_warm += 1
        sherman_morrison(s.V_inv, x, s.work[0])
        s.warm[1] = 1
    else:
        add_outer(slope(p.link, dot(x, s.theta_warm)), x, s.H)
    clipped = s.clipped + (1 if y != r else 0)
    matrices = s.V_inv, s.H, s.H_inv, s.log_det, s.theta_warm, s.theta_hat
    rows = s.X_warm, s.y_warm, s.X, s.y
    return State(s.t + 1, n_warm, *matrices, *rows, s.warm, clipped, s.L, s.work)


@jit
def play(p: Params, s: State, X: Array, R: Array, rng: Rng, arms: Ints) -> State:
    """Play n rounds: contexts X (n, K, d), rewards R (n, K); reads only R[t, arms[t]]."""
    for t in range(X.shape[0]):
        arms[t] = select(p, s, X[t], rng)
        s = update(p, s, arms[t], X[t, arms[t]], R[t, arms[t]], rng)
    return s


def rs_glinucb(
    d: int,
    T: int,
    *,
    link: str = "logistic",
    theta_bound: float = 1.0,
    kappa: float | None = None,
    failure: float = 0.01,
    tolerance: float = 1e-8,
) -> Policy:
    """RS-GLinUCB for T rounds in the unit ball of R^d, rewards in [0, 1]; others are clipped.

    link "logistic" or "probit"; theta_bound > 0 bounds the norm of theta; kappa bounds 1/slope over
    all arms (None: 1/slope(theta_bound)); failure in (0, 1); tolerance > 0 of the fits.  Raises
    ValueError on anything else.
    """
    m = need_model(d, link, theta_bound, kappa, failure, tolerance)
    T = need_int("T", T, 1)
    root = math.sqrt(m.d * math.log(T / m.failure))
    elimination = m.theta_bound * root * math.sqrt(m.kappa)
    threshold = 100.0 / (m.kappa * m.theta_bound**2 * m.d)
    p = Params(m.d, T, m.link, 0.5, elimination, 4.0 * root, threshold, m.tolerance)
    return Policy("RS-GLinUCB", p, init, play, NO_PRIVACY, select, update)


def example() -> Policy:
    """A small instance for the common tests."""
    return rs_glinucb(3, 400, link="probit", theta_bound=2.0, kappa=18.4)
