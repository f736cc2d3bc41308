"""Which policy should I use?  One rule, for settings that were played and for any other (`choose`).

Candidates are the private policies whose guarantee is enough: local implies shuffle implies joint.
All of them have constants that follow from public bounds: nothing is tuned on simulated regret, for
a user has none.  Half of the repetitions choose, the other half judge (`inference`).
"""

import html
import json
import re
import sys
from typing import Any, NamedTuple

from companion import policies
from companion.arena import recipes
from companion.arena.contest import MODELS, Run, Setting
from companion.arena.environments import world_of
from companion.report import markup
from companion.report.tables import Shown, numbers
from companion.simulate import repetitions, simulate
from companion.stats import Interval
from companion.validate import need_choice, need_float, need_int

TRUSTED = {"local": "nobody", "shuffle": "a shuffler", "joint": "the server"}  # by users
NOTHING = "No policy is shown to be better than random play here"
NOBODY = "No private policy with this guarantee can play here."


class Answer(NamedTuple):
    """What was measured best for users with this trust, in one setting."""

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
        others = f"Not shown to be worse: {', '.join(self.close)}."
        if not self.close:
            others = "All others are shown to be worse."
        if not self.rivals:
            others = "No other policy with this guarantee plays here."
        return f"{self.factory}: {share}. {others}"

    @property
    def code(self) -> str:
        """The call with its imports and a round to fill in; empty if nothing learns."""
        return snippet(self.call, self.K) if self.learns else ""

    def __str__(self):
        return "\n\n".join(part for part in (self.words, self.code) if part)

    def _repr_html_(self):
        code = f"<pre><code>{html.escape(self.code)}</code></pre>" if self.code else ""
        return f'<div class="decision"><p>{html.escape(self.words)}</p>{code}</div>'


def snippet(call, K: int) -> str:
    """A program around the call: what a reader starts from."""
    d, text = call.policy().params.d, str(call)
    used = sorted({n for n in re.findall(r"\b(\w+)\(", text) if n in policies.TABLE})
    return f"""{"import math" if "math." in text else ""}
import numpy as np
from companion.policies import {", ".join(used)}

policy = {text}
print(policy.guarantee)
live = policy.start()
for _ in range(3):  # yours: one round for every user
    X = np.full(({K}, {d}), 0.1)  # yours: the contexts of the arms
    arm = live.select(X)
    live.update(arm, 1.0)  # yours: what the arm paid
""".lstrip()


def allowed(setting, trust: str):
    """Names of the players whose guarantee is enough: local implies shuffle implies joint."""
    enough = MODELS[: MODELS.index(trust) + 1]
    return [n for m in enough for n in setting.of(m)]


def answer(setting, trust: str) -> Answer | None:
    """The `Answer` for users with this trust in a `contest.Setting`; None if no policy may play."""
    if not (names := allowed(setting, trust)):
        return None
    first, close = setting.leader(names, variant="default")
    share, call = setting.judged(first, "default"), setting.runs[first].default_call
    return Answer(first, tuple(close), share, call, setting.K, len(names) - 1)


def choose(
    trust: str, d: int, K: int, T: int, epsilon: float, world="dense", *, n_reps=20, seed=0
) -> Answer:
    """Which private policy to use: the candidates play a world of this size.

    trust: whom users trust, "local" (nobody), "shuffle" (a shuffler) or "joint" (the server, so
    that any private policy will do); contexts in R^d; K >= 2 arms; T >= 100 rounds, delta = 1/T;
    epsilon in [0.01, 100]; world: a key of `environments.KINDS`, "dense" (d >= 2), "sparse"
    (d >= 5), "clicks" or "one context" (d >= 2); n_reps >= 4 repetitions, of which half choose and
    half judge.  Constants follow from public bounds, none is tuned.  Raises ValueError on anything
    else, and where no policy can play.  Takes seconds once kernels are compiled; a terminal shows
    who plays.

    >>> print(choose("joint", 2, 3, 400, 8.0, n_reps=4).rivals > 3)
    True
    """
    enough = MODELS[: 1 + MODELS.index(need_choice("trust", trust, tuple(TRUSTED)))]
    T, n_reps = need_int("T", T, 100), need_int("n_reps", n_reps, 4)
    epsilon, place = need_float("epsilon", epsilon, 0.01, 100.0), world_of(world, d, K)
    calls, why = recipes.lineup(place, T, epsilon)
    runs = {}
    for call in calls:
        policy = call.policy()
        if call.factory != "random" and policy.guarantee.model not in enough:
            continue
        if sys.stderr.isatty():
            print(call.factory, "plays", file=sys.stderr)
        mine, env = [policy.renamed(call.factory)], recipes.stream(place, call.factory)
        final = simulate(env, mine, T, repetitions(seed, n_reps, 2), grid=[T]).final[:, 0]
        runs[call.factory] = Run(
            call, policy.name, policy.guarantee, 1.0, False, final, final, call
        )
    found = answer(Setting(world, T, epsilon, runs, why, place.K), trust)
    if found is None:
        reasons = "; ".join(f"{name} {reason}" for name, reason in why.items())
        raise ValueError(f"no policy can play {T=} rounds of world={world!r}: {reasons}")
    return found


def explorer(settings) -> Shown:
    """The answers for all settings and every kind of trust, each behind a line with the regrets of
    all policies that may be used; with scripts, menus choose one (`book/_static/explorer.js`)."""
    parts = []
    for s in settings:
        for trust, whom in TRUSTED.items():
            choice = {"World": s.world, "Users trust": whom, "Budget ε": f"{s.epsilon:g}",
                      "Rounds T": f"{s.T:,}"}  # fmt: skip
            one = answer(s, trust)
            said = one._repr_html_() if one else f"<p>{NOBODY}</p>"
            names = [*allowed(s, trust), *s.of("none"), "random"]
            rows = [
                (n, s.runs[n].model, s.share(n, "default"), s.share(n).value)
                for n in sorted(names, key=lambda n: s.runs[n].default.mean())
            ]
            head = "Policy | Trust model | Regret / random play | Tuned here"
            shares = {"Regret / random play": ".0%", "Tuned here": ".0%"}
            table = numbers(rows, head, formats=shares)._repr_html_()
            line = html.escape("; ".join(f"{k}: {v}" for k, v in choice.items()))
            part = markup.folded(line, said + table)
            data = html.escape(json.dumps(choice, ensure_ascii=False))
            parts.append(f'<div data-choice="{data}">{part}</div>')
    page = f'<div class="explorer"><form aria-label="Choose a policy"></form>{"".join(parts)}</div>'
    return Shown(page, f"{len(parts)} answers")
