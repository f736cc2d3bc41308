"""Small streams, and the policies that the common tests play on them."""

import fcntl
import os
import pickle
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np

from companion import optimisers, policies
from companion.core import need_contexts
from companion.judge.checks import THETA, flat, run, same_bits, spoil, stream, stream_for

__all__ = ["THETA", "flat", "run", "same_bits", "spoil", "stream", "stream_for"]
ROWS = {1: 100, 2: 100, 7: 100, 300: 30, 5000: 4}  # contexts in a round, and how many rounds
NO_BUDGETS = [("d", 0), ("T", 0), ("epsilon", 0.0), ("epsilon", np.nan), ("delta", 1.0)]


def names():
    """Names of all policies of the package, by which their factories are called."""
    return list(policies.TABLE)


def example(name, K=4):
    """The small instance that a policy's module offers to these tests; for K arms if it has to."""
    return policies.example(name, K)


def rows_played(name, K, n):
    """Arms of the policy with this name in n rounds of K rows, or the message that refuses them."""
    policy = example(name, K)
    X, R, _ = stream_for(policy, n, K)
    try:
        need_contexts([policy], X)
    except ValueError as refusal:
        return str(refusal)
    return run(policy, X, R)[0]


def optimiser(name):
    """The small instance that an optimiser's module offers to these tests."""
    return optimisers.example(name)


def records_for(o, seed=0):
    """All records X (n, d), Y (n,) that an optimiser was built for, a few outside its universe."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((o.params.n, o.params.d))
    X *= 1.2 * rng.random((o.params.n, 1)) / np.abs(X).sum(axis=1, keepdims=True)
    return X, X @ np.full(o.params.d, 0.5) + 0.3 * rng.standard_normal(o.params.n)


def learn(o, X, Y, *, seed=1, cuts=()):
    """(public parameters (n, d), state) after the optimiser read the records, cut before `cuts`."""
    rng = np.random.default_rng(seed)
    state, out = o.init(o.params, rng), np.zeros(X.shape)
    for start, end in pairwise([0, *cuts, len(X)]):
        block = slice(start, end)
        o.run(o.params, state, X[block], Y[block], rng, out[block])
    return out, state


def check_interpreted(out, state, interpreted):
    """What compiled kernels gave equals, to the bit, what they gave interpreted: (out, state)."""
    assert np.array_equal(out, interpreted[0])
    for ours, theirs in zip(flat(state), interpreted[1], strict=True):
        assert np.array_equal(ours, theirs, equal_nan=True)


def in_a_process(folder, script, asked=(), timeout=900, **variables):
    """What the script of this name, told what is asked for, pickles when it runs with these
    environment variables; it runs once for all workers that share a folder."""
    out = folder / f"{script}.pickle"
    with (folder / f"{script}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not out.exists():
            half = out.with_suffix(".half")
            command = [sys.executable, Path(__file__).with_name(f"{script}.py"), half, *asked]
            subprocess.run(command, env=os.environ | variables, check=True, timeout=timeout)
            half.rename(out)
    return pickle.loads(out.read_bytes())
