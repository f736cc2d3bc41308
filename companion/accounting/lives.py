"""Many lives of one policy in one call of a kernel, for attacks that are counted from whole runs.

To begin a life and to call `play` from Python takes ten times as long as a short life itself.  So
a module may offer `play_many(p, s, rng, lives)`, a loop over `play` that draws as these calls do:
from `rng`, one life after the other (`companion.kernels.lives`).
"""

import importlib
from collections.abc import Callable, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from companion._types import AnyArray, Array, Ints, Rng
from companion.kernels.lives import Lives

if TYPE_CHECKING:
    from companion.core import Policy


def in_one(state: Any) -> tuple[Any, AnyArray]:
    """(the same state, memory): all its arrays stand in the first of two rows of memory, and the
    second keeps what they hold now, so that copying the second to the first begins a new life.

    Arrays of the state that share their place go on to do so.  Raises ValueError if two overlap in
    part.
    """
    found: dict[Any, AnyArray] = {}
    _gather(state, found)
    for a, b in combinations(found.values(), 2):
        if np.shares_memory(a, b):
            raise ValueError(f"arrays of a state must not overlap; got {a.shape} and {b.shape}")
    ends = np.cumsum([0, *(-(-a.nbytes // 8) for a in found.values())])  # in words of 8 bytes
    memory, moved = np.zeros((2, ends[-1]), np.int64), {}
    for (place, a), begin, end in zip(found.items(), ends, ends[1:], strict=False):
        moved[place] = memory[0, begin:end].view(a.dtype)[: a.size].reshape(a.shape)
        moved[place][...] = a
    memory[1] = memory[0]
    return _moved(state, moved), memory


def _place(a):
    """What tells arrays of a state apart; two arrays may be views of the same numbers."""
    return a.__array_interface__["data"][0], a.shape, a.strides, a.dtype.str


def _gather(tree, found):
    """found <- {place: array} of all arrays of a nested tuple."""
    if isinstance(tree, np.ndarray):
        found.setdefault(_place(tree), tree)
    for part in tree if isinstance(tree, tuple) else ():
        _gather(part, found)


def _moved(tree, moved):
    """The same nested tuple with other arrays."""
    if isinstance(tree, tuple):  # a named one, too
        return tuple.__new__(type(tree), [_moved(part, moved) for part in tree])
    return moved[_place(tree)] if isinstance(tree, np.ndarray) else tree


def lived(policy: "Policy", size: int, module: str | None = None) -> Callable[..., Any]:
    """The function (data (X, R), rng, n, ends) -> (arms (n, ends[-1]), sums (n, len(ends), size))
    of n lives: what everybody played, and what was released after the rounds `ends`, which rise.

    size: of the numbers that `play_many` shows of a state; module: whose it is (None: the one
    of the policy's `init`).
    """
    home, p = module or policy.init.__module__, policy.params

    def several(data: Any, rng: Rng, n: int, ends: Sequence[int]) -> tuple[Ints, Array]:
        kernel = importlib.import_module(home).play_many  # now: a fault may stand in its place
        arms, sums = np.empty((n, ends[-1]), np.int64), np.empty((n, len(ends), size))
        s, memory = in_one(policy.init(p))
        kernel(p, s, rng, Lives(memory, data[0], data[1], arms, np.array(ends), sums))
        return arms, sums

    return several
