"""One number per policy, chosen on repetitions that no figure uses."""

from typing import Any, NamedTuple

import numpy as np

from companion.simulate import simulate


class Tuned(NamedTuple):
    """The choice within one group of policies that differ in one number, in increasing
    order."""

    policy: Any  # with the least mean regret
    index: int  # its place in the group
    spread: float  # worst mean regret over the chosen one's: near 1 the choice is noise
    edge: bool  # the least regret is at an end of the group: it might go on


def tune(groups, env, T: int, seeds) -> dict[str, Tuned]:
    """{label: Tuned}; groups: {label: policies}, all of which play the same streams."""
    found = {}
    for label, policies in groups.items():
        named = [p.renamed(f"{label} #{i}") for i, p in enumerate(policies)]
        paid = simulate(env, named, T, seeds, grid=[T]).final.mean(axis=0)
        best = int(paid.argmin())
        spread = float(paid.max() / paid[best]) if paid[best] > 0 else np.inf
        found[label] = Tuned(
            policy=policies[best],
            index=best,
            spread=spread,
            edge=best in (0, len(policies) - 1),
        )
    return found
