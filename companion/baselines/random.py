"""Uniformly random play: the worst that a figure should show.

Source: none; every regret is a share of its own.
Cost: O(1) time per round.
"""

from typing import Any, NamedTuple

from companion._jit import jit
from companion._types import Array, Ints, Rng
from companion.accounting.privacy import NO_PRIVACY
from companion.core import Policy


class Params(NamedTuple):
    pass


class State(NamedTuple):
    t: int  # rounds played


def init(p: Params) -> State:
    """State before the first round."""
    return State(0)


@jit
def select(p: Params, s: State, X: Array, rng: Rng) -> Any:
    """A uniformly random row of X (K, d)."""
    return rng.integers(0, X.shape[0])


@jit
def update(p: Params, s: State, arm: int, x: Array, r: float, rng: Rng) -> State:
    """Nothing is learned."""
    return State(s.t + 1)


@jit
def play(p: Params, s: State, X: Array, R: Array, rng: Rng, arms: Ints) -> State:
    """Play n rounds; no reward is read."""
    for t in range(X.shape[0]):
        arms[t] = select(p, s, X[t], rng)
        s = update(p, s, arms[t], X[t, arms[t]], R[t, arms[t]], rng)
    return s


def random() -> Policy:
    """Every arm with the same chance, whatever the rewards."""
    return Policy("Random", Params(), init, play, NO_PRIVACY, select, update)


def example() -> Policy:
    """A small instance for the common tests."""
    return random()
