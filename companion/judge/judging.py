"""`judge`: a policy goes in; what it promises, what it gives, how it does, comes out."""

import sys
import time
from typing import NamedTuple

from companion.judge import contract, report, standing, subject
from companion.judge.store import Store, digest_of_package
from companion.judge.subject import Refused
from companion.judge.words import UNPLAYED
from companion.judge.worker import Failed, Worker
from companion.validate import (
    need_choice,
    need_float,
    need_int,
    need_members,
    need_positive,
    need_seed,
)

WIDE = 30  # characters of the bar


class Scale(NamedTuple):
    """How much is played."""

    limit: float  # seconds that one task may take
    worlds: tuple  # of the arena
    epsilons: tuple
    T: int  # rounds in the arena
    n_reps: int  # repetitions, and those that tune
    tune_reps: int
    cases: int  # instances that are measured, the first ones


FULL = Scale(90.0, ("d = 5", "logistic clicks"), (1.0, 8.0), 2_000, 10, 3, 100)
QUICK = Scale(30.0, ("d = 5",), (8.0,), 400, 8, 2, 2)
RIVALS = 1_800.0  # seconds that our own policies may take: their kernels may have to be compiled


def judge(
    policy_or_module,
    *,
    worlds=None,
    epsilons=None,
    seed: int = 1,
    quick: bool = False,
    trials: int | None = None,
    store=None,
    limit: float | None = None,
    progress=None,
):
    """A `Report` on a policy that need not be of this package, compiled or plain Python.

    policy_or_module: the path of a file, the dotted name of a module, a module, or a `Policy`;
    worlds: names of `standing.WORLDS` (None: two, one if quick; empty: no arena); epsilons: budgets
    in [0.01, 100] there (None: 1 and 8, or 8); seed: an integer >= 0; quick: a short look; trials:
    runs of each input that an attack counts, in [4, 10^7] (None: the numbers of `judge.effort`;
    fewer take less time and show less); store: a file that keeps what was found, by which an
    interrupted judgement goes on (None: nothing is kept); limit: seconds of CPU that one task may
    take before it is stopped (None: 30 or 90); progress: whether a bar is shown (None: on a
    terminal).  The policy runs in a process of its own.  Of the report, only the cost, the time it
    took, and what the limit stops depend on the machine (`Report.reproducible`).  Raises ValueError
    where the settings make no sense; what is wrong with the policy stands in the report.
    """
    scale = scaled(QUICK if quick else FULL, worlds, epsilons)
    limit = scale.limit if limit is None else need_positive("limit", limit)
    trials = trials if trials is None else need_int("trials", trials, 4, 10**7)
    session = Session(policy_or_module, need_seed("seed", seed), limit, Store(store), progress)
    began = time.perf_counter()
    try:
        parts = investigate(session, scale, (bool(quick), trials))
    except Refused as refusal:
        parts = {"refused": str(refusal)}
    finally:
        session.worker.stop()
    told = {"seed": seed, "quick": bool(quick), "trials": trials, "limit": limit}
    return report.made(parts | {"settings": told, "took": round(time.perf_counter() - began, 1)})


def scaled(scale: Scale, worlds, epsilons) -> Scale:
    """The scale with these worlds and budgets; None: its own.  Raises ValueError on others."""
    if worlds is not None:
        names = tuple(need_choice("worlds", w, tuple(standing.WORLDS)) for w in worlds)
        scale = scale._replace(worlds=names)
    if epsilons is not None:
        budgets = need_members("epsilons", epsilons)
        told = tuple(need_float("epsilons", e, 0.01, 100.0) for e in budgets)
        scale = scale._replace(epsilons=told)
    return scale


