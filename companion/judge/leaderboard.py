"""A policy that need not be of this package among all others of the arena, and what it costs.

The arena's own rules: one true guarantee (epsilon, 1/T), the same streams, the same grid for one
declared number (`TUNED`), half of the repetitions choose the best, the other half judge.
"""

import inspect

from companion import policies
from companion.arena import contest, environments, recipes
from companion.baselines.random import random
from companion.core import one_context
from companion.environments import replay
from companion.judge.checks import flat, stream_for
from companion.judge.load import load, said
from companion.simulate import simulate

K = 5  # arms, but for the world of one context
WORLDS = {
    "d = 2": lambda: environments.dense(2, K),
    "d = 5": lambda: environments.dense(5, K),
    "ill-conditioned, 0.1": lambda: environments.dense(5, K, shrink=0.1),
    "sparse, d = 100": lambda: environments.sparse(100, K),
    "logistic clicks": lambda: environments.clicks(3, K),
    "one context": lambda: environments.common(4, 3),
}


def rivals(model: str, world: str, T: int, epsilon: float, sizes, seed: int):
    """The `contest.Setting` of the package's private policies, all of this trust model, LinUCB and
    random play; sizes: repetitions, and those that tune."""
    models = {"local", "shuffle", "joint", model}
    return contest.play(world, WORLDS[world](), T, [epsilon], *sizes, seed, models)[epsilon]


def newcomer(subject, world: str, T: int, epsilon: float, sizes, seed: int):
    """The row with the `contest.Run` of the policy that is judged, or with why it does not play."""
    try:
        run = played(subject, WORLDS[world](), T, epsilon, *sizes, seed)
    except ValueError as why:
        return {"outcome": "failed", "found": str(why)}
    return {"outcome": "holds", "run": run._replace(call=str(run.call), default_call=None)}


def played(subject, world, T: int, epsilon: float, n_reps: int, tune_reps: int, seed: int):
    """The `contest.Run` of the newcomer in a `World`; ValueError where it cannot play."""
    group = grouped(subject, world, epsilon)
    recipes.need_guarantee(group.make(T, 1.0).policy(), T, epsilon)
    env = world.common if one_context(subject.policy) else world.env
    runs = contest.tuned_runs(env, {subject.name: group}, T, n_reps, tune_reps, seed)
    return runs[subject.name]


def grouped(subject, world, epsilon: float):
    """The `recipes.Group` of a newcomer; ValueError where it cannot play."""
    factory, common = subject.factory, one_context(subject.policy)
    if factory is None:
        raise ValueError("there is no factory that makes it for this world and budget")
    if subject.name in policies.TABLE and policies.factory(subject.name) is factory:
        if why := recipes.refused(subject.name, world, 2):
            raise ValueError(why)
        return recipes.tunable(subject.name, world, epsilon)
    if common and not world.common:
        raise ValueError("it takes one context for all arms")
    taken = inspect.signature(factory).parameters

    def make(T, multiple):
        known = recipes.known(world, T, epsilon, recipes.COMMON if common else "")
        told = {n: getattr(v, "value", v) for n, v in known.items() if n in taken}
        if missing := [n for n, p in taken.items() if p.default is p.empty and n not in told]:
            raise ValueError(f"its factory wants {', '.join(missing)}, not told by the arena")
        if multiple != 1.0:
            default = taken[subject.tuned].default
            told[subject.tuned] = type(default)(multiple * default)
        try:
            factory(**told)
        except Exception as error:
            raise ValueError(f"its factory refuses this world: {said(error)}") from None
        return recipes.Call(factory, told)

    make(400, 1.0)  # says why, if not even the default fits
    grid = [1.0]
    for multiple in recipes.MULTIPLES if subject.tuned else ():
        try:
            grid.append(make(400, multiple) and multiple)
        except ValueError:  # it does not take this multiple of its default
            continue
    return recipes.Group(make, tuple(sorted(set(grid))))


def table(name: str, run, setting, looks: int):
    """Rows of a setting, best first: the newcomer, its trust model, the best of every other one,
    and random play; the newcomer's says who leads its model, and whether that is shown.

    looks: settings that are looked at, for which intervals are widened.
    """
    there = setting._replace(runs=setting.runs | {name: run})
    first, close = there.leader(there.of(run.model), looks)
    best = [leader for other, (leader, _) in there.winners.items() if other != run.model]
    rows = []
    for n in (*there.of(run.model), *best, "random"):
        r, share = there.runs[n], there.share(n)
        rows.append({"what": n, "outcome": "beside", "model": r.model, "share": share.value,
                     "low": share.low, "high": share.high, "multiple": r.multiple})  # fmt: skip
        if n == name:
            where = f"{setting.world}, T = {setting.T:,}, epsilon = {setting.epsilon:g}"
            place = "it leads" if first == name else f"{first} leads"
            place += f", not shown to be better than {', '.join(close)}" if close else ", as shown"
            said = f"{where}: {share.value:.0%} of random play's regret; in its trust model {place}"
            rows[-1] |= {"outcome": "played", "found": said, "leads": first, "close": close}
    return sorted(rows, key=lambda row: (row["share"], row["what"]))


def entered(setting, world, what, tune_reps: int, seed: int):
    """The arena's `contest.Setting` with one policy more: judge a policy first, here nothing is
    checked but its guarantee.

    world: the setting's `arena.environments.World`; what: a path, a module's name or a `Policy`;
    tune_reps, seed: those that the setting was played with.  A policy that cannot play is among the
    refusals.  Raises ValueError on what cannot be judged, or has the name of a player.
    """
    subject = load(what)
    name, n_reps = subject.name, len(setting.random)
    if name in setting.runs:
        raise ValueError(f"what must have a name of its own; {name} plays already")
    try:
        run = played(subject, world, setting.T, setting.epsilon, n_reps, tune_reps, seed)
    except ValueError as why:
        return setting._replace(refusals=setting.refusals | {name: str(why)})
    return setting._replace(runs=setting.runs | {name: run})


def board(settings):
    """A row for every trust model of every setting, models by the trust they ask for: the leader,
    those that it is not shown to beat, both with nanoseconds a round over random play on this
    machine, and the leader's share of random play's regret."""
    rows, times = [], {}

    def priced(setting, name):
        key = name, setting.world
        if key not in times:
            times[key] = nanoseconds(setting.runs[name].call.policy(), setting.K)
        return f"{name} ({max(0.0, times[key]):,.0f} ns)"

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


def cost(subject):
    """The row on a round of the example over random play, on this machine, and on the bytes of its
    first state."""
    policy = subject.policy
    size, ns = sum(a.nbytes for a in flat(policy.init(policy.params))), nanoseconds(policy, 4)
    kind = "compiled" if hasattr(policy.loop, "py_func") else "plain Python"
    said = f"{ns:,.0f} ns over random play ({kind}, this machine); {size:,} bytes of state"
    return {"outcome": "timed", "found": said, "ns": ns, "state": size}


def nanoseconds(policy, K: int) -> float:
    """CPU time of a round over random play, each in the best of four runs of 400 rounds."""
    X, R, mu = stream_for(policy, K=getattr(policy.params, "K", K))
    both = [policy.renamed("policy"), random()]
    seconds = simulate(replay(X, R, mu), both, len(X), range(4)).seconds.min(axis=0)
    return 1e9 * float(seconds[0] - seconds[1]) / len(X)
