"""Play the examples of the policies and run those of the optimisers named in argv[2:], and pickle
(arms, state) or (parameters, state) by name to the file in argv[1]; and the policies' arms with few
and many rows.

Run with NUMBA_DISABLE_JIT=1 this is the interpreted half of tests in `test_every_policy.py`.  What
leaves an array raises IndexError here, as it would in kernels compiled with bounds checks.
"""

import pickle
import sys
from pathlib import Path

import streams

from companion import optimisers, policies


def rows_of(policies):
    """{(module, K): arms, or what was raised on the way} for every number of rows."""
    results = {}
    for name in policies:
        for K, n in streams.ROWS.items():
            try:
                results[name, K] = streams.rows_played(name, K, n)
            except IndexError as error:
                results[name, K] = f"IndexError: {error}"
    return results


def played(policies, optimisers):
    """{module: (arms, flat state)} on the common stream."""
    results = {}
    for name in policies:
        policy = streams.example(name)
        X, R, _ = streams.stream_for(policy)
        arms, state = streams.run(policy, X, R)
        results[name] = arms, streams.flat(state)
    for name in optimisers:
        optimiser = streams.optimiser(name)
        out, state = streams.learn(optimiser, *streams.records_for(optimiser))
        results[name] = out, streams.flat(state)
    return results


if __name__ == "__main__":
    target, *asked = sys.argv[1:]
    policies = [name for name in streams.names() if name in asked]
    optimisers = [name for name in optimisers.TABLE if name in asked]
    found = played(policies, optimisers) | rows_of(policies)
    Path(target).write_bytes(pickle.dumps(found))
