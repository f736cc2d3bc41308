"""Play every policy's and run every optimiser's example, and pickle (arms, state) or (parameters,
state) by name to the file in argv[1].

Run with NUMBA_DISABLE_JIT=1 this is the interpreted half of a test in `test_every_policy.py`.
"""

import pickle
import sys
from pathlib import Path

import streams

from companion import catalogue


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
    Path(sys.argv[1]).write_bytes(pickle.dumps(play_all()))
