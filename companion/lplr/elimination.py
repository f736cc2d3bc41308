"""What policies and experiments share of Algorithm 1: which arms stay, which is played, and epochs.

Source: the LPLR paper, Algorithm 1 (RegCB.Elimination, simplified).  Epoch tau = 1, 2, ... has
2^tau n0 rounds.
"""

import math
from typing import NamedTuple

import numpy as np

from companion._jit import jit


class Clock(NamedTuple):
    """Where play stands."""

    t: int  # rounds played
    epoch: int  # epochs finished
    begin: int  # round at which the current epoch began


class Arms(NamedTuple):
    """Scratch of one round, arm by arm."""

    alive: np.ndarray  # (K,) 1 if the arm stays
    f: np.ndarray  # (K,) estimates
    width: np.ndarray  # (K,) half-widths


@jit
def rounds_of(n0, epoch):
    """Rounds of an epoch, counted from 0."""
    return n0 * 2 ** (epoch + 1)


@jit
def tick(clock, n0):
    """The clock one round later."""
    t = clock.t + 1
    if t == clock.begin + rounds_of(n0, clock.epoch):
        return Clock(t, clock.epoch + 1, t)
    return Clock(t, clock.epoch, clock.begin)


def epochs(T, n0):
    """Number of epochs that T rounds begin."""
    count, left = 0, T
    while left > 0:
        count += 1
        left -= 2**count * n0
    return count


def arms(K):
    """Fresh scratch for K arms."""
    return Arms(np.zeros(K, dtype=np.int64), np.zeros(K), np.zeros(K))


@jit
def revive(alive):
    """Line 6: every arm of alive (K,) is in play again."""
    for k in range(alive.shape[0]):
        alive[k] = 1


@jit
def eliminate(f, width, alive):
    """Line 8: arms whose upper end f + width is below the largest lower end leave alive (K,)."""
    best = -math.inf
    for k in range(alive.shape[0]):
        if alive[k] == 1:
            best = max(best, f[k] - width[k])
    for k in range(alive.shape[0]):
        if alive[k] == 1 and f[k] + width[k] < best:
            alive[k] = 0


@jit
def pick(alive, rng):
    """Line 10: one of the arms in alive (K,), all with the same chance."""
    left = 0
    for k in range(alive.shape[0]):
        left += alive[k]
    choice = rng.integers(0, left)
    for k in range(alive.shape[0]):
        if alive[k] == 1:
            if choice == 0:
                return k
            choice -= 1
    return 0
