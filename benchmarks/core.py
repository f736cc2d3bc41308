"""LinUCB and its streams at T = 20000, K = 100, d = 5; the start of a new process."""

import subprocess
import sys
import time

import numpy as np

from benchmarks import twins
from companion.baselines.linucb import linucb
from companion.environments import sphere

T, K, D = 20_000, 100, 5
SPEEDUP = 10.0  # a further policy on the same stream against its twin: at least
START = 0.3  # seconds from the imports to the end of the first `play`, warm cache: at most

FIRST_PLAY = """
import time
import numpy as np
from companion.baselines.linucb import linucb
X, R, arms = np.ones((1, 2, 5)), np.ones((1, 2)), np.empty(1, dtype=np.int64)
begin = time.perf_counter()
p = linucb(5)
p.play(p.params, p.init(p.params), X, R, np.random.default_rng(0), arms)
print(time.perf_counter() - begin)
"""


def seconds(work, repeat=5, clock=time.perf_counter):
    """Shortest of `repeat` runs: the one least disturbed by the machine's other business."""
    times = []
    for _ in range(repeat):
        begin = clock()
        work()
        times.append(clock() - begin)
    return min(times)


def play_blocks(policy, blocks):
    """Arms that a policy plays on a list of blocks, (n,)."""
    state, rng, played = policy.init(policy.params), np.random.default_rng(0), []
    for X, R, _ in blocks:
        arms = np.empty(len(X), dtype=np.int64)
        state = policy.play(policy.params, state, X, R, rng, arms)
        played.append(arms)
    return np.concatenate(played)


def linucb_row(twin=twins.linucb, what="as printed", limit=f"at least {SPEEDUP:g} times faster"):
    """LinUCB on a stream that exists already, against a twin; both must play the same arms."""
    blocks = list(sphere(K, D).blocks(T, np.random.default_rng(1)))
    X, R = (np.concatenate([b[i] for b in blocks]) for i in (0, 1))
    ours, theirs = play_blocks(linucb(D), blocks), twin(X, R)
    if (ours != theirs).mean() > 1e-3:  # rounding may break a near tie
        raise AssertionError("LinUCB and its twin play different arms")
    fast = seconds(lambda: play_blocks(linucb(D), blocks))
    slow = seconds(lambda: twin(X, R), repeat=2)
    return f"LinUCB, T={T}, K={K}, d={D}; NumPy {what}", fast, slow, limit


def first_play():
    """Seconds of the first `play` in a new process, with a warm cache."""
    command = [sys.executable, "-c", FIRST_PLAY]
    runs = [subprocess.run(command, capture_output=True, text=True, check=True) for _ in range(4)]
    return min(float(run.stdout) for run in runs[1:])  # the first one may have to compile


def drain(env):
    """Generate a whole stream."""
    for _ in env.blocks(T, np.random.default_rng(2)):
        pass


def rows():
    """The rows of this file."""
    yield linucb_row()
    yield linucb_row(twins.linucb_tuned, "tuned", "")
    yield "first play in a new process, warm cache", first_play(), None, f"at most {START:g} s"
    drain(sphere(K, D))
    slow = seconds(lambda: twins.fresh_sphere(T, K, D, np.random.default_rng(2)), repeat=2)
    yield f"stream of {T} x {K} fresh arms", seconds(lambda: drain(sphere(K, D))), slow, ""
    fixed = seconds(lambda: drain(sphere(K, D, fresh=False)))
    yield f"stream of {T} rounds, {K} fixed arms", fixed, None, ""
