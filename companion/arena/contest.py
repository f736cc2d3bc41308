"""Policies of the arena against each other: tuned by one rule, played on the same streams.

The rule: each policy's one number is the multiple of its default that has the least mean regret
over tuning repetitions, on seeds that nothing else uses, in the same world at the same budget, over
a fifth of the rounds (`tuning_rounds`).  Policies without privacy do not depend on the budget: they
are played once and stand at every one.  Leaders are chosen and judged by `inference`.
"""

import itertools
from typing import Any, NamedTuple

import numpy as np

from companion import policies
from companion.arena import inference, recipes
from companion.report.tuning import tune
from companion.simulate import repetitions, simulate
from companion.stats import exponent, ratio

MODELS = ("local", "shuffle", "joint", "none")  # from the least trust to the most
LONG = 1_000_000  # rounds that a policy must be fast enough for, whatever is played
NO_REGRET = 1e-9  # what rounding leaves of a regret of zero
REPAIRS = ("corrected_ridge", "residual_fliphat")  # policies of this book, not of a paper


class Run(NamedTuple):
    """What one policy did in one setting: regrets are paired with those of all others there."""

    call: Any  # `recipes.Call` after tuning
    title: str  # name of the policy
    guarantee: Any
    multiple: float  # of its one number
    edge: bool  # the multiple is the least or the largest on offer, and there were several
    default: np.ndarray  # (n_reps,) final regret with default arguments
    tuned: np.ndarray  # (n_reps,)
    default_call: object = None  # `recipes.Call` before tuning

    @property
    def model(self) -> str:
        """Trust model, one of MODELS."""
        return self.guarantee.model


class Setting(NamedTuple):
    """A world, horizon and budget, and who played there."""

    world: str
    T: int
    epsilon: float
    runs: dict  # factory name -> Run
    refusals: dict  # factory name -> reason
    K: int = 2  # arms
    place: Any = None  # `environments.World`

    @property
    def random(self) -> np.ndarray:
        """Final regret of random play, (n_reps,)."""
        return self.runs["random"].tuned

    def share(self, name: str):
        """Regret as a share of random play's, with its 95 % interval (paired): of a policy that was
        not chosen for it."""
        return ratio(self.runs[name].tuned, self.random)

    def judged(self, name: str):
        """The same of a leader, in the repetitions that did not choose it."""
        return inference.judged(self.runs[name].tuned, self.random)

    @property
    def untuned(self):
        """The same setting with default constants in place of tuned ones."""
        runs = {n: r._replace(call=r.default_call, tuned=r.default) for n, r in self.runs.items()}
        return self._replace(runs=runs)

    def of(self, model: str):
        """Names of the players of a trust model, random play apart."""
        return [n for n, r in self.runs.items() if r.model == model and n != "random"]

    def leader(self, names, looks: int = 1) -> tuple[str, list[str]]:
        """(leader, those it is not shown to beat) among names, see `inference.leader`."""
        return inference.leader({n: self.runs[n].tuned for n in names}, looks)

    @property
    def winners(self):
        """{model: (leader, those it is not shown to beat)} of every trust model that plays."""
        return {m: self.leader(names) for m in MODELS if (names := self.of(m))}

    @property
    def prices(self):
        """{(dearer, cheaper): interval}: the price of trust between the leaders of two models.

        Ratios of regrets, tuned and paired, in the repetitions that did not choose the leaders; the
        less trusting model first.  Left out where the cheaper one has no regret at all.
        """
        best = {m: self.runs[first].tuned for m, (first, _) in self.winners.items()}
        return {
            (a, b): inference.judged(best[a], best[b])
            for a, b in itertools.combinations(best, 2)
            if inference.judging(best[b]).max() > NO_REGRET
        }


def play(
    title: str, world, T: int, epsilons, n_reps: int, tune_reps: int, seed: int, models=MODELS
) -> dict[float, Setting]:
    """{epsilon: Setting}: every policy of the package that can, in one world, at every budget; of
    other trust models than `models` only random play and LinUCB."""
    plans = {e: recipes.lineup(world, T, e) for e in epsilons}
    groups, labels = {}, {}  # groups: by the stream that is played
    for e, (playing, _) in plans.items():
        for call in list(playing):
            model = call.policy().guarantee.model
            if model not in models and call.factory not in ("random", "linucb"):
                playing.remove(call)
                continue
            free = model == "none"
            label = labels[call.factory, e] = call.factory if free else f"{call.factory} | {e:g}"
            common = recipes.RECIPES[call.factory].only == recipes.COMMON
            groups.setdefault(common, {})[label] = recipes.tunable(call.factory, world, e)
    runs = {}
    for common, part in groups.items():
        env = world.common if common else world.env
        runs |= tuned_runs(env, part, T, n_reps, tune_reps, seed)
    settings = {}
    for e, (playing, why) in plans.items():
        own = {c.factory: runs[labels[c.factory, e]] for c in playing}
        settings[e] = Setting(title, T, e, own, why, world.K, world)
    return settings


