"""`judge`: a policy goes in; what it promises, what it gives, how it does, comes out.

The policy runs in a process of its own (`load.Child`), which does one task after another: a task
that raises, ends its process, or takes more than its limit is answered for, and the next one gets a
new process.  Every task answers with rows of the report.
"""

import itertools
import sys
from typing import NamedTuple

from companion.judge import attack, checks, leaderboard, measuring, report
from companion.judge.load import Child, Refused, failed
from companion.validate import (
    need_choice,
    need_float,
    need_int,
    need_members,
    need_positive,
    need_seed,
)


class Scale(NamedTuple):
    """How much is played."""

    limit: float  # seconds that one task may take
    worlds: tuple  # of the arena
    epsilons: tuple
    T: int  # rounds in the arena
    n_reps: int


FULL = Scale(90.0, ("d = 5", "logistic clicks"), (1.0, 8.0), 2_000, 10)
QUICK = Scale(30.0, ("d = 5",), (8.0,), 400, 8)


def judge(
    what,
    *,
    factory=None,
    worlds=None,
    epsilons=None,
    seed: int = 1,
    quick: bool = False,
    trials: int | None = None,
    limit: float | None = None,
    memory: float = 8.0,
    progress=None,
):
    """A `Report` on a policy that need not be of this package, compiled or plain Python.

    what: a `Policy`, the path of a file, or the dotted name of a module; factory: what made the
    `Policy`, so that other dimensions and budgets can be measured; worlds: names of
    `leaderboard.WORLDS` (None: two, one if quick; empty: no arena); epsilons: budgets in
    [0.01, 100] there (None: 1 and 8, or 8); seed: an integer >= 0; quick: a short look; trials:
    runs of each input that an attack counts, in [4, 10^7]; limit: seconds of CPU that one task may
    take (None: 30 or 90); memory: gigabytes that the policy may use; progress: whether the task
    under way is named (None: on a terminal).  Raises ValueError where the settings make no sense;
    what is wrong with the policy stands in the report.
    """
    scale = QUICK if quick else FULL
    if worlds is not None:
        names = tuple(need_choice("worlds", w, tuple(leaderboard.WORLDS)) for w in worlds)
        scale = scale._replace(worlds=names)
    if epsilons is not None:
        budgets = need_members("epsilons", epsilons)
        told = tuple(need_float("epsilons", e, 0.01, 100.0) for e in budgets)
        scale = scale._replace(epsilons=told)
    limit = scale.limit if limit is None else need_positive("limit", limit)
    trials = trials if trials is None else need_int("trials", trials, 4, 10**7)
    told = {"seed": need_seed("seed", seed), "quick": bool(quick), "trials": trials, "limit": limit}
    shown = sys.stderr.isatty() if progress is None else progress
    child = Child(what, factory, limit, need_positive("memory", memory))

    def ask(task, *args):
        if shown:
            print(f"\r{task.__name__:<12}", *args[:1], end="\x1b[K", file=sys.stderr, flush=True)
        return child.ask(task, *args)

    try:
        rows = investigate(ask, scale, bool(quick), trials, told["seed"])
    except Refused as refusal:
        rows = [{"part": "promise", "what": "the policy"} | failed(str(refusal))]
    finally:
        child.stop()
    return report.made(rows, told)


def investigate(ask, scale: Scale, quick: bool, trials, seed: int):
    """All rows of the report, the promise first; where a task fails the reason stands there."""
    rows = []

    def add(part, name, task, *args, **more):
        found = ask(task, *args)
        rows.extend({"part": part, "what": name} | more | row for row in found)
        return found

    (promise,) = add("promise", "the policy", measuring.promised)
    if promise["outcome"] == "failed":
        return rows
    for name in checks.CHECKS:
        (found,) = add("contract", name, checks.checked, name)
        if found["outcome"] == "failed":
            rows[-1]["outcome"] = "broken"
            if name == "rows":  # nothing can be played
                return rows
    add("budget", "budgets", measuring.asked)
    add("speech", "a run", attack.speaks)
    if promise["model"] != "none":
        for how in ask(measuring.plans, quick):
            if "plan" in how:
                add("measured", "", measuring.measured, how.pop("plan"), **how)
            else:
                rows.append({"part": "measured", "what": "its noise"} | how)
        for task in (attack.general, attack.own):
            add("attack", f"{task.__name__} attack", task, quick, trials, seed)
    add("cost", "a round", leaderboard.cost)
    games = list(itertools.product(scale.worlds, scale.epsilons))
    for world, epsilon in games:
        where, game = f"{world}, epsilon = {epsilon:g}", (scale.T, epsilon, scale.n_reps, seed)
        (found,) = add("arena", where, leaderboard.newcomer, world, *game)
        if run := found.pop("run", None):
            there = leaderboard.rivals(world, found["common"], *game)
            placed = leaderboard.table(promise["factory"], run, there, len(games))
            rows[-1:] = [{"part": "arena", "where": where} | row for row in placed]
    return rows
