"""Sparsity-agnostic lasso bandit: play the arm that a lasso on all data so far likes best.  No
privacy.

Source: Oh, Iyengar and Zeevi (2021), Algorithm 1; the FLIPHAT paper uses it as the limit of no
privacy.
Cost: O(K d + d^2) time per round: K a to select and a per sweep to learn, for a coordinates that
were ever active, and d for each that is not zero; T d numbers of memory; 0.8 times the floor of
`kernels.optimism`, which reads every coordinate of a context.
Differs: the estimate may be refitted every `every` rounds instead of every round; a fit ends after
`lasso_descent.SWEEPS` sweeps at the latest (`State.capped`).
"""

import math
from typing import NamedTuple

import numpy as np

from companion.accounting.privacy import NO_PRIVACY
from companion.baselines.lasso_descent import Gram, descend, whole
from companion.core import Policy
from companion.jit import jit
from companion.kernels.linalg import axpy, copy
from companion.kernels.mechanisms import below
from companion.validate import need_float, need_int, need_positive


class Params(NamedTuple):
    d: int  # dimension of a context
    T: int  # horizon
    penalty: float  # lambda_0
    every: int  # rounds between two fits
    tolerance: float  # largest change of a coefficient in the last sweep


class State(NamedTuple):
    t: int  # rounds played
    active: int  # coordinates that were ever active
    theta_hat: np.ndarray  # (d,)
    X: np.ndarray  # (T, d) contexts of the chosen arms
    y: np.ndarray  # (T,)
    c: np.ndarray  # (d,) X'y
    G: np.ndarray  # (d, d) row i: X'X of the i-th coordinate that became active, as `seen` says
    index: np.ndarray  # (d,) which coordinate that is
    seen: np.ndarray  # (d,) rows of X that are in row i of G: it lacks the others until it is read
    place: np.ndarray  # (d,) -1, or where the coordinate stands in index
    q: np.ndarray  # (d,) X'(y - X theta)
    capped: int  # fits that ended before the solver had converged


def init(p: Params) -> State:
    """State before the first round."""
    zeros = [np.zeros(p.d) for _ in range(3)]
    X, y, G = np.zeros((p.T, p.d)), np.zeros(p.T), np.zeros((p.d, p.d))
    index, seen = np.zeros((2, p.d), np.int64)
    place = np.full(p.d, -1)
    return State(0, 0, zeros[0], X, y, zeros[1], G, index, seen, place, zeros[2], 0)


@jit
def level(p, t):
    """Penalty alpha_t of (1/(2t)) ||y - X theta||^2 + alpha_t ||theta||_1 after t rounds."""
    return 2.0 * p.penalty * math.sqrt((4.0 * math.log(t) + 2.0 * math.log(p.d)) / t)


@jit
def activate(s, active, j):
    """Make coordinate j the next active one, whose Gram row is empty."""
    s.index[active] = j
    s.place[j] = active
    s.seen[active] = 0
    s.G[active][:] = 0.0


@jit
def lasso(p, s, active, t, n):
    """theta_hat <- the lasso after t rounds, on the n rows that are stored, by coordinate descent
    from the last one; returns (number of active ones, whether it converged).

    Sweeps the coordinates that were ever active; then takes in those that violate the optimality
    conditions: at most d + 1 times.
    """
    penalty, converged, G = level(p, t) * t, True, Gram(s.G, s.index, s.seen, s.X)
    copy(s.c, s.q)
    for a in range(active):
        if s.theta_hat[s.index[a]] != 0.0:
            axpy(-s.theta_hat[s.index[a]], whole(G, a, n), s.q)
    while True:
        done = descend(G, n, active, penalty, p.tolerance, s.theta_hat, s.q)
        converged = converged and done
        before = active
        for j in range(p.d):
            if s.place[j] < 0 and abs(s.q[j]) > penalty:
                activate(s, active, j)
                active += 1
        if active == before:
            return active, converged


@jit
def select(p, s, X, rng):
    """Row of X (K, d) with the largest x'theta_hat, the first one on ties; a random row before the
    first fit.
    """
    if s.t < p.every:
        return below(rng, X.shape[0])
    best, arm = -np.inf, 0
    for k in range(X.shape[0]):
        z = 0.0
        for a in range(s.active):
            z += X[k, s.index[a]] * s.theta_hat[s.index[a]]
        if z > best:
            best, arm = z, k
    return arm


@jit
def update(p, s, arm, x, r, rng):
    """State after reward r on context x (d,); the arrays of s are overwritten."""
    t, active, capped = s.t + 1, s.active, s.capped
    copy(x, s.X[s.t])
    s.y[s.t] = r
    axpy(r, x, s.c)
    if t % p.every == 0:
        active, converged = lasso(p, s, active, t, t)
        capped += 0 if converged else 1
    gram = s.G, s.index, s.seen, s.place
    return State(t, active, s.theta_hat, s.X, s.y, s.c, *gram, s.q, capped)


@jit
def play(p, s, X, R, rng, arms):
    """Play n rounds: contexts X (n, K, d), rewards R (n, K); reads only R[t, arms[t]]."""
    for t in range(X.shape[0]):
        arms[t] = select(p, s, X[t], rng)
        s = update(p, s, arms[t], X[t, arms[t]], R[t, arms[t]], rng)
    return s


def lasso_bandit(
    d: int, T: int, *, penalty: float = 1.0, every: int = 1, tolerance: float = 1e-8
) -> Policy:
    """Sparsity-agnostic lasso bandit for T rounds in R^d.

    penalty > 0 is lambda_0 in alpha_t = 2 lambda_0 sqrt((4 log t + 2 log d)/t); every >= 1 rounds
    between two fits (the first after that many rounds); tolerance >= 0 of the solver.  Raises
    ValueError on anything else.
    """
    p = Params(
        need_int("d", d, 1),
        need_int("T", T, 1),
        need_positive("penalty", penalty),
        need_int("every", every, 1),
        need_float("tolerance", tolerance, 1e-14),
    )
    return Policy("Lasso bandit", p, init, select, update, play, NO_PRIVACY, delayed_feedback=True)
