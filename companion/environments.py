"""Worlds to play in: objects with `blocks(T, rng)` that yields (X, R, mu).

X (n, K, d): contexts; R (n, K): the reward of every arm; mu (n, K): their means, used
only to measure regret.  A reader can write one in plain Python.  The blocks of one
environment are cut by their size in memory, never by the random stream: the same rng
gives the same rounds.  Draws are made round by round, contexts first, then rewards.
"""

from typing import NamedTuple

import numpy as np

from companion.jit import jit
from companion.kernels.linalg import dot
from companion.validate import need_array, need_choice, need_float, need_int

BLOCK = 1 << 16  # numbers per block of contexts: another number, other draws


def block_lengths(T: int, K: int, d: int) -> list[int]:
    """Lengths of the blocks that T rounds of K arms in R^d are cut into."""
    n = max(1, min(T, BLOCK // (K * d)))
    return [n] * (T // n) + ([T % n] if T % n else [])


def recorded_rows(T: int, X: np.ndarray):
    """Yield slices of the first T rounds of contexts X (n, K, d), block by block;
    ValueError if there are fewer."""
    T = need_int("T", T, 1, len(X))
    start = 0
    for n in block_lengths(T, *X.shape[1:]):
        yield slice(start, start + n)
        start += n


@jit
def sphere_point(rng, radius, out):
    """out <- uniform on the sphere of the given radius."""
    s = 0.0
    while s == 0.0:
        for i in range(out.shape[0]):
            out[i] = rng.standard_normal()
        s = dot(out, out)
    for i in range(out.shape[0]):
        out[i] *= radius / np.sqrt(s)


@jit
def draw_arm(rng, offset, shrink, out):
    """out <- one arm: uniform on the unit sphere, or (u, 1/sqrt2) with u uniform of norm
    1/sqrt2.

    Its first entry is multiplied by shrink.
    """
    d = out.shape[0]
    if offset:
        sphere_point(rng, np.sqrt(0.5), out[: d - 1])
        out[d - 1] = np.sqrt(0.5)
    else:
        sphere_point(rng, 1.0, out)
    out[0] *= shrink


@jit
def fill(rng, theta, offset, shrink, fresh, kind, noise, X, R, mu):
    """One block: X (if fresh), mu = X theta, and R around it; kind as in `KINDS`."""
    for t in range(R.shape[0]):
        for k in range(R.shape[1]):
            if fresh:
                draw_arm(rng, offset, shrink, X[t, k])
            mu[t, k] = dot(X[t, k], theta)
        for k in range(R.shape[1]):
            m = mu[t, k]
            if kind == 0:
                R[t, k] = m + noise * rng.standard_normal()
            elif kind == 1:
                R[t, k] = 1.0 if rng.random() < m else 0.0
            else:
                R[t, k] = 1.0 if rng.random() < 0.5 + 0.5 * m else -1.0


KINDS = {"gaussian": 0, "bernoulli": 1, "signs": 2}


def filled_blocks(
    kernel,
    law,
    K: int,
    d: int,
    T: int,
    rng: np.random.Generator,
    arms=None,
):
    """Yield (X (n, K, d), R (n, K), mu (n, K)) for T rounds, filled by kernel(rng, *law,
    X, R, mu).

    arms (K, d): what X holds in every round, one array for all blocks; None: new ones in
    each.
    """
    lengths = block_lengths(T, K, d)
    fixed = None if arms is None else np.repeat(arms[None], lengths[0], axis=0)
    for n in lengths:
        X = np.empty((n, K, d)) if fixed is None else fixed[:n]
        R = np.empty((n, K))
        mu = np.empty((n, K))
        kernel(rng, *law, X, R, mu)
        yield X, R, mu


class Sphere(NamedTuple):
    """K arms on the sphere of R^d with linear mean rewards; theta is new in every
    repetition.

    Make one with `sphere`, which checks the arguments.
    """

    K: int
    d: int
    fresh: bool = True
    offset: bool = True
    rewards: str = "bernoulli"
    noise: float = 0.5
    shrink: float = 1.0

    def blocks(self, T: int, rng: np.random.Generator):
        """Yield (X, R, mu) for T rounds; a fixed action set is the same array in every
        block."""
        theta = np.empty(self.d)
        arms = np.empty((self.K, self.d))
        draw_arm(rng, self.offset, 1.0, theta)
        for k in range(self.K):
            draw_arm(rng, self.offset, self.shrink, arms[k])
        law = theta, self.offset, self.shrink, self.fresh, KINDS[self.rewards], self.noise
        yield from filled_blocks(
            fill,
            law,
            self.K,
            self.d,
            T,
            rng,
            None if self.fresh else arms,
        )


def sphere(
    K: int,
    d: int,
    *,
    fresh: bool = True,
    offset: bool = True,
    rewards: str = "bernoulli",
    noise: float = 0.5,
    shrink: float = 1.0,
) -> Sphere:
    """Arms on the unit sphere, mean reward <x, theta> with theta drawn like an arm.

    K >= 2 arms; d >= 2.

    fresh: new arms every round (else one fixed set per repetition).
    offset: arms are (u, 1/sqrt2) with u uniform of norm 1/sqrt2, so that means lie in
        [0, 1]; else uniform on the sphere.
    rewards: "bernoulli" (needs offset), "signs" (+1 or -1) or "gaussian" with standard
        deviation `noise` >= 0.
    shrink: in (0, 1], multiplies the first coordinate of every arm: smaller is worse
        conditioned.

    Raises ValueError on anything else.
    Source: Figure 1 of the online-LinUCB paper (fresh=False, offset=True,
    rewards="bernoulli").
    """
    K = need_int("K", K, 2)
    d = need_int("d", d, 2)
    need_choice("rewards", rewards, tuple(KINDS))
    need_choice("fresh", fresh, (True, False))
    need_choice("offset", offset, (True, False))
    if rewards == "bernoulli" and not offset:
        raise ValueError(f'offset must be True for rewards="bernoulli"; got {offset=}')
    noise = need_float("noise", noise, 0.0)
    shrink = need_float("shrink", shrink, 0.0, 1.0, open_low=True)
    return Sphere(
        K=K,
        d=d,
        fresh=fresh,
        offset=offset,
        rewards=rewards,
        noise=noise,
        shrink=shrink,
    )


class Replay(NamedTuple):
    """Recorded arrays, played again from the start in every repetition; make one with
    `replay`."""

    X: np.ndarray
    R: np.ndarray
    mu: np.ndarray

    def blocks(self, T: int, rng: np.random.Generator):
        """Yield the first T rounds; ValueError if fewer were recorded."""
        for rows in recorded_rows(T, self.X):
            yield self.X[rows], self.R[rows], self.mu[rows]


def replay(X: np.ndarray, R: np.ndarray, mu: np.ndarray | None = None) -> Replay:
    """Recorded contexts X (n, K, d), rewards of all arms R (n, K), means mu (n, K) (None:
    R).

    >>> recorded = replay(np.ones((5, 2, 1)), np.zeros((5, 2)))
    >>> [X.shape for X, R, mu in recorded.blocks(5, np.random.default_rng(1))]
    [(5, 2, 1)]
    """
    X = need_array("X", X, ("n", "K", "d"))
    R = need_array("R", R, X.shape[:2])
    return Replay(X, R, R if mu is None else need_array("mu", mu, X.shape[:2]))
