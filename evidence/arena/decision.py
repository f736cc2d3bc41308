"""Which policy should I use?  One rule, for settings that were played and for any other
(`choose`).

Candidates are the private policies whose guarantee is enough: local implies shuffle
implies joint. All of them have constants that follow from public bounds: nothing is tuned
on simulated regret, for a user has none.  Half of the repetitions choose, the other half
judge (`contest`).
"""

import json
import re
import sys
from typing import Any, NamedTuple

import numpy as np

from companion import policies
from companion.contract import one_context
from companion.core import Universe
from companion.stats import Interval
from companion.validate import need_choice, need_float, need_int
from evidence.arena import contest, recipes
from evidence.arena.contest import MODELS
from evidence.arena.environments import KINDS
from evidence.claims import markup
from evidence.claims.tables import Shown, numbers

TRUSTED = {"local": "nobody", "shuffle": "a shuffler", "joint": "the server"}  # by users
NOTHING = "Nothing is shown to be better than random play"
NOBODY = "No private policy with this guarantee can play here."
MEANS = {  # arguments that a reader of a printed program may not know
    "universe": "which contexts X are allowed: ball, or offset_sphere (as made below)",
    "delta": "about the chance that epsilon fails; here 1 over the number of users",
    "noise": "how far rewards spread (sub-Gaussian): 0.5 is enough for rewards in [0, 1]",
    "theta_bound": "bound on the parameter's norm; epsilon holds whatever it is",
    "ball": "bound on the parameter's norm; epsilon holds whatever it is",
    "l1_radius": "bound on the parameter's 1-norm; epsilon holds whatever it is",
    "sparsity": "how many coordinates of the unknown parameter are not 0, at most",
    "width": "of confidence intervals: 1 is the theory's, a smaller one explores less",
    "batch": "users whose messages are mixed into one release, about the root of T",
}


class Answer(NamedTuple):
    """What was measured best for users with this trust, in one setting."""

    factory: str
    model: str  # whom its users trust, a key of TRUSTED
    close: tuple  # those that it is not shown to be better than
    share: Interval  # of random play's regret, in the repetitions that did not choose
    call: Any  # `recipes.Call`
    world: Any  # `environments.World`
    rivals: int  # other candidates
    loss: float  # mean regret of a round, in the same repetitions
    price: str = ""  # a sentence on the best policy without privacy, if one has played

    @property
    def learns(self) -> bool:
        """Whether the regret is shown to be less than random play's."""
        return self.share.high < 1.0

    @property
    def words(self) -> str:
        """The answer in a sentence or two."""
        value, low, high = (f"{100 * v:.3g}%" for v in self.share)
        share = (
            f"{value} of random play's regret (95 % interval {low} to {high}), which is "
            f"{self.loss:.2g} a round where rewards lie in [0, 1]"
        )
        if not self.learns:
            return (
                f"{NOTHING}. The best candidate, {self.factory}, has {share}. Play at "
                "random, which reads no data: any ε holds. Or find more users, a larger "
                "ε or more trust."
            )
        others = "All other private policies for such users are shown to be worse."
        if self.close or not self.rivals:
            close = ", ".join(self.close) or "no other policy plays here"
            others = f"Not shown to be worse: {close}."
        whom = TRUSTED[self.model]
        if self.model == "shuffle":
            whom = f"{whom}, or a server that does its work"
        return (
            f"Use {self.factory}. In the simulated world it has {share}.{self.price} In "
            "your world its regret may be several times as large. Users need to trust "
            f"{whom}. {others}"
        )

    @property
    def code(self) -> str:
        """A program that plays on contexts of one's own: the policy, or random play if
        nothing is shown to be better."""
        call = self.call if self.learns else recipes.Call("random", {})
        return snippet(call, self.world)

    def __str__(self):
        return f"{self.words}\n\n{self.code}"

    def _repr_html_(self):
        return markup.site.program(self.words, self.code, self.learns)


def snippet(call, world) -> str:
    """A program around the call that maps numbers in [-1, 1] into the contexts that it
    takes."""
    policy = call.policy()
    text = str(call)
    report = "live.report()"
    said = f"print(policy.guarantee)  # {policy.guarantee}"
    if call.factory == "random":
        report = "live.report().arms"
        said = 'print("Random play reads no data: any epsilon holds.")'
    # how a reader's numbers z become contexts X
    K = world.K
    records = policy.universe or Universe(np.inf)
    radius = records.radius
    width = world.p or world.d
    form = "rows"
    kind = "cube" if records.norm == np.inf else "ball"
    X = "{}"
    if world.universe == "offset_sphere":
        radius = 0.5**0.5
        width -= 1
        kind = "offset_sphere"
        X = f"np.column_stack([{{}}, np.full({K}, 0.5**0.5)])"
    elif world.common and one_context(policy):
        form = "shared"
        X = f"np.tile({{}}, ({K}, 1))"
    elif world.common:
        form = "blocks"
        X = f"np.kron(np.eye({K}), {{}})"
    size = width if world.common else f"({K}, {width})"
    z = _scaled(radius * width ** (-1.0 / records.norm))
    short = _scaled(radius)
    note = f"    # or {short}, if their norm is never above 1\n" if z != short else ""
    whose = "that all arms share" if world.common else "of every arm"
    base = ", one of them always 1 (base rate)" if world.link == "logistic" else ""
    rounds = call.arguments.get("T", "T")
    means = "".join(f"# {n}: {MEANS[n]}\n" for n in call.arguments if n in MEANS)
    used = sorted({n for n in re.findall(r"\b(\w+)\(", text) if n in policies.TABLE})
    return f"""{"import math" if "math." in text else ""}
import numpy as np
from companion.policies import {", ".join(used)}

{means}policy = {text}
{said}
live = policy.start()  # research only: no real people's data
rng = np.random.default_rng()
for _ in range(3):  # yours: range({rounds}), a round for every user
    z = rng.uniform(-1, 1, {size})  # yours: numbers {whose}, in [-1, 1]{base}
{note}    X = {X.format(z)}
    # or, for a data frame: for X in table.contexts(frame), see companion.tabular,
    # with table = contexts_of(..., form="{form}", universe="{kind}"), table.d as above
    arm = live.select(X)
    live.update(arm, 1.0)  # yours: what the arm paid, in [0, 1]
print({report})
""".lstrip()


