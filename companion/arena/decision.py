"""Which policy should I use?  One rule, for settings that were played and for any other (`choose`).

Candidates are the private policies whose guarantee is enough: local implies shuffle implies joint.
All of them have constants that follow from public bounds: nothing is tuned on simulated regret, for
a user has none.  Half of the repetitions choose, the other half judge (`inference`).
"""

import html
import re
from typing import Any, NamedTuple

from companion import policies
from companion.arena.policies import MODELS
from companion.report import markup
from companion.report.tables import Shown
from companion.stats import Interval

TRUSTED = {"local": "nobody", "shuffle": "a shuffler", "joint": "the server"}  # by users
NOTHING = "No policy is shown to be better than random play here"


class Answer(NamedTuple):
    """What was measured best for users with this trust, in one setting."""

    trust: str
    world: str
    T: int
    epsilon: float
    factory: str
    close: tuple  # those that it is not shown to be better than
    share: Interval  # of random play's regret, in the repetitions that did not choose
    call: Any  # `recipes.Call`
    K: int  # arms
    rivals: int  # other candidates

    @property
    def learns(self) -> bool:
        """Whether the regret is shown to be less than random play's."""
        return self.share.high < 1.0

    @property
    def words(self) -> str:
        """The answer in a sentence or two."""
        share = f"{self.share:.0%} of random play's regret"
        if not self.learns:
            return (
                f"{NOTHING}. {self.factory} had the least regret in the first half of the "
                f"repetitions; in the second half it has {share}."
            )
        said = f"{self.factory}: {share}."
        if not self.rivals:
            return f"{said} No other policy with this guarantee plays here."
        others = ", ".join(self.close)
        return said + (
            f" Not shown to be worse: {others}." if others else " All others are shown to be worse."
        )

    @property
    def code(self) -> str:
        """The call with its imports and a round to fill in; empty if nothing learns."""
        return snippet(self.call, self.K) if self.learns else ""

    def __str__(self):
        return "\n\n".join(part for part in (self.words, self.code) if part)

    def _repr_html_(self):
        code = f"<pre><code>{html.escape(self.code)}</code></pre>" if self.code else ""
        return f'<div class="decision"><p>{html.escape(self.words)}</p>{code}</div>'


def imports(call) -> str:
    """The lines of import that a call needs."""
    text = str(call)
    used = sorted({n for n in re.findall(r"\b(\w+)\(", text) if n in policies.TABLE})
    line = f"from companion.policies import {', '.join(used)}"
    return "\n".join((["import math", ""] if "math." in text else []) + [line])


def runnable(call) -> str:
    """A call that runs as it is."""
    return f"{imports(call)}\n\npolicy = {call}"


def snippet(call, K: int) -> str:
    """A program around the call: what a reader starts from."""
    d = call.policy().params.d
    return f"""import numpy as np
{imports(call)}

policy = {call}
print(policy.guarantee)
live = policy.start()
for _ in range(3):  # yours: one round for every user
    X = np.full(({K}, {d}), 0.1)  # yours: the contexts of the arms
    arm = live.select(X)
    live.update(arm, 1.0)  # yours: what the arm paid
"""


def allowed(setting, trust: str):
    """Names of the players whose guarantee is enough: local implies shuffle implies joint."""
    order = list(MODELS)
    enough = order[: order.index(trust) + 1]
    return [n for m in enough for n in setting.of(m)]


def answer(setting, trust: str) -> Answer | None:
    """The `Answer` for users with this trust in a `contest.Setting`; None if no policy may play."""
    if not (names := allowed(setting, trust)):
        return None
    first, close = setting.leader(names, variant="default")
    share = setting.judged(first, "default")
    call, K = setting.runs[first].default_call, setting.K
    return Answer(trust, *setting[:3], first, tuple(close), share, call, K, len(names) - 1)


def answers(settings):
    """The `Answer` of every kind of trust in every setting where a policy with it plays."""
    found = [answer(s, trust) for trust in TRUSTED for s in settings]
    return [one for one in found if one is not None]


def find(found, trust: str, world, T: int, epsilon: float) -> Answer:
    """The answer for these constraints.  Raises ValueError if nothing was measured there."""
    wanted = trust, world, T, epsilon
    for one in found:
        if one[:4] == wanted:
            return one
    raise ValueError(f"constraints must be those of a setting that was played; got {wanted}")


def shown(found) -> Shown:
    """The answers as a page: trust, then world, then rounds and budget, then what to copy."""
    parts, lines = [], []
    for trust, whom in TRUSTED.items():
        title = f"Users trust {whom}"
        mine = [one for one in found if one.trust == trust]
        inner = ""
        for world in dict.fromkeys(one.world for one in mine):
            rows = [_row(one) for one in mine if one.world == world]
            head = ["Rounds, budget", "Policy", "Regret / random play", "To copy"]
            table = markup.table(html.escape(f"{title}; {world}"), head, rows, "numbers decision")
            inner += markup.folded(html.escape(world), table)
        parts.append(f"<h3>{html.escape(title)}</h3>{inner}")
        lines += [f"{one.trust}, {one.world}, T = {one.T}: {one.words}" for one in mine]
    return Shown("".join(parts), "\n".join(lines))


def _row(one):
    said = f"<code>{one.factory}</code>"
    if not one.learns:
        said = f"{NOTHING.lower()} (least: {said})"
    elif one.close:
        said += f"; not shown to be worse: {', '.join(f'<code>{n}</code>' for n in one.close)}"
    share = f"{one.share:.0%}"
    call = f"<pre><code>{html.escape(runnable(one.call))}</code></pre>" if one.learns else ""
    return [f"T = {one.T:,}, ε = {one.epsilon:g}", said, share, call]
