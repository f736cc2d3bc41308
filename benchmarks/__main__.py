"""`python -m benchmarks [--compile] [--growth] [NAME ...]`: the speed of everything, as ratios.

A NAME is a file here or an algorithm; without one, all.  Exit code 1 if a limit is missed.
"""

import argparse
import importlib
import itertools
import pkgutil
import sys
import time

import numpy as np
from companion.timing import machine
from companion.timing.roster import ROSTER

import benchmarks
from benchmarks import core, floors

NOT_ROWS = {"__main__", "measure", "glm_twins", "maler_twin", "online_linucb", "twins"}
COMPILE = "compile each algorithm alone, in a new process with no kernels: several minutes more"
GROWTH = "follow T, K and d over two decades beside the Cost lines: a minute more"
HEAD = "| what | ours (s) | times faster | quartiles | at least |"


def line(row):
    """A row of the second table."""
    low, middle, high = row.quartiles()
    least, ours = f"{row.least:g}" if row.least else "", np.median(row.times[:, 0])
    return f"| {row.what} | {ours:.3g} | {middle:.1f} | {low:.1f} to {high:.1f} | {least} |"


def head(text):
    """Print the head of a table."""
    print(f"\n{text}\n|---|{'--:|' * (text.count('|') - 2)}", flush=True)


def arguments(argv, files):
    """The parsed command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    add = parser.add_argument
    add("names", nargs="*", metavar="NAME", help="a file of benchmarks/, or an algorithm")
    add("--compile", action="store_true", help=COMPILE)
    add("--growth", action="store_true", help=GROWTH)
    args = parser.parse_args(argv)
    wrong = [name for name in args.names if name not in {*files, *ROSTER}]
    if wrong:
        parser.error(f"no file and no algorithm: {', '.join(wrong)}")
    return args


def main(argv=None):
    """Print both tables as their rows come; return the exit code."""
    files = {m.name for m in pkgutil.iter_modules(benchmarks.__path__)} - NOT_ROWS
    args, begin, missed = arguments(argv, files), time.perf_counter(), []
    print("; ".join(machine.described().values()))
    names = [n for n in ROSTER if not args.names or {n, "floors"} & set(args.names)]
    if names:
        head(floors.HEAD)
    for name in names:
        found = floors.timed(name, args.compile, args.growth)
        missed += floors.missed(found)
        print(floors.line(found), flush=True)
    modules = sorted(files.intersection(args.names) if args.names else files)
    found = [importlib.import_module(f"benchmarks.{m}").rows for m in modules]
    titles = iter([HEAD])
    for row in itertools.chain.from_iterable(
        rows() for rows in (*found, *[core.starts] * args.compile)
    ):
        for title in titles:  # of the first row
            head(title)
        missed += filter(None, [row.missed()])
        print(line(row), flush=True)
    print(f"\n{time.perf_counter() - begin:.0f} s; ", end="")
    print("every limit holds" if not missed else "limits are missed:", *missed, sep="\n")
    return bool(missed)


if __name__ == "__main__":
    sys.exit(main())
