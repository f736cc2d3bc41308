"""Lasso bandit of Bastani and Bayati: forced samples screen the arms, a lasso on all data
decides. No privacy.

Source: Bastani and Bayati (2020), Algorithm "LASSO Bandit"; one context per round, a
parameter per arm.
Differs: coordinate descent to a tolerance, at most `linalg.SWEEPS` times
(`State.capped`); ties go to the lowest arm.
"""

import math
from typing import NamedTuple

import numpy as np

from companion.core import WIDEST, Policy
from companion.jit import jit
from companion.kernels.linalg import Gram, add_outer, axpy, copy, dot, lasso_descent
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
    t: np.ndarray  # (1,) rounds played
    count: np.ndarray  # (2, K) rows of the forced and of the all-sample lasso
    G: np.ndarray  # (2, K, d, d) their sums of x x'
    c: np.ndarray  # (2, K, d) of x r
    theta: np.ndarray  # (2, K, d) estimates
    index: np.ndarray  # (d,) 0, 1, ..., d - 1: all coordinates are active
    q: np.ndarray  # (d,) scratch
    capped: np.ndarray  # (1,) fits that ended before the solver had converged


def init(p):
    """State before the first round."""
    K = p.K
    d = p.d
    return State(
        t=np.zeros(1, np.int64),
        count=np.zeros((2, K), np.int64),
        G=np.zeros((2, K, d, d)),
        c=np.zeros((2, K, d)),
        theta=np.zeros((2, K, d)),
        index=np.arange(d),
        q=np.zeros(d),
        capped=np.zeros(1, np.int64),
    )


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
    """The forced arm, or the best all-sample estimate among those near the best forced
    one."""
    arm = forced_arm(p, s.t[0] + 1)
    if arm >= 0:
        return arm
    top = -np.inf
    for k in range(p.K):
        top = max(top, dot(X[0], s.theta[0, k]))
    best = -np.inf
    arm = 0
    for k in range(p.K):
        if dot(X[0], s.theta[0, k]) >= top - 0.5 * p.gap:
            z = dot(X[0], s.theta[1, k])
            if z > best:
                best = z
                arm = k
    return arm


@jit
def learn(p, s, which, arm, x, r, penalty):
    """Add the row to one lasso and refit it: ||y - X theta||^2/n + penalty
    ||theta||_1."""
    s.count[which, arm] += 1
    theta = s.theta[which, arm]
    G = s.G[which, arm]
    c = s.c[which, arm]
    add_outer(1.0, x, G)
    axpy(r, x, c)
    copy(c, s.q)
    for j in range(p.d):
        if theta[j] != 0.0:
            axpy(-theta[j], G[j], s.q)
    half = 0.5 * penalty * s.count[which, arm]
    whole = Gram(
        rows=G,
        index=s.index,
        seen=s.index,
        X=G,
    )
    if not lasso_descent(whole, 0, p.d, half, p.tolerance, theta, s.q):
        s.capped[0] += 1


@jit
def update(p, s, arm, x, r, rng):
    """Learn from reward r on context x (d,); s is changed in place."""
    s.t[0] += 1
    t = s.t[0]
    if forced_arm(p, t) == arm:
        learn(p, s, 0, arm, x, r, p.penalty_forced)
    penalty = p.penalty_all * math.sqrt((math.log(t) + math.log(p.d)) / t)
    learn(p, s, 1, arm, x, r, penalty)


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
    """Lasso bandit for K in [1, 10,000] arms and one context in R^d per round (equal rows
    of X).

    Parameters
    ----------
    d : dimension of a context, in [1, 10,000].
    forced : forced rounds per arm and phase (q), at least 1; K * forced below 2^31.
    gap : h > 0.
    penalty_forced, penalty_all : lambda_1 and lambda_(2,0), above 0; round t uses
        lambda_(2,0) sqrt((log t + log d)/t).
    tolerance : of the lasso, above 0.

    Returns
    -------
    Policy

    Raises
    ------
    ValueError
        On anything else.

    >>> forced_lasso(20, 3).params.forced
    1
    """
    d = need_int("d", d, 1, WIDEST)
    K = need_int("K", K, 1, WIDEST)
    forced = need_int("forced", forced, 1, (2**31 - 1) // K)
    p = Params(
        d=d,
        K=K,
        forced=forced,
        gap=need_positive("gap", gap),
        penalty_forced=need_positive("penalty_forced", penalty_forced),
        penalty_all=need_positive("penalty_all", penalty_all),
        tolerance=need_float("tolerance", tolerance, 1e-14),
        one_context=True,
    )
    return Policy(
        name="Forced lasso",
        params=p,
        init=init,
        select=select,
        update=update,
    )
