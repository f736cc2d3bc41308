"""Policies of the arena against each other: tuned by one rule, played on the same
streams.

The rule: each policy's one number is the multiple of its default that has the least mean
regret over tuning repetitions, on seeds that nothing else uses, in the same world at the
same budget, over a fifth of the rounds (`tuning_rounds`).  Policies without privacy do
not depend on the budget: they are played once and stand at every one.

One rule of inference: half of the repetitions choose, the other half judge.  What is
chosen because it was best in some repetitions looks better there than it is: with ten
equal policies a 95 % interval of the best one lies below the truth far too often.  So the
first half of the repetitions names the leader, and intervals of the second half, in which
it was not chosen, judge it against each rival (Bonferroni over the rivals) and against
random play.
"""

import itertools
from typing import Any, NamedTuple

import numpy as np

from companion.simulate import repetitions, simulate
from companion.stats import difference, ratio
from evidence.arena import recipes
from evidence.claims.tuning import tune

MODELS = ("local", "shuffle", "joint", "none")  # from the least trust to the most
NO_REGRET = 1e-9  # what rounding leaves of a regret of zero
REPAIRS = ("corrected_ridge", "residual_fliphat")  # policies of this book, not of a paper


def choosing(finals) -> np.ndarray:
    """The repetitions that choose, of finals (n_reps,)."""
    return finals[: len(finals) // 2]


def judging(finals) -> np.ndarray:
    """The repetitions that judge."""
    return finals[len(finals) // 2 :]


def leader(finals, looks: int = 1):
    """(name that is chosen, those it is not shown to beat) of {name: finals (n_reps,)}.

    Shown: the 95 % interval of the paired difference in the judging half, Bonferroni over
    the rivals and over `looks` >= 1 settings that are looked at, lies below 0.
    """
    first = min(finals, key=lambda n: choosing(finals[n]).mean())
    rivals = [n for n in finals if n != first]
    level = 1 - 0.05 / (looks * max(len(rivals), 1))
    mine = judging(finals[first])
    return first, [
        n for n in rivals if not difference(mine, judging(finals[n]), level).high < 0
    ]


def judged(a, b: np.ndarray):
    """Interval for mean(a) / mean(b) in the repetitions that judge."""
    return ratio(judging(a), judging(b))


class Run(NamedTuple):
    """What one policy did in one setting: regrets are paired with those of all others
    there."""

    title: str  # name of the policy
    guarantee: Any
    call: Any  # `recipes.Call`
    tuned: np.ndarray  # (n_reps,) final regret
    edge: bool = False  # the multiple of its number is the least or largest of several
    default: Any = None  # the `Run` with default arguments, if this one was tuned


class Setting(NamedTuple):
    """A world, horizon and budget, and who played there."""

    world: str
    T: int
    epsilon: float
    runs: dict  # factory name -> Run
    refusals: dict  # factory name -> reason
    place: Any  # `environments.World`

    @property
    def random(self) -> np.ndarray:
        """Final regret of random play, (n_reps,)."""
        return self.runs["random"].tuned

    def judged(self, name: str):
        """Regret as a share of random play's, with its 95 % interval (paired), in the
        repetitions that did not choose a leader."""
        return judged(self.runs[name].tuned, self.random)

    @property
    def untuned(self):
        """The same setting with default constants in place of tuned ones."""
        return self._replace(runs={n: r.default or r for n, r in self.runs.items()})

    def of(self, *models):
        """Names of the players of these trust models (of MODELS), random play apart."""
        return [
            n
            for m in models
            for n, r in self.runs.items()
            if r.guarantee.model == m and n != "random"
        ]

    def leader(self, names, looks: int = 1) -> tuple[str, list[str]]:
        """(leader, those it is not shown to beat) among names, see `leader`."""
        return leader({n: self.runs[n].tuned for n in names}, looks)

    @property
    def winners(self):
        """{model: (leader, those it is not shown to beat)} of every trust model that
        plays."""
        return {m: self.leader(names) for m in MODELS if (names := self.of(m))}

    @property
    def prices(self):
        """{(dearer, cheaper): interval}: the price of trust between the leaders of two
        models.

        Ratios of regrets, tuned and paired, in the repetitions that did not choose the
        leaders; the less trusting model first.  Left out where the cheaper one has no
        regret at all.
        """
        best = {m: self.runs[first].tuned for m, (first, _) in self.winners.items()}
        return {
            (a, b): judged(best[a], best[b])
            for a, b in itertools.combinations(best, 2)
            if judging(best[b]).max() > NO_REGRET
        }


def play(
    title: str,
    world,
    T: int,
    epsilons,
    n_reps: int,
    tune_reps: int,
    seed: int,
    models=MODELS,
) -> dict[float, Setting]:
    """{epsilon: Setting}: random play and every policy of the package that can and whose
    trust model is one of `models`, in one world, at every budget.  Without `tune_reps`,
    0, all keep their default constants."""
    settings = {}
    runs = {}
    for e in epsilons:
        calls, why = recipes.lineup(world, T, e)
        own = {}
        for call in calls:
            label = name = call.factory
            model = call.policy().guarantee.model
            if model not in models and name != "random":
                continue
            if model != "none":
                label = f"{name} | {e:g}"
            if label not in runs:
                runs[label] = tuned(call, world, T, e, n_reps, tune_reps, seed, label)
            own[name] = runs[label]
        settings[e] = Setting(
            world=title,
            T=T,
            epsilon=e,
            runs=own,
            refusals=why,
            place=world,
        )
    return settings


def tuning_rounds(T: int) -> int:
    """Rounds over which numbers are chosen for a horizon of T: a fifth of it, or T up to
    2,000."""
    return max(min(T, 2_000), T // 5)


def played(call, label: str, env, T: int, n_reps: int, seed: int, key: int = 2) -> Run:
    """The `recipes.Call` as it is, under the name `label`, in T rounds of env.

    key: of the streams, 2 for those of a `Setting`; what was chosen there is judged at
    another.
    """
    policy = call.policy()
    seeds = repetitions(seed, n_reps, key)
    final = simulate(env, [policy.renamed(label)], T, seeds, grid=[T]).final[:, 0]
    return Run(policy.name, policy.guarantee, call, final)


def tuned(
    default,
    world,
    T: int,
    epsilon: float,
    n_reps: int,
    tune_reps: int,
    seed: int,
    label: str,
) -> Run:
    """A policy of the recipes, tuned by the rule of this module, then played; with no
    `tune_reps` by its default constants.

    default: the `recipes.Call` with these.
    """
    name = default.factory
    env = recipes.stream(world, name)
    run = played(default, label, env, T, n_reps, seed)
    if tune_reps == 0 or not recipes.RECIPES[name].tuned:
        return run
    chosen = run
    short = tuning_rounds(T)
    tried = [
        recipes.call(name, world, short, epsilon, multiple).policy()
        for multiple in recipes.MULTIPLES
    ]
    best = tune({label: tried}, env, short, repetitions(seed, tune_reps, 1))[label]
    multiple = recipes.MULTIPLES[best.index]
    if multiple != 1.0:
        call = recipes.call(name, world, T, epsilon, multiple)
        chosen = played(call, f"{label}, tuned", env, T, n_reps, seed)
    return chosen._replace(edge=best.edge, default=run)


def record(settings, own, model: str):
    """(settings that the policies `own` win, number lost, number played).

    Rivals are the published policies of the trust model: REPAIRS do not compete.  Won:
    shown, as `Setting.leader` has it, with the intervals widened for all settings.
    """
    won = []
    lost = 0
    there = [s for s in settings if set(own) & set(s.runs)]
    for s in there:
        names = [n for n in s.of(model) if n not in REPAIRS]
        first, close = s.leader(names, looks=len(settings))
        ahead = {first, *close}
        rivals = set(names) - set(own)
        if rivals and not ahead & rivals:
            won.append(s)
        lost += not ahead & set(own)
    return won, lost, len(there)
