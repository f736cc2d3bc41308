"""Small streams, and the policies that the common tests play on them."""

import inspect
import os
import pickle
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np

from companion import catalogue
from companion.core import need_contexts, one_context

THETA = np.array([0.6, 0.3, -0.1])
SPOILED = 77  # a number that no fresh state holds


def stream(n=400, K=4, d=3, seed=0):
    """X (n, K, d) in the unit ball, Bernoulli rewards R (n, K) and means mu in [0.16, 0.84]."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, K, d))
    X *= rng.random((n, K, 1)) ** (1 / d) / np.linalg.norm(X, axis=2, keepdims=True)
    theta = THETA if d == 3 else np.full(d, 0.6 / np.sqrt(d))
    mu = 0.5 + X @ theta / 2
    return X, (rng.random((n, K)) < mu).astype(np.float64), mu


def run(policy, X, R, *, seed=1, cuts=()):
    """(arms, state) after the policy played the stream, cut into blocks before rounds `cuts`."""
    rng, state = np.random.default_rng(seed), policy.init(policy.params)
    arms = np.full(len(X), -1, dtype=np.int64)
    ends = [0, *cuts, len(X)]
    for start, end in pairwise(ends):
        block = slice(start, end)
        state = policy.play(policy.params, state, X[block], R[block], rng, arms[block])
    return arms, state


def names():
    """Names of all policies of the package, by which their factories are called."""
    return list(catalogue.policies())


def example(name, K=4):
    """The small instance that a policy's module offers to these tests; for K arms if it has to."""
    make = catalogue.policies()[name].example
    return make(K=K) if "K" in inspect.signature(make).parameters else make()


def stream_for(policy, n=400, K=4):
    """A stream of the dimension that the policy takes (3 where it does not care), with one context
    in all rows where the policy takes no other.
    """
    X, R, mu = stream(n, K, getattr(policy.params, "d", 3))
    if one_context(policy):
        X = np.ascontiguousarray(np.repeat(X[:, :1], X.shape[1], axis=1))
    return X, R, mu


def rows_played(name, K, n=100):
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
    return catalogue.optimisers()[name].example()


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
        state = o.run(o.params, state, X[block], Y[block], rng, out[block])
    return out, state


def flat(state):
    """The state as one tuple of arrays, nested tuples and scalars included."""
    if isinstance(state, tuple):
        return tuple(a for part in state for a in flat(part))
    return (np.array(state),)


def spoil(state):
    """Overwrite every array of a state."""
    if isinstance(state, tuple):
        for part in state:
            spoil(part)
    elif isinstance(state, np.ndarray):
        state.fill(SPOILED)


def check_interpreted(out, state, interpreted):
    """What compiled kernels gave equals, to the bit, what they gave interpreted: (out, state)."""
    assert np.array_equal(out, interpreted[0])
    for ours, theirs in zip(flat(state), interpreted[1], strict=True):
        assert np.array_equal(ours, theirs, equal_nan=True)


def pickled(algorithm):
    """A policy or optimiser after a journey through pickle: equal in all but its arrays' places."""
    again = pickle.loads(pickle.dumps(algorithm))
    assert again._replace(params=None) == algorithm._replace(params=None)
    assert all(map(same_bits, flat(algorithm.params), flat(again.params)))
    return again


def same_bits(a, b):
    """Equal bit for bit; NaN equals NaN, as scratch arrays may hold anything."""
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def in_a_process(tmp_path_factory, name, timeout=900, **variables):
    """What the script of this name pickles when it runs with these environment variables."""
    out = tmp_path_factory.mktemp(name) / "runs.pickle"
    script = Path(__file__).with_name(f"{name}.py")
    env = os.environ | variables
    subprocess.run([sys.executable, script, out], env=env, check=True, timeout=timeout)
    return pickle.loads(out.read_bytes())
