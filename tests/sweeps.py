"""Drivers of sweeps that tests kill: `python sweeps.py STORE MARKS SEEDS PAUSE` runs one."""

import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from companion.baselines.linucb import linucb
from companion.baselines.random import random
from companion.environments import sphere
from companion.sweep import Setting, sweep


class Marked:
    """A world that says when it arrives in a process, and when a repetition begins there."""

    def __init__(self, marks, K=3):
        self.marks, self.K = marks, K

    def __setstate__(self, state):
        self.__dict__.update(state)
        self.mark("arrived")

    def mark(self, what):
        """One more line."""
        with Path(self.marks).open("a") as file:
            file.write(f"{what} {os.getpid()}\n")

    def blocks(self, T, rng):
        """The rounds of `sphere`, after a pause."""
        self.mark("began")
        time.sleep(float(os.environ.get("PAUSE", 0)))
        return sphere(self.K, 3).blocks(T, rng)


def settings(marks):
    """Two settings of two policies."""
    policies = (linucb(3), random())
    return {
        "three arms": Setting(Marked(marks, 3), policies, 40),
        "four": Setting(Marked(marks, 4), policies, 40),
    }


if __name__ == "__main__":
    _, store, marks, n = sys.argv
    with ProcessPoolExecutor(2, mp_context=get_context("fork")) as pool:
        sweep(settings(marks), range(int(n)), pool, store=store, progress=False)
