"""How the time of a round grows with T, K and d, beside what the Cost line says.

One size grows over two decades (d to 64), the others stay at `BASE`.  A run has T rounds.  A ladder
ends early after a run that took `LONG` seconds.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from companion.core import Optimiser, one_context
from companion.timing import cost_line
from companion.timing.floors import run_of, spent, stream
from companion.timing.roster import ROSTER, Entry

BASE = {"T": 1_000, "K": 10, "d": 5}
LARGEST = {"T": 100_000, "K": 400, "d": 64}
SMALLEST = {"T": 1_000, "K": 4, "d": 2}
STEPS = 6  # sizes of each
LONG = 0.2  # seconds
AGREES = 2.0  # the largest factor between what was measured and the line


class Growth(NamedTuple):
    """Times of an algorithm as sizes grow, beside its line."""

    name: str
    sizes: list[dict[str, int]]  # T, K and d of every run
    times: Any  # (n,) CPU seconds of a round
    exponents: dict[str, tuple[float, float, float]]  # size: (measured, of the line, highest in it)
    worst: float  # the largest factor between what was measured and the line


def ladder(name: str, largest: Mapping[str, int]) -> list[int]:
    """Sizes of T, K or d from the smallest to the largest, about evenly apart in logarithms."""
    low, high = SMALLEST[name], max(largest[name], 2 * SMALLEST[name])
    return sorted({round(x) for x in np.geomspace(low, high, STEPS)})


def seconds(entry: Entry, sizes: Mapping[str, int], times: int = 2, seed: int = 1) -> float:
    """CPU seconds of a run at these sizes, the least of some, for what else runs only adds; of a
    single one if it is long."""
    T, K, d = sizes["T"], sizes["K"], sizes["d"]
    algorithm = entry.make(d, K, T)
    X, R = stream(T, K, d, one_context(algorithm), seed)
    run = run_of(algorithm, X, R)
    least = spent(run)
    for _ in range(times if least < 0.5 * LONG else 0):
        least = min(least, spent(run))
    return least


def swept(algorithm: Any, largest: Mapping[str, int]) -> list[tuple[str, dict[str, int]]]:
    """[(size that grows, all sizes)]; an optimiser has no arms."""
    names = ("T", "d") if isinstance(algorithm, Optimiser) else ("T", "K", "d")
    base = BASE | ({"K": 1} if len(names) == 2 else {})
    return [(n, base | {n: size}) for n in names for size in ladder(n, largest)]


def grown(name: str, largest: Mapping[str, int] = LARGEST, seed: int = 1) -> Growth:
    """`Growth` of an algorithm of the roster up to the largest T, K and d; seed: of the streams.

    Raises ValueError for those whose line has no terms (`cost_line.UNREAD`).
    """
    if name in cost_line.UNREAD:
        raise ValueError(f"{name!r} has a Cost line without terms: {cost_line.UNREAD[name]}")
    entry = ROSTER[name]
    largest = {**largest, "d": min(largest["d"], entry.d_max)}
    algorithm = entry.make(BASE["d"], BASE["K"], BASE["T"])
    return compared(name, cost_line.of(name), *measured(entry, algorithm, largest, seed))


def measured(
    entry: Entry, algorithm: Any, largest: Mapping[str, int], seed: int
) -> tuple[Any, ...]:
    """(names, sizes, times): which size grew, all sizes, CPU seconds of a round."""
    seconds(entry, BASE | {"T": 400}, 0)  # compiled now
    names, sizes, times, ended = [], [], [], ""
    for name, at in swept(algorithm, largest):
        if name != ended:
            took = seconds(entry, at, seed=seed)
            ended = name if took > LONG else ""
            names, sizes, times = [*names, name], [*sizes, at], [*times, took / at["T"]]
    return names, sizes, np.array(times)


def compared(name: str, line: cost_line.Line, names: Any, sizes: Any, times: Any) -> Growth:
    """`Growth` from measured times and a line."""
    fit, exponents = cost_line.fitted(line, sizes, times), {}
    for which in dict.fromkeys(names):
        at = [i for i, n in enumerate(names) if n == which]
        x = [sizes[i][which] for i in at]
        both = cost_line.slope(x, times[at]), cost_line.slope(x, np.maximum(fit.times[at], 1e-300))
        exponents[which] = (*both, cost_line.highest(line, which))
    return Growth(name, sizes, times, exponents, fit.worst)
