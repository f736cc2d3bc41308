"""Play every policy's example with few and many rows; pickle {(policy, K): arms} to argv[1].

Run with NUMBA_BOUNDSCHECK=1, kernels raise IndexError where they would leave an array: this is
the checked half of a test in `test_every_policy.py`.  What is raised is kept as text.
"""

import pickle
import sys
from pathlib import Path

import streams

ROWS = (1, 2, 7, 5000)


def played(name, K):
    """Arms, or what was raised on the way."""
    try:
        return streams.rows_played(name, K)
    except IndexError as error:
        return f"IndexError: {error}"


if __name__ == "__main__":
    results = {(name, K): played(name, K) for name in streams.names() for K in ROWS}
    Path(sys.argv[1]).write_bytes(pickle.dumps(results))
