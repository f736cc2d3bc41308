"""Algorithm 1, lines 8 and 10: which arms stay, and which of them is played.

Source: the LPLR paper, Algorithm 1 (RegCB.Elimination, simplified).
"""

import math

from companion._jit import jit


@jit
def eliminate(f, width, alive):
    """Line 8 in one context: arms whose upper end f + width is below the largest lower end leave
    alive (A,); returns how many left.
    """
    best, gone = -math.inf, 0
    for a in range(alive.shape[0]):
        if alive[a] == 1:
            best = max(best, f[a] - width[a])
    for a in range(alive.shape[0]):
        if alive[a] == 1 and f[a] + width[a] < best:
            alive[a] = 0
            gone += 1
    return gone


@jit
def pick(alive, left, rng):
    """Line 10: one of the `left` arms in alive (A,), all with the same chance."""
    choice = rng.integers(0, left)
    for a in range(alive.shape[0]):
        if alive[a] == 1:
            if choice == 0:
                return a
            choice -= 1
    return 0
