"""What a policy costs: nanoseconds a round over the floor, bytes of state, growth in T, K and d.

The floor is random play on the same stream.  Times are of this machine, and change from run to run.
"""

import inspect
import time

import numpy as np

from companion.baselines.random import random
from companion.core import horizon, one_context
from companion.judge.streams import flat, stream
from companion.judge.subject import GUESSES

GROWN = {"d": (4, 8, 16), "K": (4, 8, 16), "T": (400, 1_600, 6_400)}
ROUNDS = 400  # of one timed run
SLOW = 0.25  # seconds of a run from which one is enough


def measured(subject):
    """{"ns": a round of the example, over the floor; "state": its bytes; "growth": [rows]}."""
    policy = subject.policy
    found = {"compiled": hasattr(policy.loop, "py_func"), "state": size(policy),
             "ns": nanoseconds(policy, 4) - nanoseconds(random(), 4)}  # fmt: skip
    return found | {"growth": growth(subject)}


def size(policy) -> int:
    """Bytes of the state before the first round."""
    return int(sum(a.nbytes for a in flat(policy.init(policy.params))))


def nanoseconds(policy, K) -> float:
    """CPU time of a round of its loop in this thread, the best of three runs: the clock of the
    whole process moves in steps while a limit is set."""
    K, d = getattr(policy.params, "K", K), getattr(policy.params, "d", 3)
    X, R, _ = stream(min(ROUNDS, horizon(policy) or ROUNDS), K, d)
    if one_context(policy):
        X = np.ascontiguousarray(np.repeat(X[:, :1], K, axis=1))
    arms, best = np.empty(len(X), np.int64), np.inf
    policy.loop(policy.params, policy.init(policy.params), X, R, np.random.default_rng(0), arms)
    for _ in range(3):
        state, rng = policy.init(policy.params), np.random.default_rng(0)
        began = time.thread_time()
        policy.loop(policy.params, state, X, R, rng, arms)
        best = min(best, time.thread_time() - began)
        if best > SLOW:
            break
    return 1e9 * best / len(X)


def growth(subject):
    """Rows of {"of", "value", "ns", "state"}: one size changes, all others stay."""
    taken = inspect.signature(subject.factory).parameters if subject.factory else {}
    needed = [n for n, p in taken.items() if p.default is p.empty and n not in GUESSES]
    if not taken or needed:
        return []
    rows = []
    for name, values in GROWN.items():
        for value in values:
            told = {n: v for n, v in (GUESSES | {name: value}).items() if n in taken}
            try:
                policy = subject.factory(**told)
                K = value if name == "K" else GUESSES["K"]
                row = {"of": name, "value": value, "ns": nanoseconds(policy, K)}
                rows.append(row | {"state": size(policy)})
            except ValueError:  # a size that it is not made for
                continue
    return rows
