"""One number per policy, chosen on repetitions that no figure uses."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from companion._types import SeedSequence
from companion.simulate import simulate


class Tuned(NamedTuple):
    """The choice within one group of policies that differ in one number, in increasing order."""

    policy: Any  # with the least mean regret
    index: int  # type: ignore[assignment]  # its place in the group
    spread: float  # worst mean regret over the least: near 1 the choice is noise
    edge: bool  # the least regret is at an end of the group: it might go on


def tune(groups: Any, env: Any, T: int, seeds: Sequence[SeedSequence]) -> dict[str, Tuned]:
    """{label: Tuned}; groups: {label: policies}, all of which play the same streams."""
    flat = [p.renamed(f"{label} #{i}") for label, ps in groups.items() for i, p in enumerate(ps)]
    mean = simulate(env, flat, T, seeds).final.mean(axis=0)
    chosen, start = {}, 0
    for label, policies in groups.items():
        part = mean[start : start + len(policies)]
        start, best = start + len(policies), int(part.argmin())
        edge = best in (0, len(policies) - 1)
        spread = float(part.max() / part.min()) if part.min() > 0 else float("inf")
        chosen[label] = Tuned(policies[best], best, spread, edge)
    return chosen
