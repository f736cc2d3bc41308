"""LPLR: one estimation run at any number of users, one bandit run, and the message-level path.

Times are CPU seconds: everything here runs in one thread.
"""

import time
from concurrent.futures import Executor, Future
from functools import partial

import numpy as np

from benchmarks import bench_core
from companion.lplr import (
    eliminate_with,
    estimate_lplr,
    estimate_ssp,
    family,
    fit_users,
    hard_bandit,
    ldp_linucb_regret,
    lplr_params,
)
from companion.simulate import repetitions

RUNS = 50  # runs per measurement; times are per run
ONE, MANY = repetitions(1, 1), repetitions(1, RUNS)
LIMIT = "at most 0.002 s"


seconds = partial(bench_core.seconds, clock=time.thread_time)


class Here(Executor):
    """Runs every job at once, in this thread, whose CPU time is measured."""

    def submit(self, task, /, *args):
        """A finished future."""
        future = Future()
        future.set_result(task(*args))
        return future


def estimation_row(name, d, n):
    """One LPLR run on a design of family `name` with n users, sums drawn at once."""
    world, p = family(name, d, n), lplr_params(d, n)
    estimate_lplr(world, p, n, ONE)
    ours = seconds(lambda: estimate_lplr(world, p, n, MANY, Here())) / RUNS
    what = f"LPLR, d={d}, {len(world.points)} points, n={n:.0e}"
    return what, ours, None, LIMIT if d <= 2 else ""


def messages_row(n=100_000):
    """The same law at one n: sums at once against message by message (both compiled)."""
    world, p, rng = family("case II", 2, n), lplr_params(2, n), np.random.default_rng(2)
    pick = rng.integers(0, 2, n)
    y = np.where(rng.random(n) < 0.5 + 0.5 * world.means[pick], 1.0, -1.0)
    phi = np.ascontiguousarray(world.points[pick])
    estimate_lplr(world, p, n, ONE)
    fit_users(p, phi[:100], y[:100], rng)
    ours = seconds(lambda: estimate_lplr(world, p, n, MANY, Here())) / RUNS
    slow = seconds(lambda: fit_users(p, phi, y, rng), repeat=2)
    return f"LPLR, d=2, n={n:.0e}: sums against messages", ours, slow, "at least 100 times faster"


def bandit_row(d, T, oracle):
    """One elimination run to horizon T."""
    world = hard_bandit(d, 0.1)
    eliminate_with(oracle, world, T, ONE)
    ours = seconds(lambda: eliminate_with(oracle, world, T, MANY, Here())) / RUNS
    return f"elimination with {oracle.upper()}, d={d}, T={T:.0e}", ours, None, ""


def rows():
    """The rows of this file."""
    for name, d in (("case II", 2), ("log-scale", 1), ("log-scale", 2), ("ball", 3)):
        yield estimation_row(name, d, 10**16)
    yield messages_row()
    for d in (1, 2, 3):
        yield bandit_row(d, 10**12, "lplr")
    yield bandit_row(2, 10**12, "ssp")
    world = hard_bandit(2, 0.1)
    ldp_linucb_regret(world, 10**12, ONE)
    ours = seconds(lambda: ldp_linucb_regret(world, 10**12, MANY, Here())) / RUNS
    yield "LDP-LinUCB with growing batches, d=2, T=1e12", ours, None, ""
    world = family("ball", 2, 10**16)
    estimate_ssp(world, 10**16, ONE)
    ours = seconds(lambda: estimate_ssp(world, 10**16, MANY, Here())) / RUNS
    yield "SSP, d=2, 500 points, n=1e16", ours, None, ""