class Session:
    """One judgement: asks the worker, keeps what it says, shows the bar."""

    def __init__(self, what, seed, limit, store, progress):
        self.worker, self.seed, self.limit, self.store = Worker(what), seed, limit, store
        self.mine = [subject.digest(what), digest_of_package(), limit]
        self.kept = self.mine[0] is not None
        self.shown = sys.stderr.isatty() if progress is None else progress
        self.done, self.planned = 0, 1

    def ask(self, task, *args, ours: bool = False):
        """{"found": ...} or {"failed": why}, kept under all that it depends on; ours: that is the
        package alone, not the policy that is judged."""
        self.bar(task.split(":")[1])
        mine, limit = (self.mine[1:2], RIVALS) if ours else (self.mine, self.limit)
        key = self.store.key(*mine, task, args)
        if not ((self.kept or ours) and key in self.store):
            try:
                answer = {"found": self.worker.ask(task, limit, *args)}
            except Failed as failure:
                answer = {"failed": str(failure)}
            self.store[key] = answer
        self.done += 1
        return self.store[key]

    def bar(self, doing: str) -> None:
        """The bar on a terminal."""
        if self.shown:
            full = WIDE * self.done // max(self.planned, self.done)
            print(f"\r[{'#' * full:<{WIDE}}] {doing:<24}", end="", file=sys.stderr, flush=True)


def investigate(session, scale, effort):
    """All parts of the report as plain data; what fails stands there with the reason."""
    ask = session.ask
    parts = {"promise": ask("guarantee:promised")}
    points = list(contract.POINTS)
    session.planned = len(points) + 9 + len(scale.worlds) * (1 + len(scale.epsilons))
    first = ask("points:checked", "rows")
    plays = "failed" not in first
    parts["contract"] = {"rows": first}
    for name in points:
        if name != "rows":
            alive = plays or name in ("complete", "guarantee", "pickles", "refusals", "fresh state")
            found = ask("points:checked", name) if alive else {"failed": UNPLAYED}
            parts["contract"][name] = found
    promise = parts["promise"].get("found", {})
    parts["asked"] = ask("guarantee:asked")
    cases = range(min(promise.get("disclosures", 0), scale.cases))
    parts["measured"] = [ask("guarantee:measured", i) for i in cases]
    parts["attack"], parts["speaks"] = [], {"failed": UNPLAYED}
    if plays:
        parts["speaks"] = ask("attack:speaks")
        if promise.get("model", "none") != "none":
            parts["attack"] = attacks(session, effort)
    parts["cost"] = ask("cost:measured") if plays else {"failed": UNPLAYED}
    parts["arena"] = arena(session, scale, promise) if plays else []
    return parts


def arena(session, scale: Scale, promise):
    """[{"world", "epsilon", "T", and "rows", or why there are none}] of every setting."""
    found, sizes = [], (scale.n_reps, scale.tune_reps, session.seed)
    looks = max(1, len(scale.worlds) * len(scale.epsilons))
    for world in scale.worlds:
        mine = [session.ask("standing:newcomer", world, scale.T, e, *sizes)
                for e in scale.epsilons]  # fmt: skip
        ours = session.ask("standing:rivals", world, scale.T, scale.epsilons, *sizes, ours=True)
        for i, (epsilon, one) in enumerate(zip(scale.epsilons, mine, strict=True)):
            setting = {"world": world, "epsilon": epsilon, "T": scale.T}
            why = one.get("failed") or one["found"].get("refused") or ours.get("failed")
            if why:
                found.append(setting | {"refused": why})
                continue
            runs = ours["found"][i]["runs"]
            rows = standing.table(promise["factory"], one["found"], runs, looks)
            found.append(setting | {"rows": rows, "call": one["found"]["call"]})
    return found


def attacks(session, effort):
    """The module's own attacks and the general ones; effort: (quick, trials)."""
    seed = session.seed
    found = [session.ask("attack:general", *effort, seed, far) for far in (False, True)]
    own = session.ask("attack:count")
    if "failed" in own:
        return [*found, own]
    session.planned += own["found"]
    return found + [session.ask("attack:own", i, *effort, seed) for i in range(own["found"])]
