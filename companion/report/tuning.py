"""One number per policy, chosen on repetitions that no figure uses."""

from typing import Any, NamedTuple

import numpy as np

from companion.simulate import simulate


class Tuned(NamedTuple):
    """The choice within one group of policies that differ in one number, in increasing order."""

    policy: Any  # with the least mean regret
    index: int  # its place in the group
    spread: float  # worst mean regret over the chosen one's: near 1 the choice is noise
    edge: bool  # the least regret is at an end of the group: it might go on


def tune(groups, env, T: int, seeds) -> dict[str, Tuned]:
    """{label: Tuned}; groups: {label: policies}, all of which play the same streams."""
    flat = [p.renamed(f"{label} #{i}") for label, ps in groups.items() for i, p in enumerate(ps)]
    paid = simulate(env, flat, T, seeds, grid=[T]).final.mean(axis=0)
    found, start = {}, 0
    for label, policies in groups.items():
        mine = paid[start : (start := start + len(policies))]
        best = int(mine.argmin())
        edge = best in (0, len(policies) - 1)
        spread = float(mine.max() / mine[best]) if mine[best] > 0 else np.inf
        found[label] = Tuned(policies[best], best, spread, edge)
    return found
