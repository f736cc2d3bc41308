"""Ours beside a reference, timed in turn in one process: what a row of a table says.

All times are CPU seconds of one thread.  A limit is a ratio of two times that were taken in turn,
for a slow machine slows both down.  It is missed if the median of the ratios misses it, and the
ratio of the least times, too: what else runs changes one or the other.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from companion.timing.floors import alternated

SIDE, TURNS = (
    0.3,
    7,
)  # seconds that either side may take in its turns, of which there are 3 at least


class Twin(NamedTuple):
    """An algorithm in NumPy."""

    play: Callable[..., Any]  # (params, X, R, rng) -> arms; of an optimiser (params, X, y, rng)
    rounds: int = 400  # that it plays here
    make = None  # of d, K, T; None: that of the roster


class Row(NamedTuple):
    """Ours beside a reference."""

    what: str
    times: Any  # (n, 2) seconds of a run of ours and of the reference, turn by turn
    least: float = 0.0  # limit: how many times faster ours is at least; 0: none

    def quartiles(self):
        """Quartile, median, quartile of how many times faster ours is."""
        return np.quantile(self.times[:, 1] / self.times[:, 0], (0.25, 0.5, 0.75))

    def missed(self) -> str:
        """The limit, in words, if it is missed by the median and by the least times."""
        ours, other = self.times.min(axis=0)
        faster = max(other / ours, self.quartiles()[1])
        if faster >= self.least:
            return ""
        return f"{self.what}: {faster:.3g} times faster, not {self.least:g}"


def beside(
    what: str,
    ours,
    reference,
    least: float = 0.0,
    part: float = 1.0,
) -> Row:
    """A `Row` of ours beside a reference that does so large a part of the work."""
    return Row(what, alternated(ours, reference, TURNS, SIDE) / (1.0, part), least)
