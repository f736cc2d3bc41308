"""Policies against their floor: a pass over the contexts with one product per arm, and the normals
that a round draws.  Paired and alternating in one process, at T = 20000, K = 100, d = 5.

The multiples in the Cost lines of the policies come from here.
"""

import re
import sys
import time

import numpy as np

from companion._jit import jit
from companion.baselines.ecolog import ecolog
from companion.baselines.gloc import gloc
from companion.baselines.jdp_linucb import jdp_linucb
from companion.baselines.ldp_linucb import ldp_linucb
from companion.baselines.linucb import linucb
from companion.baselines.rs_glinucb import rs_glinucb
from companion.baselines.sdp_linucb import sdp_linucb
from companion.kernels.linalg import dot
from companion.online_linucb import online_linucb
from companion.online_linucb.corrected_ridge import corrected_ridge
from companion.private_glm import joint_glm

T, K, D = 20_000, 100, 5
ROUNDS = 7  # of the alternation
SQUARE = D * (D + 1) // 2  # entries of a symmetric matrix


def policies():
    """(policy, normals that it draws in a round)."""
    glm = {"theta_bound": 2.0}
    return (
        (linucb(D), 0),
        (jdp_linucb(D, T, 1.0), SQUARE + D),
        (sdp_linucb(D, T, 1.0), 0),
        (ldp_linucb(D, T, 1.0), SQUARE + D),
        (corrected_ridge(D, T, 1.0), D + 1),
        (online_linucb(D, T, 1.0), D + 1),
        (online_linucb(D, T, 1.0, learner="ogd").renamed("Online LinUCB, OGD"), D + 1),
        (gloc(D, **glm), 0),
        (ecolog(D, **glm), 0),
        (rs_glinucb(D, T, **glm), 0),
        (joint_glm(D, T, 4.0, **glm), 2 * SQUARE),
    )


@jit
def floor(X, theta, normals, rng):
    """The largest product of a context with theta in every round, added up, and the normals."""
    total = 0.0
    for t in range(X.shape[0]):
        best = -np.inf
        for k in range(X.shape[1]):
            best = max(best, dot(X[t, k], theta))
        total += best
        for _ in range(normals):
            total += rng.standard_normal()
    return total


def stream():
    """X (T, K, D) in the unit ball and Bernoulli rewards R (T, K)."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((T, K, D))
    X *= rng.random((T, K, 1)) / np.linalg.norm(X, axis=2, keepdims=True)
    return X, (rng.random((T, K)) < 0.5 + 0.4 * X[:, :, 0]).astype(float)


def spent(work):
    """CPU seconds of one call."""
    begin = time.thread_time()
    work()
    return time.thread_time() - begin


def held(state):
    """Bytes of a state."""
    return sum(map(held, state)) if isinstance(state, tuple) else np.asarray(state).nbytes


def promised(policy):
    """The multiple that the Cost line of a policy's module names."""
    text = " ".join(sys.modules[policy.play.__module__].__doc__.split())
    found = re.search(r"(\d+) times the floor of `kernels.optimism`", text)
    if found is None:
        raise ValueError(f"the Cost line of {policy.play.__module__} must name its multiple")
    if policy.name.endswith("OGD"):
        found = re.search(r"\(OGD: (\d+)\)", text)
    return float(found[1])


def pairs():
    """(policy, CPU seconds (ROUNDS, 2) of its play and of the floor) in turn."""
    X, R = stream()
    theta, arms = np.full(D, 0.3), np.empty(T, np.int64)
    for policy, normals in policies():

        def play(policy=policy):
            p = policy.params
            policy.play(p, policy.init(p), X, R, np.random.default_rng(2), arms)

        def least(normals=normals):
            floor(X, theta, normals, np.random.default_rng(2))

        play(), least()
        yield policy, np.array([(spent(play), spent(least)) for _ in range(ROUNDS)])


def rows():
    """The rows of this file; in the last column the quartiles of the multiple."""
    for policy, both in pairs():
        low, middle, high = np.quantile(both[:, 0] / both[:, 1], (0.25, 0.5, 0.75))
        said = f"{middle:.1f} floors ({low:.1f} to {high:.1f}), said {promised(policy):g}"
        ours, slow = np.median(both, axis=0)
        size = held(policy.init(policy.params))
        yield policy.name, ours, slow, f"{said}, {1e9 * ours / T:.0f} ns a round, {size} bytes"
