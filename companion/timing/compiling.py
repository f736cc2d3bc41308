"""What compiling an algorithm takes: its first run in a new process, with an empty cache."""

import os
import subprocess
import sys
import tempfile

import companion
from companion.timing.roster import ROSTER

FIRST = """
import sys, time
from companion.timing import floors
from companion.timing.roster import ROSTER
entry = ROSTER[sys.argv[1]]
algorithm = entry.make(entry.d, 4, 400)
run = floors.run_of(algorithm, *floors.stream(400, 4, entry.d, floors.one_context(algorithm)))
print(floors.spent(run) - floors.spent(run))
"""


def seconds(name: str, cache: str | None = None) -> float:
    """CPU seconds by which the first run of an algorithm of the roster is longer than the second.

    cache: a folder for the kernels, where a second call finds them; None: an empty one.  Raises
    ValueError on a name that the roster does not have.
    """
    if name not in ROSTER:
        raise ValueError(f"name must be one of {sorted(ROSTER)}; got {name!r}")
    with tempfile.TemporaryDirectory() as empty:
        home = os.path.dirname(os.path.dirname(companion.__file__))
        paths = os.pathsep.join(filter(None, (home, os.environ.get("PYTHONPATH"))))
        env = os.environ | {"NUMBA_CACHE_DIR": cache or empty, "PYTHONPATH": paths}
        run = [sys.executable, "-c", FIRST, name]
        done = subprocess.run(run, env=env, capture_output=True, text=True, check=True)
    return float(done.stdout)
