"""The leaderboard: who leads each trust model, world and budget, who is close, and what each costs.

It is made from the arena's records (`arena.contest.Setting`).  A policy that is not of this package
is entered on the same streams, under the same rules, and stands among the others.
"""

from companion.arena import contest, recipes
from companion.baselines.random import random
from companion.core import one_context
from companion.judge import cost, standing
from companion.judge.subject import load


def entered(setting, world, what, tune_reps: int, seed: int):
    """The setting with one policy more: judge a policy first, here nothing is checked but its
    guarantee.

    world: the setting's `arena.environments.World`; what: a path, a module or its name; tune_reps,
    seed: those that the setting was played with.  A policy that cannot play is among the refusals.
    Raises ValueError on what cannot be judged, or has the name of a player.
    """
    subject = load(what if hasattr(what, "__dict__") else str(what))
    if subject.name in setting.runs:
        raise ValueError(f"what must have a name of its own; {subject.name} plays already")
    T = setting.T
    try:
        group = standing.grouped(subject, world, setting.epsilon)
        recipes.need_guarantee(group.make(T, 1.0).policy(), T, setting.epsilon)
    except ValueError as why:
        return setting._replace(refusals=setting.refusals | {subject.name: str(why)})
    env = world.common if one_context(subject.policy) else world.env
    n_reps = len(setting.random)
    runs = contest.tuned_runs(env, {subject.name: group}, T, n_reps, tune_reps, seed)
    return setting._replace(runs=setting.runs | runs)


def board(settings):
    """A row for every trust model of every setting, models by the trust they ask for: the leader,
    those that it is not shown to beat, both with nanoseconds a round over random play on this
    machine, and the leader's share of random play's regret."""
    rows, times = [], {}

    def priced(setting, name):
        key = name, setting.world
        if key not in times:
            policy = setting.runs[name].call.policy()
            floor = cost.nanoseconds(random(), setting.K)
            times[key] = max(0.0, cost.nanoseconds(policy, setting.K) - floor)
        return f"{name} ({times[key]:,.0f} ns)"

    for model in contest.MODELS:
        for s in settings:
            if names := s.of(model):
                first, close = s.leader(names)
                alone = "no rival" if len(names) == 1 else "nobody"
                rows.append({
                    "trust model": model, "world": s.world, "rounds": s.T, "ε": s.epsilon,
                    "leads": priced(s, first), "regret / random play": s.judged(first).value,
                    "not shown to be worse": ", ".join(priced(s, n) for n in close) or alone,
                })  # fmt: skip
    return rows
