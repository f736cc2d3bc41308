"""Epsilon-greedy: the arm of the best mean, and now and then any arm.

Source: Sutton and Barto (2018), Section 2.4.
Cost: O(K) time per round, O(K) memory.
"""

from typing import NamedTuple

import numpy as np

from companion.accounting.privacy import NO_PRIVACY
from companion.core import Policy
from companion.jit import jit
from companion.validate import need_float, need_int


class Params(NamedTuple):
    K: int  # arms
    explore: float  # share of rounds in which any arm is played


class State(NamedTuple):
    plays: np.ndarray  # (K,)
    total: np.ndarray  # (K,) sum of rewards


def init(p):
    """State before the first round."""
    return State(np.zeros(p.K), np.zeros(p.K))


@jit
def select(p, s, X, rng):
    """A row of X (K, d)."""
    if rng.random() < p.explore:
        return rng.integers(0, X.shape[0])
    best, arm = -np.inf, 0
    for k in range(p.K):
        mean = s.total[k] / max(s.plays[k], 1.0)
        if mean > best:
            best, arm = mean, k
    return arm


@jit
def update(p, s, arm, x, r, rng):
    """State after reward r of an arm; the arrays of s are overwritten."""
    s.plays[arm] += 1.0
    s.total[arm] += r
    return s


@jit
def play(p, s, X, R, rng, arms):
    """Play n rounds: contexts X (n, K, d), rewards R (n, K); reads only R[t, arms[t]]."""
    for t in range(X.shape[0]):
        arms[t] = select(p, s, X[t], rng)
        s = update(p, s, arms[t], X[t, arms[t]], R[t, arms[t]], rng)
    return s


def epsilon_greedy(K, *, explore=0.1) -> Policy:
    """Epsilon-greedy for K >= 1 arms; explore in [0, 1] is the share of rounds that try any arm.

    Raises ValueError on anything else.
    """
    p = Params(need_int("K", K, 1), need_float("explore", explore, 0.0, 1.0))
    return Policy("Epsilon-greedy", p, init, select, update, play, NO_PRIVACY)


def example(K=4):
    """A small instance for the common tests."""
    return epsilon_greedy(K)
