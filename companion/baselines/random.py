"""Uniformly random play: the worst that a figure should show."""

from typing import NamedTuple

import numpy as np

from companion.accounting.privacy import NO_PRIVACY
from companion.core import Policy
from companion.jit import jit


class Params(NamedTuple):
    pass


class State(NamedTuple):
    t: np.ndarray  # (1,) rounds played


def init(p):
    """State before the first round."""
    return State(np.zeros(1, np.int64))


@jit
def select(p, s, X, rng):
    """A uniformly random row of X (K, d)."""
    return rng.integers(0, X.shape[0])


@jit
def update(p, s, arm, x, r, rng):
    """Nothing is learned."""
    s.t[0] += 1


@jit
def play(p, s, X, R, rng, arms):
    """Play n rounds; no reward is read."""
    for t in range(X.shape[0]):
        arms[t] = select(p, s, X[t], rng)
        update(p, s, arms[t], X[t, arms[t]], R[t, arms[t]], rng)


def random() -> Policy:
    """Every arm with the same chance, whatever the rewards."""
    return Policy("Random", Params(), init, select, update, play, NO_PRIVACY, delayed_feedback=True)
