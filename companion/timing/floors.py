"""Algorithms over their floor, paired and alternating in one process.

The floor of a policy is a pass over the contexts with one product per arm, and the normals that it
draws in a round.  That of an optimiser is one product per record that is read, and the numbers that
are drawn.  Nothing that looks at its data once and draws its noise can be faster.
"""

import functools
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from companion._jit import jit
from companion._types import Array, Ints, Rng
from companion.core import Optimiser, one_context
from companion.kernels.linalg import dot
from companion.kernels.whole import below
from companion.timing import cost_line
from companion.timing.roster import Entry

SHORT = 0.002  # CPU seconds that a turn takes at least
FEWEST = 3  # turns of an algorithm and its floor


class Measured(NamedTuple):
    """An algorithm beside its floor."""

    name: str
    rounds: int  # of a run; of an optimiser its records
    K: int  # arms; 1 for an optimiser
    d: int  # dimension
    ns: float  # median CPU time of a round
    multiple: tuple[float, float, float]  # of its floor: quartile, median, quartile
    least: float  # the least time over the floor's least: what else runs only adds
    said: float | None  # the multiple that the Cost line names
    state: int  # bytes of what it remembers before the first round


@jit
def floor(X: Array, theta: Array, normals: int, rng: Rng) -> float:
    """The largest product of a context with theta in every round, added up, and the normals."""
    total = 0.0
    for t in range(X.shape[0]):
        best = -np.inf
        for k in range(X.shape[1]):
            best = max(best, dot(X[t, k], theta))
        total += best
        for _ in range(normals):
            total += rng.standard_normal()
    return total


@jit
def least(A: Array, theta: Array, reads: int, normals: int, integers: int, rng: Rng) -> float:
    """Products of so many rows of A (n, d), in turn, and so many normals and integers drawn."""
    total, n = 0.0, A.shape[0]
    for i in range(reads):
        total += dot(A[i % n], theta)
    for _ in range(normals):
        total += rng.standard_normal()
    for _ in range(integers):
        total += below(rng, n)
    return total


@functools.lru_cache(maxsize=1)  # it takes longer to draw than to play
def stream(T: int, K: int, d: int, one: bool = False, seed: int = 1) -> tuple[Array, Array]:
    """X (T, K, d) in the unit ball, if `one` equal for all arms, and Bernoulli rewards (T, K)."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((T, K, d))
    X *= rng.random((T, K, 1)) / np.linalg.norm(X, axis=2, keepdims=True)
    if one:
        X = np.ascontiguousarray(np.repeat(X[:, :1], K, axis=1))
    return X, (rng.random((T, K)) < 0.5 + 0.4 * X[:, :, 0]).astype(float)


def spent(work: Callable[[], object]) -> float:
    """CPU seconds of one call, of this thread alone."""
    begin = time.thread_time()
    work()
    return time.thread_time() - begin


def held(state: Any) -> int:
    """Bytes of a state."""
    return sum(map(held, state)) if isinstance(state, tuple) else np.asarray(state).nbytes


def run_of(algorithm: Any, X: Array, R: Array, arms: Ints | None = None) -> Callable[[], object]:
    """What plays a policy on contexts X (T, K, d), or runs an optimiser on records X (n, 1, d), and
    returns the last state; arms (T,) <- what the policy plays."""
    p, rng = algorithm.params, np.random.default_rng
    if isinstance(algorithm, Optimiser):
        A, y, out = np.ascontiguousarray(X[:, 0]), R[:, 0].copy(), np.empty((len(X), X.shape[2]))
        return lambda: algorithm.run(p, algorithm.init(p, rng(2)), A, y, rng(2), out)
    played = np.empty(len(X), np.int64) if arms is None else arms
    return lambda: algorithm.play(p, algorithm.init(p), X, R, rng(2), played)


def floor_of(entry: Entry, algorithm: Any, X: Array) -> Callable[[], object]:
    """What the same run takes at least."""
    draws, theta, rng = entry.draws(algorithm), np.full(X.shape[2], 0.3), np.random.default_rng(2)
    if isinstance(algorithm, Optimiser):
        A = np.ascontiguousarray(X[:, 0])
        return lambda: least(A, theta, *draws, rng)  # type: ignore[call-arg, arg-type]
    return lambda: floor(X, theta, draws[0], rng)


def alternated(
    first: Callable[[], object], second: Callable[[], object], times: int, side: float = np.inf
) -> Array:
    """CPU seconds (n, 2) of two pieces of work in turn, after one run of each.

    There are `times` turns, or fewer, but not below FEWEST, if either takes `side` seconds in all.
    What takes less than SHORT seconds runs several times in a turn, of which the mean counts.
    """
    first(), second()  # compiled now
    once = [spent(first), spent(second)]
    often = [max(1, round(SHORT / max(took, 1e-6))) for took in once]
    both = [once] if often == [1, 1] else []
    work = [functools.partial(repeat, w, n) for w, n in zip((first, second), often, strict=True)]
    while len(both) < min(times, FEWEST) or (
        len(both) < times and (np.sum(both, axis=0) * often).max() < side
    ):
        both.append([spent(w) / n for w, n in zip(work, often, strict=True)])
    return np.array(both)


def repeat(work: Callable[[], object], n: int) -> None:
    """The work, n times."""
    for _ in range(n):
        work()


def measured(
    name: str,
    entry: Entry,
    T: int | None = None,
    times: int = 7,
    seed: int = 1,
    side: float = np.inf,
) -> Measured:
    """What an `Entry` of the roster takes, in so many alternations with its floor.

    T: rounds, at most those of the entry (None: these); seed: of the stream; side: seconds after
    which there are no more alternations (`alternated`).
    """
    T = max(min(T or entry.T, entry.T), entry.fewest)
    algorithm = entry.make(entry.d, entry.K, T)
    X, R = stream(T, entry.K, entry.d, one_context(algorithm), seed)
    both = alternated(run_of(algorithm, X, R), floor_of(entry, algorithm, X), times, side)
    low, middle, high = map(float, np.quantile(both[:, 0] / both[:, 1], (0.25, 0.5, 0.75)))
    rng = np.random.default_rng(2)
    given = (algorithm.params, rng) if isinstance(algorithm, Optimiser) else (algorithm.params,)
    ns, state = 1e9 * float(np.median(both[:, 0])) / T, held(algorithm.init(*given))
    line = cost_line.of(name).floors
    least = float(np.divide(*both.min(axis=0)))
    return Measured(name, T, entry.K, entry.d, ns, (low, middle, high), least, line, state)
