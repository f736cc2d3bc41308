"""What an episode of FLIPHAT stores and what it releases: kernels of both variants.

Episode l is rounds 2^l to 2^(l+1) - 1; the release after it is private N-IHT (`regression`) on the
rows that it stored.

Source: the FLIPHAT paper, Algorithm 2, lines 7 to 9 and 13.
Cost: a release on n rows takes 2 n d flops and one peeling per iteration; at most T d / 2 numbers
of memory.
"""

from typing import NamedTuple

import numpy as np

from companion.core import Universe
from companion.fliphat.regression import Regression, Work, clip, niht, step, work_for
from companion.jit import jit
from companion.validate import LARGEST, need_int


class Params(NamedTuple):
    d: int  # dimension of a context
    T: int  # horizon
    sparsity: int  # coordinates that an estimate keeps
    eta: float  # step size
    l1_radius: float  # C
    row_clip: float  # contexts are clipped to +- this when stored; inf: they are trusted
    gradient_clip: float  # and to +- this inside the gradient
    residual_clip: float  # bound on |y - x'theta| in the gradient
    warm: bool  # N-IHT starts from the last estimate instead of zero
    forget: bool  # a row is used in one release only
    iterations: np.ndarray  # (L,) M_l of the release after episode l, l = 0..L-1
    reward_clip: np.ndarray  # (L,) R_l
    xi_first: np.ndarray  # (L,) Laplace scale of iteration 0
    xi_rest: np.ndarray  # (L,) and of the later ones


class State(NamedTuple):
    t: int  # rounds played
    n: int  # rows stored
    clipped: int  # stored rows with a coordinate beyond the smaller of the two context bounds
    size: int  # picks in use; 0: the estimate is zero
    theta_hat: np.ndarray  # (d,) estimate, zero off picks[:size]
    picks: np.ndarray  # (sparsity,)
    X: np.ndarray  # (capacity, d) contexts of the current episode
    y: np.ndarray  # (capacity,) their rewards
    work: Work


def releases(T: int) -> int:
    """Number L of releases in T rounds: release l comes before round 2^(l+1) <= T."""
    return need_int("T", T, 1, LARGEST).bit_length() - 1


def rows_in_release(T: int, forget: bool = True) -> np.ndarray:
    """Number of rows behind each of the releases(T) estimates: 2^l, or all 2^(l+1) - 1 so far."""
    n = 2 ** np.arange(releases(T), dtype=np.int64)
    return n if forget else 2 * n - 1


def init(p: Params, rows: int | None = None) -> State:
    """State before the first round, with room for so many rows (None: those of a release)."""
    if rows is None:
        rows = int(rows_in_release(p.T, p.forget)[-1]) if p.T > 1 else 1
    X, y = np.zeros((rows, p.d)), np.zeros(rows)
    picks = np.zeros(p.sparsity, np.int64)
    return State(0, 0, 0, 0, np.zeros(p.d), picks, X, y, work_for(p.d, p.sparsity))


def universe_of(p: Params) -> Universe:
    """What is not clipped: contexts in a cube; rewards are clipped in a release, not as records."""
    return Universe(min(p.row_clip, p.gradient_clip), -np.inf, np.inf, np.inf)


@jit
def store(p, s, x, r):
    """Row s.n of the episode's data <- (clipped x, r); True if x was wider than the bounds."""
    wide, row = 0, s.X[s.n]
    bound = min(p.row_clip, p.gradient_clip)
    for j in range(p.d):
        wide += 1 if abs(x[j]) > bound else 0  # a count: the loop has no way out and no branch
        row[j] = clip(x[j], p.row_clip)
    s.y[s.n] = r
    return wide > 0


@jit
def regression(p, episode):
    """Settings of the release after this episode."""
    return Regression(
        p.sparsity,
        p.iterations[episode],
        p.eta,
        p.l1_radius,
        p.gradient_clip,
        p.reward_clip[episode],
        p.residual_clip,
        p.xi_first[episode],
        p.xi_rest[episode],
    )


@jit
def release(p, s, n, episode, rng):
    """theta_hat <- N-IHT on the n stored rows; returns its number of picks.  This is all that
    others ever see.
    """
    size = s.size
    if not p.warm:
        size = 0
        s.theta_hat[:] = 0.0
    return niht(
        regression(p, episode), s.X, s.y, n, rng, s.theta_hat, s.picks, size, s.work
    )  # line 8


@jit
def release_from_moment(p, s, n, episode, rng):
    """The same from s.work.moment, the sum over the n rows that `regression.add_moment` makes for
    the start: exact if there is at most one iteration.
    """
    size = s.size if p.warm else 0
    for j in range(0 if p.warm else p.d):
        s.theta_hat[j] = 0.0
    if p.iterations[episode] == 0:
        return size
    return step(regression(p, episode), 0, n, rng, s.theta_hat, s.picks, size, s.work)
