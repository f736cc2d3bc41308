"""RegCB.Elimination with perturbed sufficient statistics: what LPLR improves on, at T^(3/4) in the
worst case.

Every user sends phi phi' and y phi, each with noise for half of epsilon; see `lplr.baselines` for
scales and intervals.
Source: the local version of Shariff and Sheffet (2018), as Section 2.2 of the LPLR paper describes
it, in its Algorithm 1.
Neighbours: replace the user's (x, a, y).  Model: local, delta = 0.  epsilon = inf is elimination
with least squares.
Records outside the unit ball or [-1, 1] are clipped before anything else.
Cost: per round O(epochs K d^2).
"""

import math
from typing import NamedTuple

import numpy as np

from companion._jit import jit
from companion.checks import need_int
from companion.core import Policy
from companion.lplr.elimination import eliminate, pick
from companion.lplr.params import MAX_USERS
from companion.lplr.policy import MAX_NUMBERS, epochs
from companion.lplr.sufficient_statistics import (
    SSP,
    Model,
    ssp_clear,
    ssp_fit,
    ssp_guarantee,
    ssp_interval,
    ssp_model,
    ssp_params,
    ssp_send,
)
from companion.mechanisms import clip_to_ball


class Params(NamedTuple):
    d: int  # dimension of a context
    T: int  # horizon
    K: int  # number of arms
    n0: int  # epoch tau = 1, 2, ... has 2^tau n0 rounds
    oracle: SSP


class State(NamedTuple):
    t: int  # rounds played
    epoch: int  # epochs finished
    begin: int  # round at which the current epoch began
    models: Model  # one per epoch
    x: np.ndarray  # (d,) clipped context
    alive: np.ndarray  # (K,) scratch: which arms of the round stay
    bounds: np.ndarray  # (2, K) scratch: estimates, half-widths


def init(p):
    """State before the first round."""
    alive, bounds = np.zeros(p.K, dtype=np.int64), np.zeros((2, p.K))
    return State(0, 0, 0, ssp_model(p.d, epochs(p.T, p.n0)), np.zeros(p.d), alive, bounds)


@jit
def model_of(m, i):
    """Model number i of several, sharing their memory."""
    return Model(m.V_inv[i], m.theta[i], m.radius[i], m.mat[i], m.vec[i], m.work[i])


@jit
def select(p, s, X, rng):
    """A uniformly random arm of X (K, d) among those that no finished epoch eliminates."""
    alive, f, width, left = s.alive, s.bounds[0], s.bounds[1], p.K
    for k in range(p.K):
        alive[k] = 1
    for epoch in range(s.epoch):
        for k in range(p.K):
            if alive[k] == 1:
                clip_to_ball(X[k], 0.0, s.x)
                f[k], width[k] = ssp_interval(p.oracle, model_of(s.models, epoch), s.x)
        left -= eliminate(f, width, alive)
    return pick(alive, left, rng)


@jit
def update(p, s, arm, x, r, rng):
    """The user's message; the model is fitted when the epoch of 2^tau n0 rounds ends."""
    length = p.n0 * 2 ** (s.epoch + 1)
    user = s.t - s.begin
    model = model_of(s.models, s.epoch)
    y, _ = clip_to_ball(x, r, s.x)
    over = user == length - 1
    if s.begin + length < p.T:
        if user == 0:
            ssp_clear(model)
        ssp_send(p.oracle, model, s.x, y, rng)
        if over:
            ssp_fit(p.oracle, model, length)
    epoch, begin = (s.epoch + 1, s.t + 1) if over else (s.epoch, s.begin)
    return State(s.t + 1, epoch, begin, s.models, s.x, s.alive, s.bounds)


@jit
def play(p, s, X, R, rng, arms):
    """Play n rounds: contexts X (n, K, d), rewards R (n, K); reads only R[t, arms[t]]."""
    for t in range(X.shape[0]):
        arms[t] = select(p, s, X[t], rng)
        s = update(p, s, arms[t], X[t, arms[t]], R[t, arms[t]], rng)
    return s


def suffstats(d, T, K, epsilon=1.0, *, n0=64, z=None) -> Policy:
    """Elimination with perturbed sufficient statistics for T rounds with K arms each; epsilon = inf
    is least squares without privacy.

    d >= 1; T >= 4d; K >= 1; epsilon in (0, inf], pure local privacy; n0 >= d; z >= 0 standard
    deviations in the half-widths (None: 3, without privacy 4).  Raises ValueError on anything else.
    """
    d = need_int("d", d, 1)
    T, K, n0 = need_int("T", T, 4 * d, MAX_USERS), need_int("K", K, 1), need_int("n0", n0, d)
    q = ssp_params(d, epsilon, z)
    size = epochs(T, n0) * (5 * d * d + 2 * d + 1) + 3 * K
    if size > MAX_NUMBERS:
        raise ValueError(f"T, d and K need {size} numbers of memory, more than {MAX_NUMBERS}")
    name = "SSP" if math.isfinite(q.vector_scale) and q.vector_scale > 0 else "Least squares"
    return Policy(name, Params(d, T, K, n0, q), init, play, ssp_guarantee(q), select, update)


def example():
    """A small instance for the common tests."""
    return suffstats(3, 400, 4, 1.0, n0=8)
