"""Calls MODULE:FUNCTION, a command of a library: `python -m tools.child MODULE:FUNCTION
ARGUMENTS`.

The process ends when its standard input closes, so it never outlives the runner.  At the
end it prints the seconds of CPU that its own children (a kernel and its workers) took.
"""

import os
import resource
import sys
import threading
from importlib import import_module


def end_with_runner():
    """End this process when standard input closes."""
    while os.read(0, 1):  # not sys.stdin, whose lock would disturb the end of Python
        pass
    os._exit(3)


if __name__ == "__main__":
    threading.Thread(target=end_with_runner, daemon=True).start()
    module, _, function = sys.argv.pop(1).partition(":")
    try:
        getattr(import_module(module), function)()
    finally:
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        print(f"\n{used.ru_utime + used.ru_stime:.2f}")
