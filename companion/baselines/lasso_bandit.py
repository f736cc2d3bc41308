"""Sparsity-agnostic lasso bandit: play the arm that a lasso on all data so far likes
best.  No privacy.

Source: Oh, Iyengar and Zeevi (2021), Algorithm 1; the FLIPHAT paper uses it as the limit
of no privacy.
Differs: the estimate may be refitted every `every` rounds instead of every round; a fit
ends after `linalg.SWEEPS` sweeps at the latest (`State.capped`).
"""

import math
from typing import NamedTuple

import numpy as np

from companion.core import ROOM, WIDEST, Policy
from companion.jit import jit
from companion.kernels.linalg import Gram, axpy, copy, lasso_descent, whole
from companion.kernels.mechanisms import random_integer
from companion.validate import need_float, need_int, need_positive


class Params(NamedTuple):
    d: int  # dimension of a context
    T: int  # horizon
    penalty: float  # lambda_0
    every: int  # rounds between two fits
    tolerance: float  # largest change of a coefficient in the last sweep


class State(NamedTuple):
    t: np.ndarray  # (1,) rounds played
    active: np.ndarray  # (1,) coordinates that were ever active
    theta_hat: np.ndarray  # (d,)
    X: np.ndarray  # (T, d) contexts of the chosen arms
    c: np.ndarray  # (d,) X'y
    # (d, d) row i: X'X of the i-th coordinate that became active, as `seen` says
    G: np.ndarray
    index: np.ndarray  # (d,) which coordinate that is
    # (d,) rows of X that are in row i of G: it lacks the others until it is read
    seen: np.ndarray
    place: np.ndarray  # (d,) -1, or where the coordinate stands in index
    q: np.ndarray  # (d,) X'(y - X theta)
    capped: np.ndarray  # (1,) fits that ended before the solver had converged


def init(p):
    """State before the first round."""
    return State(
        t=np.zeros(1, np.int64),
        active=np.zeros(1, np.int64),
        theta_hat=np.zeros(p.d),
        X=np.zeros((p.T, p.d)),
        c=np.zeros(p.d),
        G=np.zeros((p.d, p.d)),
        index=np.zeros(p.d, np.int64),
        seen=np.zeros(p.d, np.int64),
        place=np.full(p.d, -1),
        q=np.zeros(p.d),
        capped=np.zeros(1, np.int64),
    )


@jit
def level(p, t):
    """Penalty alpha_t of (1/(2t)) ||y - X theta||^2 + alpha_t ||theta||_1 after t
    rounds."""
    return 2.0 * p.penalty * math.sqrt((4.0 * math.log(t) + 2.0 * math.log(p.d)) / t)


@jit
def lasso(p, s):
    """theta_hat <- the lasso on all rounds so far, by coordinate descent from the last
    one.

    Sweeps the coordinates that were ever active; then takes in those that violate the
    optimality conditions: at most d + 1 times.
    """
    t = s.t[0]
    G = Gram(
        rows=s.G,
        index=s.index,
        seen=s.seen,
        X=s.X,
    )
    penalty = level(p, t) * t
    converged = True
    before = -1
    copy(s.c, s.q)
    for a in range(s.active[0]):
        if s.theta_hat[s.index[a]] != 0.0:
            axpy(-s.theta_hat[s.index[a]], whole(G, a, t), s.q)
    while before < s.active[0]:
        done = lasso_descent(G, t, s.active[0], penalty, p.tolerance, s.theta_hat, s.q)
        converged = converged and done
        before = s.active[0]
        for j in range(p.d):
            if s.place[j] < 0 and abs(s.q[j]) > penalty:
                s.index[s.active[0]] = j
                s.place[j] = s.active[0]
                s.active[0] += 1
    if not converged:
        s.capped[0] += 1


@jit
def select(p, s, X, rng):
    """Row of X (K, d) with the largest x'theta_hat, the first one on ties; a random row
    before the first fit.
    """
    if s.t[0] < p.every:
        return random_integer(rng, X.shape[0])
    best = -np.inf
    arm = 0
    for k in range(X.shape[0]):
        z = 0.0
        for a in range(s.active[0]):
            z += X[k, s.index[a]] * s.theta_hat[s.index[a]]
        if z > best:
            best = z
            arm = k
    return arm


@jit
def update(p, s, arm, x, r, rng):
    """Learn from reward r on context x (d,); s is changed in place."""
    copy(x, s.X[s.t[0]])
    axpy(r, x, s.c)
    s.t[0] += 1
    if s.t[0] % p.every == 0:
        lasso(p, s)


def lasso_bandit(
    d: int,
    T: int,
    *,
    penalty: float = 1.0,
    every: int = 1,
    tolerance: float = 1e-8,
) -> Policy:
    """Sparsity-agnostic lasso bandit for T rounds in R^d.

    Parameters
    ----------
    d, T : dimension of a context, in [1, 10,000], and horizon, in [1, 10^9 / d].
    penalty : lambda_0 > 0 in alpha_t = 2 lambda_0 sqrt((4 log t + 2 log d)/t).
    every : rounds between two fits, at least 1; the first comes after that many rounds.
    tolerance : of the solver, at least 1e-14.

    Returns
    -------
    Policy

    Raises
    ------
    ValueError
        On anything else.

    >>> lasso_bandit(20, 100).params.every
    1
    """
    d = need_int("d", d, 1, WIDEST)
    every = need_int("every", every, 1)
    T = need_int("T", T, 1, ROOM // d)
    penalty = need_positive("penalty", penalty)
    p = Params(
        d=d,
        T=T,
        penalty=penalty,
        every=every,
        tolerance=need_float("tolerance", tolerance, 1e-14),
    )
    return Policy(
        name="Lasso bandit",
        params=p,
        init=init,
        select=select,
        update=update,
        delayed_feedback=True,
    )
