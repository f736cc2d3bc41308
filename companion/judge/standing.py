"""The arena on a newcomer: beside all policies of its trust model, and the best of the others.

The arena's own rules: one true guarantee (epsilon, 1/T), the same streams, the same grid for one
declared number (`TUNED`), half of the repetitions choose the best rival, the other half judge.
"""

import inspect
from typing import Any, NamedTuple

import numpy as np

from companion import policies
from companion.arena import contest, environments, inference, recipes
from companion.core import one_context
from companion.judge.guarantee import plain
from companion.judge.subject import said
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


class Own(NamedTuple):
    """The newcomer's factory with its arguments: what `recipes.Call` is for our policies."""

    factory: str
    make: Any
    arguments: dict

    def policy(self):
        """The policy that the call makes."""
        return self.make(**self.arguments)

    def __str__(self):
        plain = {
            k: float(f"{v:.6g}") if isinstance(v, float) else v for k, v in self.arguments.items()
        }
        told = ", ".join(f"{k}={v!r}" for k, v in plain.items())
        return f"{self.factory}({told})"


class Unfit(ValueError):
    """Why a newcomer does not play a world."""


def rivals(_, world, T: int, epsilons, n_reps: int, tune_reps: int, seed: int):
    """[{"epsilon", "runs": {name: plain data of a run}}] of all policies of the package."""
    found = contest.play(world, WORLDS[world](), T, epsilons, n_reps, tune_reps, seed)
    return [{"epsilon": e, "runs": {n: record(r) for n, r in s.runs.items()}}
            for e, s in found.items()]  # fmt: skip


def record(run):
    """A `contest.Run` as plain data."""
    return {"title": run.title, "model": run.model, "guarantee": plain(run.guarantee)["said"],
            "multiple": run.multiple, "edge": bool(run.edge), "call": str(run.call),
            "default": run.default.tolist(), "tuned": run.tuned.tolist()}  # fmt: skip


def newcomer(subject, world, T: int, epsilon: float, n_reps: int, tune_reps: int, seed: int):
    """The same for the policy that is judged, or {"refused": why it does not play."""
    place = WORLDS[world]()
    try:
        group = grouped(subject, place, epsilon)
        policy = group.make(T, 1.0).policy()
        recipes.need_guarantee(policy, T, epsilon)
    except ValueError as why:
        return {"refused": str(why)}
    env = place.common if one_context(policy) else place.env
    runs = contest.tuned_runs(env, {subject.name: group}, T, n_reps, tune_reps, seed)
    return record(runs[subject.name])


def grouped(subject, world, epsilon: float):
    """The `recipes.Group` of a newcomer; raises `Unfit` where it cannot play."""
    if subject.factory is None:
        raise Unfit("there is no factory that makes it for this world and budget")
    if subject.name in policies.TABLE and policies.factory(subject.name) is subject.factory:
        return of_the_package(subject.name, world, epsilon)
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


def of_the_package(name: str, world, epsilon: float):
    """The arena's own group for one of its policies."""
    if why := recipes.refused(name, world, 2):
        raise Unfit(why)
    return recipes.tunable(name, world, epsilon)


def fitting(make, T: int = 400):
    """The arena's multiples for which the factory makes a policy."""
    found = []
    for m in recipes.MULTIPLES:
        try:
            make(T, m).policy()
        except ValueError:
            continue
        found.append(m)
    if 1.0 not in found:
        make(T, 1.0).policy()  # says why
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
    runs = {n: r for n, r in runs.items() if n != name}
    tuned = {n: np.array(r["tuned"]) for n, r in runs.items()}
    own, random = np.array(mine["tuned"]), tuned["random"]
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
