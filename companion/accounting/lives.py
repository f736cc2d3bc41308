"""Many lives of one policy in one call of a kernel, for attacks that are counted from whole runs.

To begin a life and to call `play` from Python takes ten times as long as a short life itself.  So
a module may offer `play_many(p, s, rng, lives)`, a loop over `play` that draws as these calls do:
from `rng`, one life after the other (`companion.kernels.lives`).
"""

import importlib

import numpy as np

from companion.accounting.audit import in_one
from companion.kernels.lives import Lives


def lived(policy, size: int, module: str | None = None):
    """The function (data (X, R), rng, n, ends) -> (arms (n, ends[-1]), sums (n, len(ends), size))
    of n lives: what everybody played, and what was released after the rounds `ends`, which rise.

    size: of the numbers that `play_many` shows of a state; module: whose it is (None: the one
    of the policy's `init`).
    """
    home, p = module or policy.init.__module__, policy.params

    def several(data, rng, n, ends):
        kernel = importlib.import_module(home).play_many  # now: a fault may stand in its place
        arms, sums = np.empty((n, ends[-1]), np.int64), np.empty((n, len(ends), size))
        s, memory = in_one(policy.init(p))
        kernel(p, s, rng, Lives(memory, data[0], data[1], arms, np.array(ends), sums))
        return arms, sums

    return several
