"""Uniformly random play: the worst that a figure should show."""

from typing import NamedTuple

import numpy as np

from companion.core import Policy
from companion.jit import jit


class Params(NamedTuple):
    pass


class State(NamedTuple):
    t: np.ndarray  # (1,) rounds played


def init(p):
    """State before the first round."""
    return State(t=np.zeros(1, np.int64))


@jit
def select(p, s, X, rng):
    """A uniformly random row of X (K, d)."""
    return rng.integers(0, X.shape[0])


@jit
def update(p, s, arm, x, r, rng):
    """Nothing is learned."""
    s.t[0] += 1


def random() -> Policy:
    """Every arm with the same chance, whatever the rewards."""
    return Policy(
        name="Random",
        params=Params(),
        init=init,
        select=select,
        update=update,
        delayed_feedback=True,
    )