def _scaled(most: float) -> str:
    """z times a factor of at most `most`, also when it is written with six digits."""
    return f"{0.999999 * most:.6g} * z" if most < 1.0 else "z"


def allowed(setting, trust: str):
    """Names of the players whose guarantee is enough: local implies shuffle implies
    joint."""
    return setting.of(*MODELS[: MODELS.index(trust) + 1])


def answer(setting, trust: str) -> Answer | None:
    """The `Answer` for users with this trust in a `contest.Setting`; None if no policy
    may play."""
    if not (names := allowed(setting, trust)):
        return None
    setting = setting.untuned
    first, close = setting.leader(names)
    run = setting.runs[first]
    price = ""
    if free := setting.of("none"):
        best, _ = setting.leader(free)
        times = contest.judged(run.tuned, setting.runs[best].tuned)
        price = (
            f" That is {times.value:.3g} times ({times.low:.3g} to {times.high:.3g}) the "
            f"regret of {best}, the best policy without privacy."
        )
    return Answer(
        factory=first,
        model=run.guarantee.model,
        close=tuple(close),
        share=setting.judged(first),
        call=run.call,
        world=setting.place,
        rivals=len(names) - 1,
        loss=contest.judging(run.tuned).mean() / setting.T,
        price=price,
    )


def choose(
    trust: str,
    d: int,
    K: int,
    T: int,
    epsilon: float,
    world="dense",
    *,
    n_reps=20,
    seed=0,
) -> Answer:
    """Which private policy to use: the candidates play a world of this size.

    trust: whom users trust, "local" (nobody), "shuffle" (a shuffler) or "joint" (the
    server, so that any private policy will do); contexts in R^d, of which the last
    coordinate is constant in the "dense" world; K >= 2 arms; T >= 100 rounds, delta =
    1/T; epsilon in [0.01, 100]; world: a key of `environments.KINDS`, "dense" (d >= 2),
    "sparse" (d >= 5), "clicks" or "one context" (d >= 2); n_reps >= 4 repetitions, of
    which half choose and half judge.  Constants follow from public bounds, none is tuned.
    Raises ValueError on anything else, and where no policy can play.  The first call
    compiles and takes a minute.

    >>> print(choose("joint", 2, 3, 400, 8.0, n_reps=4).rivals > 3)
    True
    """
    need_choice("trust", trust, tuple(TRUSTED))
    make = KINDS[need_choice("world", world, tuple(KINDS))]
    place = make(need_int("d", d, 2), need_int("K", K, 2))
    T = need_int("T", T, 100)
    epsilon = need_float("epsilon", epsilon, 0.01, 100.0)
    n_reps = need_int("n_reps", n_reps, 4)
    print("Policies play; the first call compiles.", file=sys.stderr, flush=True)
    models = (*MODELS[: 1 + MODELS.index(trust)], "none")
    setting = contest.play(world, place, T, [epsilon], n_reps, 0, seed, models)[epsilon]
    one = answer(setting, trust)
    if one is None:
        reasons = "; ".join(f"{name} {why}" for name, why in setting.refusals.items())
        raise ValueError(f"no policy can play {T=} rounds of world={world!r}: {reasons}")
    return one


def explorer(settings, first, words) -> Shown:
    """The answers for all settings and every kind of trust, each behind a line with the
    regrets of all policies that may be used; with scripts, menus choose one
    (`book/_static/explorer.js`).

    first: the setting that the menus show first; words: {world: what it is like}.  All
    shares are of default constants, in the repetitions that judge: one number for a
    policy.
    """
    parts = []
    for setting in settings:
        for trust, whom in TRUSTED.items():
            choice = {
                "World": setting.world,
                "Users trust": whom,
                "Budget ε": f"{setting.epsilon:g}",
                "Rounds T": f"{setting.T:,}",
            }
            line = "; ".join(f"{k}: {v}" for k, v in choice.items())
            told = f"<p>{words[setting.world]}</p>{_choice(setting, trust)}"
            opened = setting is first and trust == "joint"
            shown = markup.folded(line, told)
            parts.append((json.dumps(choice, ensure_ascii=False), shown, opened))
    return Shown(markup.site.explorer(parts), f"{len(parts)} answers")


def _choice(setting, trust) -> str:
    """An answer, and the regrets of all policies that may be used there, as HTML."""
    one = answer(setting, trust)
    untuned = setting.untuned
    rows = []
    for name in [*allowed(setting, trust), *setting.of("none"), "random"]:
        rows.append((name, untuned.runs[name].guarantee.model, untuned.judged(name)))
    rows.sort(key=lambda row: row[2].value)
    head = "Policy | Trust model | Regret / random play"
    table = numbers(rows, head, formats={"Regret / random play": ".2%"})
    said = one._repr_html_() if one else f"<p>{NOBODY}</p>"
    return f"{said}{table._repr_html_()}"
