"""A policy that need not be of this package among all others of the arena, and what it
costs.

The arena's own rules: one true guarantee (epsilon, 1/T), the same streams, constants that
nobody tuned; half of the repetitions choose the leader, the other half judge.
"""

import inspect

from companion import policies
from companion.baselines.random import random
from companion.contract import one_context
from companion.environments import replay
from companion.simulate import simulate
from evidence.arena import contest, recipes
from evidence.judge.checks import flat, stream_for
from evidence.judge.load import load


def played(subject, world, T: int, epsilon: float, n_reps: int, seed: int):
    """The `contest.Run` of the newcomer with its own constants; raises ValueError, or
    what its factory raises, where it cannot play."""
    if subject.name in policies.TABLE:
        raise ValueError(
            f"what must have a name of its own; {subject.name} plays already"
        )
    needs = ""
    env = world.env
    if one_context(subject.policy):
        needs = recipes.COMMON
        env = world.common
        if not env:
            raise ValueError(recipes.ALONE[needs])
    told = recipes.known(world, T, epsilon, needs)
    takes = inspect.signature(subject.factory).parameters
    told = {name: value for name, value in told.items() if name in takes}
    call = recipes.Call(subject.factory, told)
    recipes.need_guarantee(call.policy(), T, epsilon)
    return contest.played(call, subject.name, env, T, n_reps, seed)


def entered(setting, what, seed: int):
    """The arena's `contest.Setting` with one policy more: judge a policy first, here
    nothing is checked but its guarantee.

    what: as `judge` takes it; seed: that which the setting was played with.  Raises
    ValueError, or what its factory raises, where the policy cannot play.
    """
    subject = load(what)
    n_reps = len(setting.random)
    run = played(subject, setting.place, setting.T, setting.epsilon, n_reps, seed)
    return setting._replace(runs=setting.runs | {subject.name: run})


def board(settings):
    """A row for every trust model of every setting, models by the trust they ask for: the
    leader, those that it is not shown to beat, both with nanoseconds a round over random
    play on this machine, and the leader's share of random play's regret."""
    rows = []
    times = {}

    def priced(setting, name):
        key = name, setting.world
        if key not in times:
            times[key] = nanoseconds(setting.runs[name].call.policy(), setting.K)
        return f"{name} ({max(0.0, times[key]):,.0f} ns)"

    for setting in settings:
        for model, (first, close) in setting.winners.items():
            others = ", ".join(priced(setting, name) for name in close)
            row = {
                "trust model": model,
                "world": setting.world,
                "rounds": setting.T,
                "ε": setting.epsilon,
                "leads": priced(setting, first),
                "regret / random play": setting.judged(first).value,
                "not shown to be worse": others or "nobody",
            }
            rows.append(row)
    return sorted(rows, key=lambda row: contest.MODELS.index(row["trust model"]))


def cost(subject):
    """The row on a round of the example over random play, on this machine, and on the
    bytes of its first state."""
    policy = subject.policy
    size = sum(part.nbytes for part in flat(policy.init(policy.params)))
    ns = nanoseconds(policy, 4)
    kind = "compiled" if hasattr(policy.loop, "py_func") else "plain Python"
    said = (
        f"a round takes {ns / 1e3:,.3g} microseconds more than random play's ({kind}, "
        f"this machine); the State has {size:,} bytes"
    )
    return {"outcome": "cost", "found": said, "ns": ns, "state": size}


def nanoseconds(policy, K: int) -> float:
    """CPU time of a round over random play, each in the best of four runs of 400
    rounds."""
    X, R, mu = stream_for(policy, K=getattr(policy.params, "K", K))
    both = [policy.renamed("policy"), random()]
    seconds = simulate(replay(X, R, mu), both, len(X), range(4)).seconds.min(axis=0)
    return 1e9 * float(seconds[0] - seconds[1]) / len(X)
