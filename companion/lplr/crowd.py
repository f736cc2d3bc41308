"""Users drawn at once: who falls on which point of a finite law, and the sum of their labels.

Source: the laws of the LPLR paper's examples; a multinomial is drawn point by point as binomials.
"""

from typing import NamedTuple

import numpy as np

from companion.jit import jit


class Law(NamedTuple):
    """Where users come from, as kernels see it: any number of them is drawn at once."""

    points: np.ndarray  # (K, d)
    means: np.ndarray  # (K,) of the labels
    prob: np.ndarray  # (K,) chances with sum at most 1; the rest are dummies
    owner: np.ndarray  # (K,) number of the oracle that a point is fed to; others get the dummy
    signs: bool  # labels are +1 or -1 with these means (True), or the means themselves


class Crowd(NamedTuple):
    """How many users a law has sent, point by point, and scratch for one of them."""

    seen: np.ndarray  # (K,) in the last draw
    plays: np.ndarray  # (K,) in all draws since they were set to 0
    residual: np.ndarray  # (d,) scratch: what is left of a vector


def law(design, signs=True) -> Law:
    """The law of one `Design`, all of whose points go to oracle 0."""
    owner = np.zeros(len(design.points), dtype=np.int64)
    return Law(design.points, design.means, design.prob, owner, bool(signs))


def crowd(K: int, d: int) -> Crowd:
    """Nobody yet, on K points in R^d."""
    return Crowd(np.zeros(K, dtype=np.int64), np.zeros(K, dtype=np.int64), np.zeros(d))


@jit
def draw(law, n, rng, crowd):
    """n users from a law -> crowd.seen, and added to crowd.plays."""
    multinomial(rng, n, law.prob, crowd.seen)
    for j in range(crowd.seen.shape[0]):
        crowd.plays[j] += crowd.seen[j]


@jit
def multinomial(rng, n, prob, out):
    """out (K,) <- how many of n users fall on each of K points with chances prob; the rest of them
    fall on none.

    The chance of none, 1 - sum(prob), is taken for 0 where it can be rounding.
    """
    total, tail = 0.0, np.empty(prob.shape[0])  # tail: chance of a point or a later one, or of none
    for j in range(prob.shape[0]):
        total += prob[j]
    rest = 1.0 - total if 1.0 - total >= 1e-12 else 0.0
    for j in range(prob.shape[0] - 1, -1, -1):
        rest += prob[j]
        tail[j] = rest
    left = n
    for j in range(prob.shape[0]):
        out[j] = 0
        if left > 0 and prob[j] > 0.0:
            share = prob[j] / tail[j]
            out[j] = left if share >= 1.0 else rng.binomial(left, share)
            left -= out[j]


@jit
def sign_sum(rng, n, mean):
    """Sum of n labels that are +1 or -1 with this mean."""
    if n <= 0:
        return 0.0
    chance = min(max(0.5 + 0.5 * mean, 0.0), 1.0)
    return 2.0 * float(rng.binomial(n, chance)) - float(n)
