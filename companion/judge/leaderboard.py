"""A policy that need not be of this package among all others of the arena, and what it costs.

The arena's own rules: one true guarantee (epsilon, 1/T), the same streams, the same grid for one
declared number (`TUNED`), half of the repetitions choose the best rival, the other half judge.
"""

import inspect
import time
from typing import Any, NamedTuple

import numpy as np

from companion import policies
from companion.arena import contest, environments, inference, recipes
from companion.baselines.random import random
from companion.core import horizon, one_context
from companion.judge.load import load, said
from companion.judge.measuring import plain
from companion.judge.streams import flat, stream
from companion.stats import difference, ratio

K = 5  # arms, but for the world of one context
WORLDS = {
    "d = 2": lambda: environments.dense(2, K),
    "d = 5": lambda: environments.dense(5, K),
    "ill-conditioned, 0.1": lambda: environments.dense(5, K, shrink=0.1),
    "sparse, d = 100": lambda: environments.sparse(100, K),
    "logistic clicks": lambda: environments.clicks(3, K),
    "one context": lambda: environments.common(4, 3),
}
ROUNDS = 400  # of a timed run


class Own(NamedTuple):
    """The newcomer's factory with its arguments: what `recipes.Call` is for our policies."""

    factory: str
    make: Any
    arguments: dict

    def policy(self):
        """The policy that the call makes."""
        return self.make(**self.arguments)

    def __str__(self):
        short = {n: float(f"{v:.6g}") if isinstance(v, float) else v for n, v in self[2].items()}
        return f"{self.factory}({', '.join(f'{n}={v!r}' for n, v in short.items())})"


class Unfit(ValueError):
    """Why a newcomer does not play a world."""


def rivals(world: str, T: int, epsilons, n_reps: int, tune_reps: int, seed: int):
    """{epsilon: {name: plain data of a run}} of all policies of the package."""
    found = contest.play(world, WORLDS[world](), T, epsilons, n_reps, tune_reps, seed)
    return {e: {n: record(r) for n, r in s.runs.items()} for e, s in found.items()}


def record(run):
    """A `contest.Run` as plain data."""
    return {"title": run.title, "model": run.model, "guarantee": plain(run.guarantee)["said"],
            "multiple": run.multiple, "edge": bool(run.edge), "call": str(run.call),
            "default": run.default.tolist(), "tuned": run.tuned.tolist()}  # fmt: skip


def newcomer(subject, world, T: int, epsilon: float, n_reps: int, tune_reps: int, seed: int):
    """The same for the policy that is judged, or {"refused": why it does not play."""
    place = WORLDS[world]()
    try:
        return record(played(subject, place, T, epsilon, n_reps, tune_reps, seed))
    except ValueError as why:
        return {"refused": str(why)}


def played(subject, place, T: int, epsilon: float, n_reps: int, tune_reps: int, seed: int):
    """The `contest.Run` of the newcomer in this world; ValueError where it cannot play."""
    group = grouped(subject, place, epsilon)
    recipes.need_guarantee(group.make(T, 1.0).policy(), T, epsilon)
    env = place.common if one_context(subject.policy) else place.env
    runs = contest.tuned_runs(env, {subject.name: group}, T, n_reps, tune_reps, seed)
    return runs[subject.name]


def grouped(subject, world, epsilon: float):
    """The `recipes.Group` of a newcomer; raises `Unfit` where it cannot play."""
    if subject.factory is None:
        raise Unfit("there is no factory that makes it for this world and budget")
    if subject.name in policies.TABLE and policies.factory(subject.name) is subject.factory:
        if why := recipes.refused(subject.name, world, 2):
            raise Unfit(why)
        return recipes.tunable(subject.name, world, epsilon)
    common = one_context(subject.policy)
    if common and not world.common:
        raise Unfit("it takes one context for all arms")

    def make(T, multiple):
        told = arguments(subject, world, T, epsilon, recipes.COMMON if common else "")
        if multiple != 1.0:
            default = inspect.signature(subject.factory).parameters[subject.tuned].default
            told[subject.tuned] = type(default)(multiple * default)
        return Own(subject.name, subject.factory, told)

    return recipes.Group(make, fitting(make) if subject.tuned else (1.0,))


def fitting(make, T: int = 400):
    """The arena's multiples for which the factory makes a policy."""
    make(T, 1.0).policy()  # says why, if not even the default fits
    found = []
    for m in recipes.MULTIPLES:
        try:
            make(T, m).policy()
            found.append(m)
        except ValueError:
            continue
    return tuple(found)


