"""LinUCB beside NumPy that is tuned, streams, and the start of a new process."""

import json
import subprocess
import sys

import numpy as np
from companion.timing import floors
from companion.timing.roster import ROSTER, D, K

from benchmarks import twins
from benchmarks.measure import Row, beside
from companion.environments import sphere

T = 1_000

FIRST_PLAY = """
import json, time
begin = time.process_time()
import numba
import numpy as np
ready = time.process_time()
from companion.baselines.linucb import linucb
X, R, arms = np.ones((1, 2, 5)), np.ones((1, 2)), np.empty(1, dtype=np.int64)
p = linucb(5)
p.play(p.params, p.init(p.params), X, R, np.random.default_rng(0), arms)
print(json.dumps([time.process_time() - ready, ready - begin]))
"""


def starts(times=5):
    """A new process with kept kernels, from our import to the end of the first play, beside the
    import of Numba."""
    command = [sys.executable, "-c", FIRST_PLAY]
    runs = [subprocess.check_output(command, text=True) for _ in range(times + 1)]
    both = np.array([json.loads(run) for run in runs[1:]])  # the first one may have to compile
    yield Row("first play of a new process; import of Numba", both, 0.3)


def drained(env):
    """Generate a whole stream."""
    for _ in env.blocks(T, np.random.default_rng(2)):
        pass


def rows():
    """The rows of this file."""
    X, R = floors.stream(T, K, D)
    ours = floors.run_of(ROSTER["linucb"].make(D, K, T), X, R)
    yield beside("LinUCB; NumPy, tuned", ours, lambda: twins.linucb_tuned(X, R), 8.0)
    yield beside(
        f"stream of {T} x {K} fresh arms",
        lambda: drained(sphere(K, D)),
        lambda: twins.fresh_sphere(T, K, D, np.random.default_rng(2)),
        0.9,
    )
