"""Optimisers x repetitions -> Risk: every method reads the same records, so differences are paired.

The seeds are those of `simulate`: child 0 of a repetition draws the records, a method's child is
named by a digest of the method's name.
"""

import time
from typing import NamedTuple

import numpy as np

from companion.core import need_records
from companion.environments import block_lengths
from companion.simulate import need_grid, need_seeds, over, stream
from companion.validate import need_int


class Risk(NamedTuple):
    """What `excess_risk` returns; axes: repetition, method (in the order given), place on grid."""

    names: tuple
    records: np.ndarray  # (n_grid,) increasing numbers of records; the last one is n
    excess: np.ndarray  # (n_reps, n_methods, n_grid) excess risk of what is public then
    guarantees: tuple
    seconds: np.ndarray  # (n_reps, n_methods) CPU time inside `init` and `run`

    @property
    def final(self) -> np.ndarray:
        """Excess risk after the last record, (n_reps, n_methods)."""
        return self.excess[:, :, -1]

    def of(self, name: str) -> np.ndarray:
        """Excess risk of one method, (n_reps, n_grid)."""
        return self.excess[:, self.names.index(name)]


def excess_risk(
    world,
    optimisers,
    n: int,
    seeds,
    executor=None,
    *,
    grid=None,
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


def drawn(world, n: int, seed) -> tuple[np.ndarray, np.ndarray]:
    """The n records (X, Y) of the repetition `seed`."""
    return world.records(n, stream(seed, "environment"))


def blocks(world, n: int, seed):
    """The same records in blocks, which take less memory; in one if the world has no `blocks`."""
    rng = stream(seed, "environment")
    yield from world.blocks(n, rng) if hasattr(world, "blocks") else [world.records(n, rng)]


class Run:
    """A run of an optimiser, that of `excess_risk` with this seed, which is given its records in
    blocks and stops at every t of the increasing grid.
    """

    def __init__(self, optimiser, seed, grid):
        self.optimiser, self.rng = optimiser, stream(seed, optimiser.name)
        self.state = optimiser.init(optimiser.params, self.rng)
        self.t, self.left = 0, [int(t) for t in np.asarray(grid)[::-1]]

    def read(self, X: np.ndarray, Y: np.ndarray):
        """Yield (t, state, theta) at every place of the grid within these records (n, d), (n,).

        Arrays of `state` are overwritten afterwards.
        """
        o, start = self.optimiser, 0
        rows = len(X) if o.step is None else block_lengths(len(X), 1, X.shape[1])[0]
        out = np.empty((rows, X.shape[1]))  # a small one is faster than one row for each record
        while self.left and start < len(X):
            k = min(rows, self.left[-1] - self.t, len(X) - start)
            cut = slice(start, start + k)
            self.state = o.run(o.params, self.state, X[cut], Y[cut], self.rng, out[:k])
            self.t, start = self.t + k, start + k
            if self.t == self.left[-1]:
                self.left.pop()
                yield self.t, self.state, out[k - 1].copy()


def watch(optimiser, world, n: int, seed, grid):
    """Yield (t, state, theta) at every t of the increasing grid, in one run on n records.

    The run is that of `excess_risk` with this seed.  Arrays of `state` are overwritten afterwards.
    """
    run = Run(optimiser, seed, grid)
    for X, Y in blocks(world, n, seed):
        yield from run.read(X, Y)


def _repetition(world, optimisers, n, seed, grid):
    """One repetition: (excess (n_methods, n_grid), seconds (n_methods,))."""
    public, seconds, seen = [[] for _ in optimisers], np.zeros(len(optimisers)), 0
    whole = any(o.step is None for o in optimisers)
    runs = []
    for X, Y in [drawn(world, n, seed)] if whole else blocks(world, n, seed):
        need_records(optimisers, X, Y, seen)
        seen += len(X)
        for i, o in enumerate(optimisers):
            begin = time.thread_time()
            if seen == len(X):
                runs.append(Run(o, seed, grid))
            public[i] += [theta for _, _, theta in runs[i].read(X, Y)]
            seconds[i] += time.thread_time() - begin
    if seen != n:
        raise ValueError(f"the world must give n={n} records; got {seen}")
    for o, shown in zip(optimisers, public, strict=True):
        if not np.isfinite(shown).all():
            raise ValueError(f"optimiser {o.name!r} released a parameter that is not finite")
    return np.array([world.excess(np.array(shown)) for shown in public]), seconds
