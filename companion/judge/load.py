"""The policy that is judged: found in a file or given as it is, and run in a process of its own."""

import functools
import importlib
import importlib.util
import inspect
import multiprocessing
import os
import resource
import signal
import sys
import tempfile
import time
import traceback
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any, NamedTuple

from companion import policies
from companion.core import Policy

TEMPLATE = Path(__file__).with_name("template.txt")  # a private epsilon-greedy in plain Python
ANNOTATED = (Policy, "Policy", "core.Policy")  # as it stands, or as text under postponed evaluation
GUESSES = {"d": 3, "K": 4, "T": 400, "epsilon": 1.0, "delta": 0.01}  # where there is no example()
PATIENCE = 10.0  # times the limit may pass on the clock, on a machine that others use
IDLE = 3_600  # seconds after which a process ends that nobody asks


class Refused(ValueError):
    """What cannot be judged, and why, in one line."""


class Subject(NamedTuple):
    """A policy, and what its module offers beside it."""

    name: str  # of the factory, or of the policy
    factory: Any  # or None
    make: Any  # number of arms -> instance

    @property
    def policy(self):
        """The example."""
        return self.make(4)

    @property
    def takes(self):
        """Parameters of the factory; none where it needs more than the judge can tell it."""
        taken = inspect.signature(self.factory).parameters if self.factory else {}
        needed = [n for n, p in taken.items() if p.default is p.empty and n not in GUESSES]
        return {} if needed else taken

    def made(self, **told):
        """The factory's policy with these arguments, and guesses for those that it needs."""
        named = {n: v for n, v in (GUESSES | told).items() if n in self.takes}
        return self.factory(**named)


def load(what, factory=None) -> Subject:
    """The `Subject` of a path, a dotted name, a policy (made by the factory, if that is given), or
    the name of one of the package's; raises `Refused`."""
    if isinstance(what, Policy):
        return Subject(what.name, factory, lambda K: what)
    if what in policies.TABLE:
        return Subject(what, policies.factory(what), lambda K: policies.example(what, K))
    module = _imported(str(what))
    offered = vars(module)
    makers = [f for f in offered.values() if inspect.isfunction(f) and f.__name__ != "example"
              and f.__module__ == module.__name__
              and inspect.signature(f).return_annotation in ANNOTATED]  # fmt: skip
    if len(makers) != 1:
        names = ", ".join(f.__name__ for f in makers) or "none"
        raise Refused(
            f"{what} has no policy: one function annotated `-> Policy` must make it; got {names}"
        )
    (factory,), example = makers, offered.get("example")
    subject = Subject(factory.__name__, factory, None)
    if example is None:
        if inspect.signature(factory).parameters and not subject.takes:
            raise Refused(
                f"{subject.name} wants more than {', '.join(GUESSES)}: write example(), a small "
                "instance"
            )
        return subject._replace(make=lambda K: subject.made(K=K))
    with_arms = "K" in inspect.signature(example).parameters
    return subject._replace(make=lambda K: example(K=K) if with_arms else example())


def _imported(what):
    """The module of a path or of a dotted name."""
    path = Path(what).resolve()
    try:
        if path.suffix != ".py":
            return importlib.import_module(what)
        spec = importlib.util.spec_from_file_location(f"judged_{path.stem}", path)
        module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
        sys.path.append(str(path.parent))
        spec.loader.exec_module(module)
        return module
    except BaseException as error:  # whatever a stranger's file raises, SystemExit included
        raise Refused(f"{what} does not import: {said(error)}") from None


def said(error) -> str:
    """An error in one line of at most 200 characters, with the last line outside the package."""
    text = " ".join(f"{type(error).__name__}: {error}".split())
    text = text if len(text) <= 200 else f"{text[:197]}..."
    package, seen = str(Path(__file__).parents[1]), (error, error.__cause__)
    for frame in reversed([f for e in seen if e for f in traceback.extract_tb(e.__traceback__)]):
        library = any(part in frame.filename for part in ("site-packages", "/lib/python", "<"))
        if not frame.filename.startswith(package) and not library:
            return f"{text} ({Path(frame.filename).name}, line {frame.lineno}: {frame.line})"
    return text


# --- a process of its own -------------------------------------------------------------------------


class Child:
    """The policy in another process, which a task may hang or crash: `ask` for one after another.

    A limit is CPU time, so that a busy machine changes no verdict; on the clock a task has
    `PATIENCE` times as much.  The process is forked: it needs Linux or macOS.
    """

    def __init__(self, what, factory, limit: float, memory: float):
        self.told, self.limit, self.pool = (what, factory, memory), limit, None

    def ask(self, task, *args):
        """The rows that task(subject, *args) gives, or one that says why it gives none; raises
        `Refused` where the policy cannot be loaded."""
        if self.pool is None:
            fork = multiprocessing.get_context("fork")
            self.pool = ProcessPoolExecutor(1, fork, _begin, self.told)
        began = time.perf_counter()
        try:
            found = self.pool.submit(_answer, task, args, self.limit).result()
        except BrokenProcessPool:
            self.stop()
            late = time.perf_counter() - began >= self.limit
            found = failed(
                f"does not return within {self.limit:g} s" if late else "its process ends"
            )
        return found if isinstance(found, list) else [found]

    def stop(self) -> None:
        """End the process."""
        if self.pool is not None:
            self.pool.shutdown(wait=False)
            self.pool = None


def failed(why):
    """The row of a task that gives nothing."""
    return {"outcome": "failed", "found": why}


def _begin(what, factory, memory):
    """Begin the process: what is printed goes to a file; allocating more raises MemoryError."""
    _subject.told = what, factory
    with tempfile.TemporaryFile() as log:
        for stream in (1, 2):
            os.dup2(log.fileno(), stream)
    sys.stdout, sys.stderr = (os.fdopen(stream, "w", closefd=False) for stream in (1, 2))
    for clock in (signal.SIGPROF, signal.SIGALRM):
        signal.signal(clock, signal.SIG_DFL)
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (int(memory * 2**30), most))


@functools.cache
def _subject():
    """The policy of this process."""
    subject = load(*_subject.told)
    try:
        subject.make(4)
    except BaseException as error:
        raise Refused(f"its example cannot be made: {said(error)}") from None
    return subject


def _answer(task, args, limit):
    signal.setitimer(signal.ITIMER_PROF, limit)
    signal.setitimer(signal.ITIMER_REAL, PATIENCE * limit)
    try:
        return task(_subject(), *args)
    except Refused:
        raise
    except BaseException as error:
        return failed(said(error))
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.setitimer(signal.ITIMER_REAL, IDLE)
