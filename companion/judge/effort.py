"""How many runs the attacks take: fixed numbers, so that a report is the same on every machine.

A run of plain Python costs about as much as fifty compiled ones, so there are fewer.
"""

from typing import NamedTuple


class Effort(NamedTuple):
    """Runs of each of the two inputs."""

    search: int  # fit the statistic of every pair that is tried, and as many choose the pair
    pilot: int  # fit the statistic of the pair that is chosen
    trials: int  # are counted, half of them to choose the event


PLAIN = {True: Effort(10, 80, 300), False: Effort(30, 250, 1_500)}  # quick: effort
COMPILED = {True: Effort(30, 150, 1_000), False: Effort(100, 400, 10_000)}
DRAWN = 10  # times as many trials where a kernel draws many outputs at once


def effort(policy, quick: bool, trials: int | None = None) -> Effort:
    """The `Effort` for a policy; trials >= 4: counted instead of the default, and no pilot has more
    runs."""
    scale = (COMPILED if hasattr(policy.loop, "py_func") else PLAIN)[quick]
    if trials is None:
        return scale
    return Effort(min(scale.search, trials), min(scale.pilot, trials), trials)