def tuning_rounds(T: int) -> int:
    """Rounds over which numbers are chosen for a horizon of T: a fifth of it, or T up to 2,000."""
    return max(min(T, 2_000), T // 5)


def tuned_runs(env, groups, T: int, n_reps: int, tune_reps: int, seed: int):
    """{label: Run}: tuned by the rule of this module, then played on the same streams.

    groups: {label: `recipes.Group`}, with the multiple 1.0, the default, in every grid.
    """
    short = tuning_rounds(T)
    several = {
        label: [g.make(short, m).policy() for m in g.grid]
        for label, g in groups.items()
        if len(g.grid) > 1
    }
    tuned = tune(several, env, short, repetitions(seed, tune_reps, 1)) if several else {}
    best = {n: g.grid[tuned[n].index] if n in tuned else 1.0 for n, g in groups.items()}
    calls = {}  # by the names that the players have
    for n, m in best.items():
        calls[n] = groups[n].make(T, 1.0)
        if m != 1.0:
            calls[f"{n}, tuned"] = groups[n].make(T, m)
    players = [call.policy().renamed(name) for name, call in calls.items()]
    played = simulate(env, players, T, repetitions(seed, n_reps, 2), grid=[T])
    finals = dict(zip(calls, played.final.T, strict=True))
    runs = {}
    for n, m in best.items():
        policy, last = calls[n].policy(), n if m == 1.0 else f"{n}, tuned"
        edge = n in tuned and tuned[n].edge
        runs[n] = Run(calls[last], policy.name, policy.guarantee, m, edge, finals[n], finals[last],
                      calls[n])  # fmt: skip
    return runs


def again(world, setting: Setting, names, n_reps: int, seed: int):
    """{name: final regrets (n_reps,)} of tuned players of a setting on streams that nothing else
    uses: there all may be judged that was chosen in the setting.
    """
    T, seeds, found = setting.T, repetitions(seed, n_reps, 3), {}
    for name in names:
        policy = setting.runs[name].call.policy().renamed(name)
        played = simulate(recipes.stream(world, name), [policy], T, seeds, grid=[T])
        found[name] = played.final[:, 0]
    return found


def record(settings, own, model: str):
    """(settings that the policies `own` win, number lost, number played).

    Rivals are the published policies of the trust model: REPAIRS do not compete.  Won: shown, as
    `Setting.leader` has it, with the intervals widened for all settings.
    """
    won, lost, played = [], 0, [s for s in settings if set(own) & set(s.runs)]
    for s in played:
        names = [n for n in s.of(model) if n not in REPAIRS]
        rivals = set(names) - set(own)
        first, close = s.leader(names, looks=len(settings))
        if first in own and rivals and not set(close) & rivals:
            won.append(s)
        lost += first not in own and not set(close) & set(own)
    return won, lost, len(played)


def summary(settings):
    """A row for every policy of the package: where it plays, why not elsewhere, with its call
    before tuning in the first setting of the largest horizon that it plays."""
    rows = []
    for name in policies.TABLE:
        played = [s for s in settings if name in s.runs]
        longest = max(played, key=lambda s: s.T, default=None)
        recipe = recipes.RECIPES.get(name, recipes.Recipe())
        edges = sum(s.runs[name].edge for s in played)
        refused = sorted({s.refusals[name] for s in settings if name in s.refusals})
        rows.append({
            "policy": name, "worlds": len({s.world for s in played}),
            "call": str(longest.runs[name].default_call) if longest else "",
            "tuned": recipe.tuned or "nothing", "at an end": f"{edges} of {len(played)}",
            "set by hand": recipe.hand, "elsewhere": "; ".join(refused),
        })  # fmt: skip
    return rows


def long_game(world, T: int, epsilon: float, n_reps: int, seed: int):
    """Regret in T >= 100 rounds of a world, four times per decade of the last three, of every
    policy whose recipe lets it play `LONG` rounds: default constants, streams of its own."""
    calls = [c for c in recipes.lineup(world, T, epsilon)[0]
             if not recipes.refused(c.factory, world, LONG)]  # fmt: skip
    grid = np.unique(np.geomspace(max(T / 1000, 10), T, 13).round().astype(int))
    players = [c.policy() for c in calls]
    return simulate(world.env, players, T, repetitions(seed, n_reps, 4), grid=grid)


def slopes(games):
    """A row for every policy and world: regret, its share of random play's, the exponent over the
    last decade of rounds."""
    rows = []
    for title, game in games.items():
        late = game.rounds >= 0.099 * game.rounds[-1]
        random = game.of("Random")[:, -1].mean()
        for name in game.names:
            paid = game.of(name)
            end, slope = paid[:, -1].mean(), exponent(game.rounds[late], paid[:, late])
            rows.append({"world": title, "policy": name, "regret": end,
                         "of random play's": end / random, "slope": slope})  # fmt: skip
    return rows
