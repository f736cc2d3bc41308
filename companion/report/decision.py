"""Which policy should I use?  A decision whose every leaf is a measured row of the arena."""

import html
from typing import NamedTuple

from companion.report import markup
from companion.report.policies import MODELS
from companion.report.tables import Shown
from companion.stats import Interval

ORDER = tuple(MODELS)  # the stronger guarantee first: each implies the next
TRUSTED = {
    "local": "Users trust nobody",
    "shuffle": "Users trust a shuffler",
    "joint": "Users trust the server",
}


class Leaf(NamedTuple):
    """What was measured best for users with this trust, in one setting."""

    trust: str
    world: str
    T: int
    epsilon: float
    factory: str
    close: tuple  # those that it is not surely better than
    share: Interval  # of random play's regret
    call: object  # `arena.Call`
    learns: bool  # the regret is surely less than random play's


def allowed(setting, trust):
    """Names of the players whose guarantee is enough: local implies shuffle implies joint."""
    order = list(MODELS)
    enough = order[: order.index(trust) + 1]
    return [n for m in enough for n in setting.of(m)]


def leaves(settings):
    """The `Leaf` of every kind of trust in every setting where a policy with it plays."""
    found = []
    for trust in TRUSTED:
        for s in settings:
            if names := allowed(s, trust):
                first, close = s.leader(names)
                share, run = s.share(first), s.runs[first]
                found.append(Leaf(trust, s.world, s.T, s.epsilon, first, tuple(close), share,
                                  run.call, share.high < 1.0))  # fmt: skip
    return found


def find(found, trust, world, T, epsilon):
    """The leaf for these constraints.  Raises ValueError if nothing was measured there."""
    wanted = trust, world, T, epsilon
    for leaf in found:
        if leaf[:4] == wanted:
            return leaf
    raise ValueError(f"constraints must be those of a setting that was played; got {wanted}")


def shown(found):
    """The decision as a page: trust, then world, then rounds and budget, then the call."""
    parts, lines = [], []
    for trust, title in TRUSTED.items():
        mine = [leaf for leaf in found if leaf.trust == trust]
        inner = ""
        for world in dict.fromkeys(leaf.world for leaf in mine):
            rows = [_row(leaf) for leaf in mine if leaf.world == world]
            head = ["Rounds, budget", "Policy", "Regret / random play", "To copy"]
            table = markup.table(html.escape(f"{title}; {world}"), head, rows, "numbers decision")
            inner += markup.folded(html.escape(world), table)
        parts.append(f"<h3>{html.escape(title)}</h3>{inner}")
        lines += [f"{leaf.trust}, {leaf.world}, T = {leaf.T}: {leaf.call}" for leaf in mine]
    return Shown("".join(parts), "\n".join(lines))


def _row(leaf):
    said = f"<code>{leaf.factory}</code>"
    if not leaf.learns:
        said = f"none is surely better than random play (least: {said})"
    elif leaf.close:
        said += f", undecided with {', '.join(f'<code>{n}</code>' for n in leaf.close)}"
    share = f"{leaf.share.value:.0%} [{leaf.share.low:.0%}, {leaf.share.high:.0%}]"
    call = f"<code>{html.escape(str(leaf.call))}</code>" if leaf.learns else ""
    return [f"T = {leaf.T:,}, ε = {leaf.epsilon:g}", said, share, call]
