"""Lasso bandit of Bastani and Bayati: forced samples screen the arms, a lasso on all decides.
No privacy.

Source: Bastani and Bayati (2020), Algorithm "LASSO Bandit"; one context per round, a parameter per
arm.
Cost: O(K d + d^2) time per round, d^2 for the Gram matrix of the arm that was played, with a warm
lasso; 8 times the floor of `kernels.optimism`.  A quarter of it are the products of all arms with
both of their estimates, where the floor has one; most of the rest are the sweeps of the lasso, each
of which waits for d divisions, one after the other.
Differs: coordinate descent to a tolerance, at most `lasso_descent.SWEEPS` times (`State.capped`);
ties go to the lowest arm.
"""

import math
from typing import NamedTuple

import numpy as np

from companion.accounting.privacy import NO_PRIVACY
from companion.baselines.lasso_descent import Gram, descend
from companion.core import Policy
from companion.jit import jit
from companion.kernels.linalg import add_outer, axpy, copy
from companion.kernels.ucb import combined
from companion.validate import need_float, need_int, need_positive


class Params(NamedTuple):
    d: int  # dimension of the context
    K: int  # arms
    forced: int  # q, forced rounds per arm and phase
    gap: float  # h: arms within h/2 of the best forced estimate are candidates
    penalty_forced: float  # lambda_1
    penalty_all: float  # lambda_(2,0)
    tolerance: float  # of a lasso, largest move in the last sweep
    one_context: bool  # True: all rows of X are the same context


class State(NamedTuple):
    t: int  # rounds played
    count: np.ndarray  # (2, K) rows of the forced and of the all-sample lasso
    G: np.ndarray  # (2, K, d, d) their sums of x x'
    c: np.ndarray  # (2, K, d) of x r
    theta: np.ndarray  # (2, K, d) estimates
    columns: np.ndarray  # (2, d, K) the same, with the arms innermost
    scores: np.ndarray  # (2, K) scratch
    index: np.ndarray  # (d,) 0, 1, ..., d - 1: all coordinates are active
    q: np.ndarray  # (d,) scratch
    capped: int  # fits that ended before the solver had converged


def init(p: Params) -> State:
    """State before the first round."""
    K, d = p.K, p.d
    arrays = np.zeros((2, K, d, d)), np.zeros((2, K, d)), np.zeros((2, K, d))
    more = np.zeros((2, d, K)), np.zeros((2, K)), np.arange(d), np.zeros(d)
    return State(0, np.zeros((2, K), np.int64), *arrays, *more, 0)


@jit
def forced_arm(p, t):
    """Arm that round t >= 1 has to play, or -1: t = (2^k - 1) K q + j, j = 1..K q."""
    size = p.K * p.forced
    start = 0
    while start < t:
        if t <= start + size:
            return (t - start - 1) // p.forced
        start = 2 * start + size
    return -1


@jit
def select(p, s, X, rng):
    """The forced arm, or the best all-sample estimate among those near the best forced one."""
    arm = forced_arm(p, s.t + 1)
    if arm >= 0:
        return arm
    top = -np.inf
    for which in range(2):
        combined(X[0], p.d, s.columns[which], s.scores[which])  # x'theta_k of every arm k
    for k in range(p.K):
        top = max(top, s.scores[0, k])
    best, arm = -np.inf, 0
    for k in range(p.K):
        if s.scores[0, k] >= top - 0.5 * p.gap and s.scores[1, k] > best:
            best, arm = s.scores[1, k], k
    return arm


@jit
def learn(p, s, which, arm, x, r, penalty):
    """Add the row to one lasso and refit it: ||y - X theta||^2/n + penalty ||theta||_1; returns
    whether the solver converged.
    """
    s.count[which, arm] += 1
    add_outer(1.0, x, s.G[which, arm])
    axpy(r, x, s.c[which, arm])
    theta, G = s.theta[which, arm], s.G[which, arm]
    copy(s.c[which, arm], s.q)
    for j in range(p.d):
        if theta[j] != 0.0:
            axpy(-theta[j], G[j], s.q)
    half = 0.5 * penalty * s.count[which, arm]
    converged = descend(Gram(G, s.index, s.index, G), 0, p.d, half, p.tolerance, theta, s.q)
    copy(theta, s.columns[which, :, arm])
    return converged


@jit
def update(p, s, arm, x, r, rng):
    """State after reward r on context x (d,); the arrays of s are overwritten."""
    t, capped = s.t + 1, s.capped
    if forced_arm(p, t) == arm:
        capped += 0 if learn(p, s, 0, arm, x, r, p.penalty_forced) else 1
    penalty = p.penalty_all * math.sqrt((math.log(t) + math.log(p.d)) / t)
    capped += 0 if learn(p, s, 1, arm, x, r, penalty) else 1
    moved = s.theta, s.columns, s.scores, s.index, s.q
    return State(t, s.count, s.G, s.c, *moved, capped)


@jit
def play(p, s, X, R, rng, arms):
    """Play n rounds: contexts X (n, K, d), rewards R (n, K); reads only R[t, arms[t]]."""
    for t in range(X.shape[0]):
        arms[t] = select(p, s, X[t], rng)
        s = update(p, s, arms[t], X[t, arms[t]], R[t, arms[t]], rng)
    return s


def forced_lasso(
    d: int,
    K: int,
    *,
    forced: int = 1,
    gap: float = 5.0,
    penalty_forced: float = 0.05,
    penalty_all: float = 0.05,
    tolerance: float = 1e-5,
) -> Policy:
    """Lasso bandit for K >= 1 arms and one context in R^d per round (all rows of X equal).

    forced >= 1 rounds per arm and phase (q); gap > 0 (h); penalties > 0 (lambda_1 and lambda_(2,0),
    of which round t uses lambda_(2,0) sqrt((log t + log d)/t)); tolerance > 0 of the lasso.  Raises
    ValueError on anything else.
    """
    p = Params(
        need_int("d", d, 1),
        need_int("K", K, 1),
        need_int("forced", forced, 1),
        need_positive("gap", gap),
        need_positive("penalty_forced", penalty_forced),
        need_positive("penalty_all", penalty_all),
        need_float("tolerance", tolerance, 1e-14),
        True,
    )
    return Policy("Forced lasso", p, init, select, update, play, NO_PRIVACY)
