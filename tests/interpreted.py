"""Play every policy's and run every optimiser's example, and pickle (arms, state) or (parameters,
state) by name to the file in argv[1]; and the arms of every policy with few and many rows.

Run with NUMBA_DISABLE_JIT=1 this is the interpreted half of tests in `test_every_policy.py`.  What
leaves an array raises IndexError here, as it would in kernels compiled with bounds checks.
"""

import pickle
import sys
from pathlib import Path

import streams

from companion import catalogue


def rows_of_all():
    """{(module, K): arms, or what was raised on the way} for every number of rows."""
    results = {}
    for name in streams.names():
        for K, n in streams.ROWS.items():
            try:
                results[name, K] = streams.rows_played(name, K, n)
            except IndexError as error:
                results[name, K] = f"IndexError: {error}"
    return results


def play_all():
    """{module: (arms, flat state)} on the common stream."""
    results = {}
    for name in streams.names():
        policy = streams.example(name)
        X, R, _ = streams.stream_for(policy)
        arms, state = streams.run(policy, X, R)
        results[name] = arms, streams.flat(state)
    for name in catalogue.optimisers():
        optimiser = streams.optimiser(name)
        out, state = streams.learn(optimiser, *streams.records_for(optimiser))
        results[name] = out, streams.flat(state)
    return results


if __name__ == "__main__":
    Path(sys.argv[1]).write_bytes(pickle.dumps(play_all() | rows_of_all()))
