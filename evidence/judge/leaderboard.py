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
    common = one_context(subject.policy)
    if common and not world.common:
        raise ValueError(recipes.ALONE[recipes.COMMON])
    told = recipes.known(world, T, epsilon, recipes.COMMON if common else "")
    takes = inspect.signature(subject.factory).parameters
    call = recipes.Call(subject.factory, {n: v for n, v in told.items() if n in takes})
    recipes.need_guarantee(call.policy(), T, epsilon)
    env = world.common if common else world.env
    return contest.played(call, subject.name, env, T, n_reps, seed)


def newcomer(subject, *game):
    """The row with the `contest.Run` of the policy that is judged; game: as `played`
    takes it."""
    run = played(subject, *game)
    return {"outcome": "arena", "run": run._replace(call=None, default_call=None)}


def table(name: str, run, setting, looks: int):
    """Rows of a setting: the newcomer, which says who leads its trust model, then all
    others, best first.  looks: settings that are looked at, for which intervals are
    widened."""
    there = setting._replace(runs=setting.runs | {name: run})
    first, close = there.leader(there.of(run.model), looks)
    text = f"{there.share(name).value:.0%} of random play's regret; in its trust model "
    text += "it leads" if first == name else f"{first} leads"
    text += (
        f", not shown to be better than {', '.join(close)}" if close else ", as is shown"
    )
    rows = [
        {"what": n, "outcome": "beside", "model": r.model} | there.share(n)._asdict()
        for n, r in there.runs.items()
    ]
    rows.sort(key=lambda row: (row["what"] != name, row["value"]))
    rows[0] |= {"outcome": "arena", "found": text, "leads": first, "close": close}
    return rows


def entered(setting, what, seed: int):
    """The arena's `contest.Setting` with one policy more: judge a policy first, here
    nothing is checked but its guarantee.

    what: as `judge` takes it; seed: that which the setting was played with.  Raises
    ValueError, or what its factory raises, where the policy cannot play.
    """
    subject = load(what)
    game = setting.place, setting.T, setting.epsilon, len(setting.random), seed
    return setting._replace(runs=setting.runs | {subject.name: played(subject, *game)})


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

    for s in settings:
        for model, (first, close) in s.winners.items():
            rows.append(
                {
                    "trust model": model,
                    "world": s.world,
                    "rounds": s.T,
                    "ε": s.epsilon,
                    "leads": priced(s, first),
                    "regret / random play": s.judged(first).value,
                    "not shown to be worse": ", ".join(priced(s, n) for n in close)
                    or "nobody",
                }
            )
    return sorted(rows, key=lambda row: contest.MODELS.index(row["trust model"]))


def cost(subject):
    """The row on a round of the example over random play, on this machine, and on the
    bytes of its first state."""
    policy = subject.policy
    size = sum(a.nbytes for a in flat(policy.init(policy.params)))
    ns = nanoseconds(policy, 4)
    kind = "compiled" if hasattr(policy.loop, "py_func") else "plain Python"
    said = (
        f"{ns:,.0f} ns over random play ({kind}, this machine); {size:,} bytes of state"
    )
    return {"outcome": "cost", "found": said, "ns": ns, "state": size}


def nanoseconds(policy, K: int) -> float:
    """CPU time of a round over random play, each in the best of four runs of 400
    rounds."""
    X, R, mu = stream_for(policy, K=getattr(policy.params, "K", K))
    both = [policy.renamed("policy"), random()]
    seconds = simulate(replay(X, R, mu), both, len(X), range(4)).seconds.min(axis=0)
    return 1e9 * float(seconds[0] - seconds[1]) / len(X)
