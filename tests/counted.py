"""Count what the algorithms of the timing roster do: lines of kernels, costly calls, numbers drawn.

Run with NUMBA_DISABLE_JIT=1, kernels are plain Python, whose lines a tracer counts: the same number
on every machine, slow or fast.  A pass over the arms that is made twice, a fit in every round, a
second inverse, show there.  Numbers are 64-bit outputs of the generator, found from its state.
`NUMBA_DISABLE_JIT=1 PYTHONPATH=tests python tests/counted.py` prints the table `operations.json`;
with `--growth` it prints how the lines of a round grow with T, K and d.
"""

import json
import math
import sys
from collections import Counter
from pathlib import Path

import numpy as np

import companion
from companion.core import Optimiser, one_context
from companion.timing import cost_line, floors
from companion.timing.roster import ROSTER

HOME = str(Path(companion.__file__).parent)
ROUNDS, ARMS = 100, 12
PAIRS = {  # size: two settings (T, K, d) that differ in it
    "T": ((60, 4, 3), (240, 4, 3)),
    "K": ((70, 8, 3), (70, 64, 3)),
    "d": ((20, 4, 6), (20, 4, 24)),
}
COSTLY = (
    *("inverse", "ridge_inverse", "cholesky", "sherman_morrison"),
    *("divide", "jacobi", "fit", "descend"),
)
MULTIPLIER = 0x2360ED051FC65DA44385DF649FCCF645  # of PCG64


def outputs(before, after):
    """How many numbers a PCG64 generator has put out between two of its states.

    A step is s -> a s + c modulo 2^128.  Bit i of the distance is told by bit i of the state, from
    the lowest on, with 2^i steps at once (Brown 1994).
    """
    state, end = before["state"]["state"], after["state"]["state"]
    a, c, bit, distance = MULTIPLIER, before["state"]["inc"], 1, 0
    while state != end:
        if (state ^ end) & bit:
            state, distance = (a * state + c) % 2**128, distance | bit
        a, c, bit = a * a % 2**128, (a + 1) * c % 2**128, bit << 1
    return distance


def run(name, rng, T=ROUNDS, K=ARMS, d=3):
    """A function that runs an algorithm of the roster with this generator, on a small instance."""
    algorithm = ROSTER[name].make(d, K, T)
    X, R = floors.stream(T, K, d, one_context(algorithm))
    p = algorithm.params
    if isinstance(algorithm, Optimiser):
        A, y, out = X[:, 0].copy(), R[:, 0].copy(), np.empty((T, d))
        state = algorithm.init(p, rng)
        return lambda: algorithm.run(p, state, A, y, rng, out)
    return lambda: algorithm.play(p, algorithm.init(p), X, R, rng, np.empty(T, np.int64))


def executed(work):
    """Counter of a call: "lines" of the package that it executes in Python, and calls of COSTLY
    kernels."""
    count = Counter()

    def inside(frame, event, _):
        count["lines"] += event == "line"
        return inside

    def enter(frame, *_):
        if not frame.f_code.co_filename.startswith(HOME):
            return None
        if frame.f_code.co_name in COSTLY:
            count[frame.f_code.co_name] += 1
        return inside

    sys.settrace(enter)
    try:
        work()
    finally:
        sys.settrace(None)
    return count


def counted(name):
    """{what: how often in ROUNDS rounds} of an algorithm of the roster, numbers drawn as well."""
    rng = np.random.default_rng(2)
    work, before = run(name, rng, d=min(ROSTER[name].d, 3)), rng.bit_generator.state
    count = executed(work)
    return dict(count) | {"numbers": outputs(before, rng.bit_generator.state)}


def lines(name, T, K, d):
    """Lines that a round takes."""
    return executed(run(name, np.random.default_rng(2), T, K, d))["lines"] / T


def growth(name):
    """{size: e}: between two settings that differ in it, a round's lines grow as size^e.  An
    optimiser has no arms."""
    found, alone = {}, ROSTER[name].K == 1
    for size, (small, large) in PAIRS.items():
        if not (alone and size == "K"):
            i = "TKd".index(size)
            many = lines(name, *large) / lines(name, *small)
            found[size] = math.log(many) / math.log(large[i] / small[i])
    return found


if __name__ == "__main__":
    growing = "--growth" in sys.argv
    names, what = [n for n in sys.argv[1:] if n != "--growth"], growth if growing else counted
    names = names or [n for n in ROSTER if not (growing and n in cost_line.UNREAD)]
    print(json.dumps({name: what(name) for name in names}, indent=1))
