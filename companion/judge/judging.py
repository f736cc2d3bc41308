"""`judge`: a policy goes in; what it promises, what it gives, how it does, comes out.

The policy runs in a child process: what hangs is stopped, what crashes takes nobody along.  The
child does one task after another; a task that raises, that kills the child, or that takes more than
its limit is answered for, and the next one gets a new child.  A limit is CPU time, so that a busy
machine changes no verdict; on the clock a task has `PATIENCE` times as much.  Every task answers
with rows of the report: {"outcome": see `report`, "found": in words, and numbers}.
"""

import functools
import multiprocessing
import os
import signal
import sys
import time
from typing import NamedTuple

from companion.judge import attack, checks, leaderboard, measuring, report
from companion.judge.load import Refused, load, said
from companion.validate import (
    need_choice,
    need_float,
    need_int,
    need_members,
    need_positive,
    need_seed,
)

START, PATIENCE = 60.0, 5.0  # seconds within which a file imports; for machines that others use
CLOCK = hasattr(signal, "setitimer")  # else limits are on the clock alone


class Scale(NamedTuple):
    """How much is played."""

    limit: float  # seconds that one task may take
    worlds: tuple  # of the arena
    epsilons: tuple
    T: int  # rounds in the arena
    sizes: tuple  # repetitions there, and those that tune


FULL = Scale(90.0, ("d = 5", "logistic clicks"), (1.0, 8.0), 2_000, (10, 3))
QUICK = Scale(30.0, ("d = 5",), (8.0,), 400, (8, 2))
TASKS = {f.__name__: f for f in (measuring.promised, measuring.plans, measuring.measured,
         measuring.asked, checks.checked, attack.general, attack.own, attack.speaks,
         leaderboard.newcomer, leaderboard.cost)}  # fmt: skip


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

    what: a `Policy`, the path of a file, the dotted name of a module, or a module; factory: what
    made the `Policy`, so that other dimensions and budgets can be measured; worlds: names of
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
    shown, began = sys.stderr.isatty() if progress is None else progress, time.perf_counter()
    child = Child(what, factory, limit, need_positive("memory", memory), shown)
    try:
        promise, rows = investigate(child.ask, scale, bool(quick), trials, told["seed"])
    except Refused as refusal:
        promise, rows = failed(str(refusal)), []
    finally:
        child.stop()
    return report.made(promise, rows, told, round(time.perf_counter() - began, 1))


def investigate(ask, scale: Scale, quick: bool, trials, seed: int):
    """(what is promised, all rows of the report); what fails stands there with the reason."""
    rows, (promise,) = [], ask("promised")

    def add(part, what, task, *args):
        found = ask(task, *args)
        rows.extend({"part": part, "what": what} | row for row in found)
        return found

    plays = add("contract", "rows", "checked", "rows")[0]["outcome"] != "failed"
    for name in list(checks.CHECKS)[1:]:
        if plays or name in checks.WITHOUT_RUN:
            add("contract", name, "checked", name)
        else:
            rows.append({"part": "contract", "what": name, "outcome": "not tried",
                         "found": "the first run gave nothing"})  # fmt: skip
    for row in rows:
        row["outcome"] = "broken" if row["outcome"] == "failed" else row["outcome"]
    if not plays or "said" not in promise:
        return promise, rows
    add("budget", "budgets", "asked")
    add("speech", "a run", "speaks")
    if promise["model"] != "none":
        for plan in ask("plans", quick):
            if "outcome" in plan:
                rows.append({"part": "measured", "what": "its noise"} | plan)
            else:
                add("measured", plan["what"], "measured", plan["plan"])
        for task in ("general", "own"):
            add("attack", f"{task} attack", task, quick, trials, seed)
    add("cost", "a round", "cost")
    looks = max(1, len(scale.worlds) * len(scale.epsilons))
    for world in scale.worlds:
        for epsilon in scale.epsilons:
            where = f"{world}, T = {scale.T:,}, epsilon = {epsilon:g}"
            game = world, scale.T, epsilon, scale.sizes, seed
            found = ask("newcomer", *game)
            if run := found[0].pop("run", None):
                there = rivals(promise["model"], *game)
                found = leaderboard.table(promise["factory"], run, there, looks)
            rows += [{"part": "arena", "where": where, "what": where} | row for row in found]
    return promise, rows


rivals = functools.lru_cache(maxsize=8)(leaderboard.rivals)


class Child:
    """The policy in a process of its own: `ask` it for one task after another."""

    def __init__(self, what, factory, limit, memory, shown=False):
        self.told, self.limit, self.shown = (what, factory, memory), limit, shown
        self.process = self.pipe = None

    def ask(self, task: str, *args):
        """The rows that the task gives, or one that says why it gives none; raises `Refused` where
        the policy cannot be loaded."""
        if self.shown:
            print(f"\r{task:<12}", *args[:1], end="\x1b[K", file=sys.stderr, flush=True)
        if self.process is None:
            self._start()
        self.pipe.send((task, args, self.limit))
        found = self._answer(self.limit)
        return found if isinstance(found, list) else [found]

    def stop(self) -> None:
        """End the process."""
        if self.process is not None:
            self.process.kill()
            self.process.join()
            self.pipe.close()
            self.process = None

    def _start(self):
        fork = "fork" in multiprocessing.get_all_start_methods()
        context = multiprocessing.get_context("fork" if fork else "spawn")
        self.pipe, theirs = context.Pipe()
        told = (theirs, self.pipe, *self.told)
        self.process = context.Process(target=_serve, args=told, daemon=True)
        self.process.start()
        theirs.close()
        if why := self._answer(START):
            self.stop()
            raise Refused(why["found"])

    def _answer(self, limit):
        slow = failed(f"does not return within {limit:g} s")
        if not self.pipe.poll(limit * PATIENCE if CLOCK else limit):
            self.stop()
            return slow
        try:
            return self.pipe.recv()
        except EOFError:
            self.process.join()
            code = self.process.exitcode
            self.stop()
            if CLOCK and code == -signal.SIGPROF:
                return slow
            how = f"signal {-code}" if code < 0 else f"exit code {code}"
            return failed(f"its process ends, with {how}")


def failed(why):
    """The row of a task that gives nothing."""
    return {"outcome": "failed", "found": why}


def _serve(pipe, asking, what, factory, memory):
    """The child: load, then answer until nobody asks.  A fork holds a copy of the asking end, by
    which it would never notice that its parent is gone."""
    asking.close()
    quiet = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):  # what a policy prints is no part of the report's page
        os.dup2(quiet, stream)
    sys.stdout, sys.stderr = (os.fdopen(os.dup(quiet), "w") for _ in range(2))
    _bound_memory(memory)
    try:
        subject = load(what, factory)
        subject.make(4)
    except Refused as refusal:
        return pipe.send(failed(str(refusal)))
    except BaseException as error:
        return pipe.send(failed(f"its example cannot be made: {said(error)}"))
    pipe.send(None)
    while True:
        try:
            task, args, limit = pipe.recv()
        except EOFError:
            return None
        _alarm(limit)
        try:
            answer = TASKS[task](subject, *args)
        except BaseException as error:
            answer = failed(said(error))
        _alarm(0.0)
        pipe.send(answer)


def _bound_memory(gigabytes):
    """Allocating more raises MemoryError, where the system can say so."""
    try:
        import resource
    except ImportError:  # not on Windows
        return
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (int(gigabytes * 2**30), most))


def _alarm(seconds):
    """End this process after so many seconds of CPU time; 0: never."""
    if CLOCK:
        signal.signal(signal.SIGPROF, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_PROF, seconds)
