"""RegCB.Elimination with LPLR oracles: sqrt(T) regret under pure local privacy, message by message.

Source: Algorithms 1 to 6 of "On the optimal regret of locally private linear contextual bandit"
(Li, Simchi-Levi and Wang, 2024).
Neighbours: replace the user's (x, a, y).  Model: local, delta = 0.
Calibration: "corrected" (private; `lplr.params`) or "paper" (the printed noises, which are not
private for any epsilon).
Differs: the default is one pooled oracle on phi(x, a) (all actions share theta); per_action gives
one oracle per action as printed, where every oracle but that of the arm played gets the dummy.
Epochs have 2^tau n0 rounds; users left over by the 2d stages, and those of the last epoch, whose
oracle would never be used, are not asked.
Records outside the unit ball or [-1, 1] are clipped before anything else.
Cost: per round O(epochs K d^2) to select and O(bins d^2) to send a message.
"""

from typing import NamedTuple

import numpy as np

from companion._jit import jit
from companion.checks import need_choice, need_int
from companion.core import Policy
from companion.lplr.bins import Tree, interval, plant, room, tree_of
from companion.lplr.elimination import eliminate, pick
from companion.lplr.fit import observe
from companion.lplr.params import MAX_USERS, guarantee, lplr_params
from companion.lplr.params import Params as Oracle
from companion.mechanisms import clip_to_ball

MAX_NUMBERS = 5 * 10**7  # memory of all epochs' trees, in floats


class Params(NamedTuple):
    d: int  # dimension of a context
    T: int  # horizon
    K: int  # number of arms
    per_action: bool  # one oracle per arm (True) or one pooled oracle
    n0: int  # epoch tau = 1, 2, ... has 2^tau n0 rounds
    oracle: Oracle


class State(NamedTuple):
    t: int  # rounds played
    epoch: int  # epochs finished
    begin: int  # round at which the current epoch began
    forest: Tree  # one tree per epoch and oracle
    x: np.ndarray  # (d,) clipped context
    residual: np.ndarray  # (d,) scratch
    alive: np.ndarray  # (K,) scratch: which arms of the round stay
    bounds: np.ndarray  # (2, K) scratch: estimates, half-widths


def epochs(T, n0):
    """Number of epochs of 2, 4, 8, ... times n0 rounds that T rounds begin."""
    count, left = 0, T
    while left > 0:
        count += 1
        left -= 2**count * n0
    return count


def init(p):
    """State before the first round."""
    copies = epochs(p.T, p.n0) * (p.K if p.per_action else 1)
    scratch = np.zeros(p.K, dtype=np.int64), np.zeros((2, p.K))
    return State(0, 0, 0, plant(p.oracle, copies), np.zeros(p.d), np.zeros(p.d), *scratch)


@jit
def oracle_of(p, epoch, k):
    """Number of the tree that an epoch keeps for arm k."""
    return epoch * p.K + k if p.per_action else epoch


@jit
def select(p, s, X, rng):
    """Algorithm 1, lines 6 to 10: a uniformly random arm of X (K, d) among those that no finished
    epoch eliminates.
    """
    alive, f, width, left = s.alive, s.bounds[0], s.bounds[1], p.K
    for k in range(p.K):
        alive[k] = 1
    for epoch in range(s.epoch):
        for k in range(p.K):
            if alive[k] == 1:
                clip_to_ball(X[k], 0.0, s.x)
                tree = tree_of(s.forest, oracle_of(p, epoch, k))
                f[k], width[k] = interval(p.oracle, tree, s.x, s.residual)
        left -= eliminate(f, width, alive)  # line 8
    return pick(alive, left, rng)  # line 10


@jit
def update(p, s, arm, x, r, rng):
    """Algorithm 1, line 11: the user's message; the epoch ends after 2^tau n0 rounds."""
    length = p.n0 * 2 ** (s.epoch + 1)
    user, n = s.t - s.begin, length // (2 * p.d)
    y, _ = clip_to_ball(x, r, s.x)
    if n > 0 and s.begin + length < p.T:
        for k in range(p.K if p.per_action else 1):
            tree = tree_of(s.forest, oracle_of(p, s.epoch, k))
            dummy = p.per_action and k != arm
            observe(p.oracle, tree, user, n, s.x, y, dummy, rng, s.residual)
    over = user == length - 1
    epoch, begin = (s.epoch + 1, s.t + 1) if over else (s.epoch, s.begin)
    return State(s.t + 1, epoch, begin, s.forest, s.x, s.residual, s.alive, s.bounds)


@jit
def play(p, s, X, R, rng, arms):
    """Play n rounds: contexts X (n, K, d), rewards R (n, K); reads only R[t, arms[t]]."""
    for t in range(X.shape[0]):
        arms[t] = select(p, s, X[t], rng)
        s = update(p, s, arms[t], X[t, arms[t]], R[t, arms[t]], rng)
    return s


def lplr(d, T, K, epsilon=1.0, *, per_action=False, n0=64, **oracle) -> Policy:
    """RegCB.Elimination with LPLR oracles for T rounds with K arms each.

    d >= 1 (practical: up to 4); T >= 4d; K >= 1; epsilon in (0, inf], pure local privacy (inf: no
    noise); per_action: one oracle per arm instead of a pooled one; n0 >= d; further options as in
    `companion.lplr.params.lplr_params` (gamma, calibration, constants, z, ...).  Raises ValueError
    on anything else.

    >>> lplr(2, 1000, 5).guarantee.epsilon
    1.0
    """
    d = need_int("d", d, 1)
    T, K, n0 = need_int("T", T, 4 * d, MAX_USERS), need_int("K", K, 1), need_int("n0", n0, d)
    per_action = need_choice("per_action", per_action, (True, False))
    q = lplr_params(d, T, epsilon, **oracle)
    size = epochs(T, n0) * (K if per_action else 1) * room(q) * (2 * d * d + d + 9) + 3 * K
    if size > MAX_NUMBERS:
        raise ValueError(f"T, d and K need {size} numbers of memory, more than {MAX_NUMBERS}")
    p = Params(d, T, K, per_action, n0, q)
    return Policy("LPLR", p, init, play, guarantee(q, float(epsilon)), select, update)


def example():
    """A small instance for the common tests."""
    return lplr(3, 400, 4, 1.0, n0=8, gamma=4.0, threshold=0.0)
