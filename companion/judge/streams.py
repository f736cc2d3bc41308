"""Small streams for any policy, and what a state holds: shared by the contract and the tests."""

from itertools import pairwise

import numpy as np

from companion.core import horizon, one_context

THETA = np.array([0.6, 0.3, -0.1])
SPOILED = 77  # a number that no fresh state holds
ROUNDS = 400  # of the common stream, or as many as a policy was built for


def stream(n: int = ROUNDS, K: int = 4, d: int = 3, seed: int = 0):
    """X (n, K, d) in the unit ball, Bernoulli rewards R (n, K) and means mu in [0.16, 0.84]."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, K, d))
    X *= rng.random((n, K, 1)) ** (1 / d) / np.linalg.norm(X, axis=2, keepdims=True)
    theta = THETA if d == 3 else np.full(d, 0.6 / np.sqrt(d))
    mu = 0.5 + X @ theta / 2
    return X, (rng.random((n, K)) < mu).astype(np.float64), mu


def stream_for(policy, n: int = ROUNDS, K: int = 0):
    """A stream of K rows (0: as many as the policy takes, else 4), of the dimension that it takes
    (3 where it does not care), with at most as many rounds as it was built for, and one context in
    all rows where it takes no other.
    """
    n, K = min(n, horizon(policy) or n), K or getattr(policy.params, "K", 4)
    X, R, mu = stream(n, K, getattr(policy.params, "d", 3))
    if one_context(policy):
        X = np.ascontiguousarray(np.repeat(X[:, :1], X.shape[1], axis=1))
    return X, R, mu


def run(policy, X: np.ndarray, R: np.ndarray, *, seed: int = 1, cuts=()):
    """(arms, state) after the policy played the stream, cut into blocks before rounds `cuts`."""
    rng, state = np.random.default_rng(seed), policy.init(policy.params)
    arms = np.full(len(X), -1, dtype=np.int64)
    ends = [0, *(c for c in cuts if c < len(X)), len(X)]
    for start, end in pairwise(ends):
        block = slice(start, end)
        state = policy.loop(policy.params, state, X[block], R[block], rng, arms[block]) or state
    return arms, state


def flat(state):
    """The state as one tuple of arrays, nested tuples and scalars included."""
    if isinstance(state, tuple):
        return tuple(a for part in state for a in flat(part))
    return (np.array(state),)


def spoil(state) -> None:
    """Overwrite every array of a state."""
    if isinstance(state, tuple):
        for part in state:
            spoil(part)
    elif isinstance(state, np.ndarray):
        state.fill(SPOILED)


def same_bits(a, b: np.ndarray) -> bool:
    """Equal bit for bit; NaN equals NaN, as scratch arrays may hold anything."""
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def same_state(a, b: np.ndarray) -> bool:
    """Whether two states agree to the bit."""
    a, b = flat(a), flat(b)
    return len(a) == len(b) and all(map(same_bits, a, b))
