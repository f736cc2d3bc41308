"""Many lives of one policy in one call: the loop of every room's `play_many`."""

from typing import NamedTuple

import numpy as np

from companion.jit import inlined
from companion.kernels.linalg import copy


class Lives(NamedTuple):
    """The rounds of n lives, and what they show after m of them."""

    memory: np.ndarray  # (2, words): the state's arrays now, and as they are when a life begins
    X: np.ndarray  # contexts (T, K, d)
    R: np.ndarray  # rewards (T, K)
    arms: np.ndarray  # (n, T) <- what was played
    ends: np.ndarray  # (m,), rising: the rounds after which a life shows something
    out: np.ndarray  # (n, m, size) <- what it shows


@inlined
def live(play, show, p, s, rng, w):
    """Begin and `play` one life after the other from the state s, whose arrays stand in the memory
    of w; `show(state, out)` writes what a life shows.
    """
    for i in range(w.arms.shape[0]):
        copy(w.memory[1], w.memory[0])
        now, begin = s, 0
        for j in range(w.ends.shape[0]):
            end = w.ends[j]
            now = play(p, now, w.X[begin:end], w.R[begin:end], rng, w.arms[i, begin:end])
            begin = end
            show(now, w.out[i, j])