def arguments(subject, world, T: int, epsilon: float, only):
    """What the arena tells the factory by the names of its arguments; raises `Unfit`."""
    taken = inspect.signature(subject.factory).parameters
    known = recipes.known(world, T, epsilon, only)
    told = {n: getattr(v, "value", v) for n, v in known.items() if n in taken}
    missing = [n for n, p in taken.items() if p.default is p.empty and n not in told]
    if missing:
        raise Unfit(f"its factory wants {', '.join(missing)}, which the arena does not tell")
    try:
        subject.factory(**told)
    except Exception as error:
        raise Unfit(f"its factory refuses this world: {said(error)}") from None
    return told


def table(name: str, mine, runs, looks):
    """Rows of a setting, best first: the newcomer, its trust model, the best of every other, and
    random play; "verdict" says whether the newcomer is shown to have less (None in its own row).

    looks: settings that are looked at, for which intervals are widened.
    """
    own, random = np.array(mine["tuned"]), np.array(runs["random"]["tuned"])
    runs = {n: r for n, r in runs.items() if n != name}
    tuned = {n: np.array(r["tuned"]) for n, r in runs.items()}
    shown = [n for n, r in runs.items() if r["model"] == mine["model"] or n == "random"]
    for model in {r["model"] for r in runs.values()} - {mine["model"]}:
        rest = {n: tuned[n] for n, r in runs.items() if r["model"] == model and n != "random"}
        shown += [inference.leader(rest)[0]] if rest else []
    rows = [row(name, mine, own, random, None)]
    for n in dict.fromkeys(shown):
        verdict = beside(own, tuned[n], looks * len(shown))
        rows.append(row(n, runs[n], tuned[n], random, verdict))
    return sorted(rows, key=lambda r: r["share"])


def row(name: str, run, finals, random, verdict):
    """One policy: its regret as a share of random play's, with the 95 % interval."""
    share = ratio(finals, random)
    low, high = (float(v) if np.isfinite(v) else None for v in (share.low, share.high))
    return {"policy": name, "model": run["model"], "share": float(share.value), "low": low,
            "high": high, "multiple": run["multiple"], "verdict": verdict}  # fmt: skip


def beside(mine, theirs, looks) -> str:
    """ "less", "more" or "undecided": the newcomer's regret beside another's, in paired repetitions
    that chose nobody, Bonferroni over `looks`."""
    found = difference(inference.judging(mine), inference.judging(theirs), 1 - 0.05 / looks)
    return "less" if found.high < 0 else "more" if found.low > 0 else "undecided"


def entered(setting, world, what, tune_reps: int, seed: int):
    """The arena's `contest.Setting` with one policy more: judge a policy first, here nothing is
    checked but its guarantee.

    world: the setting's `arena.environments.World`; what: a path, a module or its name; tune_reps,
    seed: those that the setting was played with.  A policy that cannot play is among the refusals.
    Raises ValueError on what cannot be judged, or has the name of a player.
    """
    subject = load(what if hasattr(what, "__dict__") else str(what))
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
            policy = setting.runs[name].call.policy()
            floor = nanoseconds(random(), setting.K)
            times[key] = max(0.0, nanoseconds(policy, setting.K) - floor)
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


def priced(subject):
    """{"ns": a round of the example over random play; "state": bytes before the first round}: times
    are of this machine, and change from run to run."""
    policy = subject.policy
    size = sum(a.nbytes for a in flat(policy.init(policy.params)))
    ns = nanoseconds(policy, 4) - nanoseconds(random(), 4)
    return {"compiled": hasattr(policy.loop, "py_func"), "state": int(size), "ns": ns}


def nanoseconds(policy, K) -> float:
    """CPU time of a round of its loop in this thread, the best of three runs: the clock of the
    whole process moves in steps while a limit is set."""
    K, d = getattr(policy.params, "K", K), getattr(policy.params, "d", 3)
    X, R, _ = stream(min(ROUNDS, horizon(policy) or ROUNDS), K, d)
    if one_context(policy):
        X = np.ascontiguousarray(np.repeat(X[:, :1], K, axis=1))
    arms, best = np.empty(len(X), np.int64), np.inf
    for _ in range(4):  # the first one compiles
        state, rng = policy.init(policy.params), np.random.default_rng(0)
        began = time.thread_time()
        policy.loop(policy.params, state, X, R, rng, arms)
        best = min(best, time.thread_time() - began)
    return 1e9 * best / len(X)
