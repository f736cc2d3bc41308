"""LPLR: one estimation run at any number of users, one bandit run, and the message-level path.

Times are CPU seconds: everything here runs in one thread.
"""

import time
from functools import partial

import numpy as np

from benchmarks import bench_core
from companion.lplr.bandits import eliminate_with, ldp_linucb_regret
from companion.lplr.environments import family, hard_bandit
from companion.lplr.params import lplr_params
from companion.lplr.trials import estimate_lplr, estimate_ssp, fit_users, generator

RUNS = 50  # runs per measurement; times are per run
LIMIT = "at most 0.002 s"


seconds = partial(bench_core.seconds, clock=time.thread_time)


def estimation_row(name, d, n):
    """One LPLR run on a design of family `name` with n users, sums drawn at once."""
    world, p, rng = family(name, d, n), lplr_params(d, n), generator(1)
    estimate_lplr(world, p, n, 1, rng)
    ours = seconds(lambda: estimate_lplr(world, p, n, RUNS, rng)) / RUNS
    what = f"LPLR, d={d}, {len(world.points)} points, n={n:.0e}"
    return what, ours, None, LIMIT if d <= 2 else ""


def messages_row(n=100_000):
    """The same law at one n: sums at once against message by message (both compiled)."""
    world, p, rng = family("case II", 2, n), lplr_params(2, n), generator(2)
    pick = rng.integers(0, 2, n)
    y = np.where(rng.random(n) < 0.5 + 0.5 * world.means[pick], 1.0, -1.0)
    phi = np.ascontiguousarray(world.points[pick])
    estimate_lplr(world, p, n, 1, rng)
    fit_users(p, phi[:100], y[:100], rng)
    ours = seconds(lambda: estimate_lplr(world, p, n, RUNS, rng)) / RUNS
    slow = seconds(lambda: fit_users(p, phi, y, rng), repeat=2)
    return f"LPLR, d=2, n={n:.0e}: sums against messages", ours, slow, "at least 100 times faster"


def bandit_row(d, T, oracle):
    """One elimination run to horizon T."""
    world, rng = hard_bandit(d, 0.1), generator(3)
    eliminate_with(oracle, world, T, 1, rng)
    ours = seconds(lambda: eliminate_with(oracle, world, T, RUNS, rng)) / RUNS
    return f"elimination with {oracle.upper()}, d={d}, T={T:.0e}", ours, None, ""


def rows():
    """The rows of this file."""
    for name, d in (("case II", 2), ("log-scale", 1), ("log-scale", 2), ("ball", 3)):
        yield estimation_row(name, d, 10**16)
    yield messages_row()
    for d in (1, 2, 3):
        yield bandit_row(d, 10**12, "lplr")
    yield bandit_row(2, 10**12, "ssp")
    world, rng = hard_bandit(2, 0.1), generator(4)
    ldp_linucb_regret(world, 10**12, 1, rng)
    ours = seconds(lambda: ldp_linucb_regret(world, 10**12, RUNS, rng)) / RUNS
    yield "LDP-LinUCB with growing batches, d=2, T=1e12", ours, None, ""
    world = family("ball", 2, 10**16)
    estimate_ssp(world, 10**16, 1, rng)
    ours = seconds(lambda: estimate_ssp(world, 10**16, RUNS, rng)) / RUNS
    yield "SSP, d=2, 500 points, n=1e16", ours, None, ""
