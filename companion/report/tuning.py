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
    """{label: Tuned}; groups: {label: policies}, all of which play the same streams.

    In every group the best of the first repetition plays them all.  Regret only grows, so a policy
    that has more before its last repetition cannot be chosen and stops there.
    """
    flat = {(g, i): p.renamed(f"{g} #{i}") for g, ps in groups.items() for i, p in enumerate(ps)}
    paid = {key: [] for key in flat}

    def play(keys, seeds):
        policies = [flat[key] for key in keys]
        final = simulate(env, policies, T, seeds, grid=[T]).final if keys and seeds else []
        for regrets in final:
            for key, regret in zip(keys, regrets, strict=True):
                paid[key].append(regret)

    play(list(flat), seeds[:1])
    leader = {g: min(range(len(ps)), key=lambda i: paid[g, i]) for g, ps in groups.items()}
    play(list(leader.items()), seeds[1:])
    enough = {g: sum(paid[g, i]) for g, i in leader.items()}
    for played, seed in enumerate(seeds[1:], 1):
        left = [
            key for key in flat if len(paid[key]) == played and sum(paid[key]) <= enough[key[0]]
        ]
        play(left, [seed])
    return {g: _chosen(ps, [paid[g, i] for i in range(len(ps))]) for g, ps in groups.items()}


def _chosen(policies, paid):
    """The `Tuned` of policies with the regrets that each paid, in as many repetitions as it played;
    those that stopped early are compared over theirs."""
    whole = max(map(len, paid))
    totals = [sum(regrets) if len(regrets) == whole else np.inf for regrets in paid]
    best = int(np.argmin(totals))
    least = [sum(paid[best][: len(regrets)]) for regrets in paid]
    each = [sum(r) / m if m > 0 else np.inf for r, m in zip(paid, least, strict=True)]
    edge = best in (0, len(policies) - 1)
    return Tuned(policies[best], best, float(max(each)), edge)
