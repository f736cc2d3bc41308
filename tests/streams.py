"""Small streams, and the policies that the common tests play on them."""

import pickle
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np

from companion import optimisers, policies
from companion.contract import need_contexts
from evidence.judge.checks import THETA, flat, run, same_bits, stream, stream_for

__all__ = ["THETA", "flat", "run", "same_bits", "stream", "stream_for"]
# contexts in a round, and how many rounds
ROWS = {1: 100, 2: 100, 7: 100, 300: 30, 5000: 4}


def names():
    """Names of all policies of the package, by which their factories are called."""
    return list(policies.TABLE)


def example(name, K=4):
    """The small instance that a policy's module offers to these tests; for K arms if it
    has to."""
    return policies.example(name, K)


def rows_played(name, K, n):
    """Arms of the policy with this name in n rounds of K rows, or the message that
    refuses them."""
    policy = example(name, K)
    X, R, _ = stream_for(policy, n, K)
    try:
        need_contexts([policy], X)
    except ValueError as refusal:
        return str(refusal)
    return run(policy, X, R)[0]


def rounds(world, n, seed):
    """All of n rounds of a world, joined: contexts X (n, K, d), rewards and means
    (n, K)."""
    blocks = world.blocks(n, np.random.default_rng(seed))
    return tuple(map(np.concatenate, zip(*blocks, strict=True)))


def first_block(world, n, seed=4):
    """Contexts X (n, K, d) and rewards R (n, K)."""
    return rounds(world, n, seed)[:2]


def forms(X, V):
    """x'V^-1 x of the rows of X (K, d)."""
    return (X @ np.linalg.inv(V) * X).sum(axis=1)


def optimiser(name):
    """The small instance that an optimiser's module offers to these tests."""
    return optimisers.example(name)


def records_for(o, seed=0):
    """All records X (n, d), Y (n,) that an optimiser was built for, a few outside its
    universe."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((o.params.n, o.params.d))
    X *= 1.2 * rng.random((o.params.n, 1)) / np.abs(X).sum(axis=1, keepdims=True)
    return X, X @ np.full(o.params.d, 0.5) + 0.3 * rng.standard_normal(o.params.n)


def learn(o, X, Y, *, seed=1, cuts=()):
    """(public parameters (n, d), state) after the optimiser read the records, cut before
    `cuts`."""
    rng = np.random.default_rng(seed)
    state = o.init(o.params, rng)
    out = np.zeros(X.shape)
    for start, end in pairwise([0, *cuts, len(X)]):
        block = slice(start, end)
        o.run(o.params, state, X[block], Y[block], rng, out[block])
    return out, state


def check_interpreted(out, state, interpreted):
    """What compiled kernels gave equals, to the bit, what they gave interpreted: (out,
    state)."""
    assert np.array_equal(out, interpreted[0])
    for ours, theirs in zip(flat(state), interpreted[1], strict=True):
        assert np.array_equal(ours, theirs, equal_nan=True)


def interpreted(asked):
    """{name: (arms, flat state)} of policies on the common stream, {name: (parameters,
    flat state)} of optimisers; and {(policy, K): arms, or what was raised on the way} for
    every number of rows.

    In a process with NUMBA_DISABLE_JIT=1 this is the interpreted half of tests in
    `test_every_policy.py`.  What leaves an array raises IndexError there, as it would in
    kernels compiled with bounds checks.
    """
    found = {}
    for name in asked:
        if name in optimisers.TABLE:
            out, state = learn(optimiser(name), *records_for(optimiser(name)))
            found[name] = out, flat(state)
            continue
        X, R, _ = stream_for(example(name))
        arms, state = run(example(name), X, R)
        found[name] = arms, flat(state)
        for K, n in ROWS.items():
            try:
                found[name, K] = rows_played(name, K, n)
            except IndexError as error:
                found[name, K] = f"IndexError: {error}"
    return found


if __name__ == "__main__":
    target, *asked = sys.argv[1:]
    Path(target).write_bytes(pickle.dumps(interpreted(asked)))
