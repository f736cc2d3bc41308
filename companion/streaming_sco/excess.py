"""Optimisers x repetitions -> Risk: every method reads the same records, so differences are paired.

The seeds are those of `simulate`: child 0 of a repetition draws the records, a method's child is
named by a digest of the method's name.
"""

import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from companion._types import Array, ArrayLike, Ints, SeedSequence
from companion.checks import need_int
from companion.core import need_records
from companion.simulate import need_grid, need_seeds, over, stream

if TYPE_CHECKING:
    from companion.core import Optimiser
    from companion.streaming_sco.environments import Functional, Regression
    from companion.streaming_sco.learner import State


class Risk(NamedTuple):
    """What `excess_risk` returns; axes: repetition, method (in the order given), place on grid."""

    names: tuple
    records: np.ndarray  # (n_grid,) increasing numbers of records; the last one is n
    excess: np.ndarray  # (n_reps, n_methods, n_grid) excess risk of what is public then
    guarantees: tuple
    seconds: np.ndarray  # (n_reps, n_methods) CPU time inside `init` and `run`

    @property
    def final(self) -> Array:
        """Excess risk after the last record, (n_reps, n_methods)."""
        return self.excess[:, :, -1]

    def of(self, name: str) -> Array:
        """Excess risk of one method, (n_reps, n_grid)."""
        return self.excess[:, self.names.index(name)]


def excess_risk(
    world: "Functional | Regression",
    optimisers: "Sequence[Optimiser]",
    n: int,
    seeds: Sequence[SeedSequence],
    executor: Any = None,
    *,
    grid: ArrayLike | None = None,
) -> Risk:
    """Run every optimiser on n records of the world, once per seed.

    world: object with `records(n, rng) -> X (n, d), Y (n,)` and `excess(theta (m, d)) -> (m,)`;
    optimisers: `Optimiser` values with distinct names; seeds and executor as in `simulate`; grid:
    increasing numbers of records at which the risk is kept (default: n alone, which is all that a
    batch method can give).  Raises ValueError on anything else.
    """
    optimisers, n = tuple(optimisers), need_int("n", n, 1)
    names = tuple(o.name for o in optimisers)
    if not optimisers or len(set(names)) < len(names):
        raise ValueError(f"optimisers must have distinct names, one at least; got {names}")
    grid = np.array([n]) if grid is None else need_grid(grid, n)
    batch = [o.name for o in optimisers if o.step is None]
    if batch and len(grid) > 1:
        raise ValueError(f"grid must be [n] for batch methods, here {batch}; got {grid}")
    jobs = [(world, optimisers, n, seed, grid) for seed in need_seeds(seeds)]
    runs = over(_repetition, jobs, executor)
    excess, seconds = (np.stack(parts) for parts in zip(*runs, strict=True))
    return Risk(names, grid, excess, tuple(o.guarantee for o in optimisers), seconds)


def drawn(world: Any, n: int, seed: SeedSequence) -> tuple[Array, Array]:
    """The n records (X, Y) of the repetition `seed`."""
    return world.records(n, stream(seed, "environment"))


def watch(
    optimiser: "Optimiser", X: Array, Y: Array, seed: SeedSequence, grid: Ints
) -> "Iterator[tuple[int, State, Array]]":
    """Yield (t, state, theta) after t records, for every t of the increasing grid, in one run.

    The run is that of `excess_risk` with this seed.  Arrays of `state` are overwritten afterwards.
    """
    rng, start = stream(seed, optimiser.name), 0
    state = optimiser.init(optimiser.params, rng)
    for t in grid:
        cut = slice(start, int(t))
        out = np.empty((int(t) - start, X.shape[1]))
        state = optimiser.run(optimiser.params, state, X[cut], Y[cut], rng, out)
        start = int(t)
        yield start, state, out[-1]


def _repetition(world, optimisers, n, seed, grid):
    """One repetition: (excess (n_methods, n_grid), seconds (n_methods,))."""
    X, Y = drawn(world, n, seed)
    need_records(optimisers, X, Y)
    if len(X) != n:
        raise ValueError(f"the world must give n={n} records; got {len(X)}")
    excess, seconds = np.empty((len(optimisers), len(grid))), np.empty(len(optimisers))
    for i, o in enumerate(optimisers):
        begin = time.thread_time()
        public = np.array([theta for _, _, theta in watch(o, X, Y, seed, grid)])
        seconds[i] = time.thread_time() - begin
        if not np.isfinite(public).all():
            raise ValueError(f"optimiser {o.name!r} released a parameter that is not finite")
        excess[i] = world.excess(public)
    return excess, seconds
