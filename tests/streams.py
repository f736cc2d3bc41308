"""Small streams, and the policies that the common tests play on them."""

from itertools import pairwise

import numpy as np

from companion import policies
from evidence.judge.checks import THETA, run, same_bits, stream, stream_for
from evidence.measure.record import public

__all__ = ["THETA", "flat", "run", "same_bits", "stream", "stream_for"]


def flat(state):
    """All parts of a state, in order."""
    return list(public(state, ()).values())


def example(name, K=4):
    """The small instance that a policy's module offers to these tests; for K arms if it
    has to."""
    return policies.example(name, K)


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
