"""Policies of the arena against each other: tuned by one rule, played on the same streams.

The rule: each policy's one number is the multiple of its default that has the least mean regret
over tuning repetitions, on seeds that nothing else uses, in the same world at the same budget, over
a fifth of the rounds (`tuning_rounds`).  Policies without privacy do not depend on the budget: they
are played once and stand at every one.
"""

import itertools
from typing import NamedTuple

import numpy as np

from companion.report import arena, recipes
from companion.report.policies import MODELS
from companion.report.tuning import tune
from companion.simulate import repetitions, simulate
from companion.stats import difference, ratio


class Run(NamedTuple):
    """What one policy did in one setting: regrets are paired with those of all others there."""

    call: object  # `arena.Call` after tuning
    title: str  # name of the policy
    guarantee: object
    multiple: float  # of its one number
    edge: bool  # the multiple is the least or the largest on offer, and there were several
    default: np.ndarray  # (n_reps,) final regret with default arguments
    tuned: np.ndarray  # (n_reps,)

    @property
    def model(self):
        """Trust model: "local", "shuffle", "joint" or "none"."""
        return self.guarantee.model


class Setting(NamedTuple):
    """A world, horizon and budget, and who played there."""

    world: str
    T: int
    epsilon: float
    runs: dict  # factory name -> Run
    refusals: dict  # factory name -> reason

    @property
    def random(self):
        """Final regret of random play, (n_reps,)."""
        return self.runs["random"].tuned

    def share(self, name, variant="tuned"):
        """Regret as a share of random play's, with its 95 % interval (paired)."""
        return ratio(getattr(self.runs[name], variant), self.random)

    def shares(self, name):
        """The same, repetition by repetition, over the mean of random play: (n_reps,)."""
        return self.runs[name].tuned / self.random.mean()

    def of(self, model):
        """Names of the players of a trust model, random play apart."""
        return [n for n, r in self.runs.items() if r.model == model and n != "random"]

    def leader(self, names, looks=1):
        """(name of least mean regret, the names it is not surely better than) among names.

        Surely: the 95 % interval of the paired difference, Bonferroni over all pairs of names and
        over `looks` >= 1 settings that are looked at, lies below 0.
        """
        finals = {n: self.runs[n].tuned for n in names}
        first = min(names, key=lambda n: finals[n].mean())
        level = 1 - 0.05 / (looks * max(len(names) * (len(names) - 1) // 2, 1))
        close = [
            n
            for n in names
            if n != first and not difference(finals[first], finals[n], level).high < 0
        ]
        return first, close

    @property
    def winners(self):
        """{model: (leader, those it is not surely better than)} of every trust model that plays."""
        return {m: self.leader(names) for m in MODELS if (names := self.of(m))}

    @property
    def prices(self):
        """{(dearer, cheaper): interval}: the price of trust between the leaders of two models.

        Ratios of regrets, tuned and paired; the less trusting model first.  Left out where the
        cheaper one has no regret at all.
        """
        best = {m: self.runs[first].tuned for m, (first, _) in self.winners.items()}
        pairs = itertools.combinations(best, 2)
        return {(a, b): ratio(best[a], best[b]) for a, b in pairs if best[b].any()}


def play(title, world, T, epsilons, n_reps, tune_reps, seed):
    """{epsilon: Setting}: every policy of the package that can, in one world, at every budget."""
    plans = {e: arena.lineup(world, T, e) for e in epsilons}
    groups, labels = {False: {}, True: {}}, {}
    for e, (playing, _) in plans.items():
        for c in playing:
            free = c.policy().guarantee.model == "none"
            label = labels[c.factory, e] = c.factory if free else f"{c.factory} | {e:g}"
            groups[c.factory in recipes.COMMON][label] = arena.tunable(c.factory, world, e)
    runs = {}
    for common, part in groups.items():
        if part:
            env = world.common if common else world.env
            runs |= tuned_runs(env, part, T, n_reps, tune_reps, seed)
    return {
        e: Setting(
            title, T, e,
            {c.factory: runs[labels[c.factory, e]] for c in playing},
            {r.factory: r.reason for r in refused},
        )
        for e, (playing, refused) in plans.items()
    }  # fmt: skip


def tuning_rounds(T):
    """Rounds over which numbers are chosen for a horizon of T: a fifth of it, or T up to 2,000."""
    return max(min(T, 2_000), T // 5)


def tuned_runs(env, groups, T, n_reps, tune_reps, seed):
    """{label: Run}: tuned by the rule of this module, then played on the same streams.

    groups: {label: `arena.Group`}, with the multiple 1.0, the default, in every grid.
    """
    short = tuning_rounds(T)
    several = {
        label: [g.make(short, m).policy() for m in g.grid]
        for label, g in groups.items()
        if len(g.grid) > 1
    }
    tuned = tune(several, env, short, repetitions(seed, tune_reps, 1)) if several else {}
    chosen, policies = {}, []
    for label, g in groups.items():
        m = chosen[label] = g.grid[tuned[label].index] if label in tuned else 1.0
        policies.append(g.make(T, 1.0).policy().renamed(label))
        if m != 1.0:
            policies.append(g.make(T, m).policy().renamed(f"{label}, tuned"))
    played = simulate(env, policies, T, repetitions(seed, n_reps, 2), grid=[T])
    finals = dict(zip(played.names, played.final.T, strict=True))
    guarantees = dict(zip(played.names, played.guarantees, strict=True))
    found = {}
    for label, m in chosen.items():
        edge = label in tuned and tuned[label].edge
        best = finals.get(f"{label}, tuned", finals[label])
        call = groups[label].make(T, m)
        found[label] = Run(
            call, call.policy().name, guarantees[label], m, edge, finals[label], best
        )
    return found


def versions(world, factory, repair, epsilon, honest, printed):
    """{version: `arena.Group`} of an algorithm: "printed", "honest", and the "repair"; see `played`
    for those that need not be played again.

    factory: name of a policy; repair: another (or the same) with arguments of its own, or None;
    honest: arguments of the published algorithm with honest noise, beside the arena's; printed:
    what those of its paper differ in.
    """

    def group(name, extra):
        def make(T, m):
            base = arena.call(name, world, T, epsilon, m)
            return base._replace(arguments=base.arguments | extra)

        return arena.Group(make, arena.MULTIPLES)

    found = {"printed": group(factory, honest | printed), "honest": group(factory, honest)}
    return found | ({"repair": group(*repair)} if repair else {})


def played(setting, factory, repair, honest):
    """{version: Run} of the `versions` that have played this setting under their own name: those
    without arguments beside the arena's."""
    asked = {"honest": (factory, honest)} | ({"repair": repair} if repair else {})
    return {v: setting.runs[name] for v, (name, extra) in asked.items() if not extra}
