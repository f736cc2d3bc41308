"""LPLR: sums that are drawn at once against the messages that they add up."""

from concurrent.futures import Executor, Future

import numpy as np

from benchmarks.measure import beside
from companion.lplr import fit_users, lplr_params
from companion.lplr.environments import family
from companion.lplr.experiments import estimate_lplr
from companion.simulate import repetitions

N, RUNS = 100_000, 20  # users; runs by sums


class Here(Executor):
    """Runs every job at once, in this thread, whose CPU time is measured."""

    def submit(self, task, /, *args):
        """A finished future."""
        future = Future()
        future.set_result(task(*args))
        return future


def rows():
    """The same law, at one number of users."""
    world, p, rng = family("case II", 2, N), lplr_params(2, N), np.random.default_rng(2)
    pick = rng.integers(0, 2, N)
    y = np.where(rng.random(N) < 0.5 + 0.5 * world.means[pick], 1.0, -1.0)
    phi, seeds = np.ascontiguousarray(world.points[pick]), repetitions(1, RUNS)
    yield beside(
        f"LPLR, {RUNS} runs, d = 2, {N} users: sums against messages",
        lambda: estimate_lplr(world, p, N, seeds, Here()),
        lambda: fit_users(p, phi, y, rng),
        270.0,
        part=1.0 / RUNS,
    )
