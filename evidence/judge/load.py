"""The policy that is judged: found in a file or given as it is, and run in a process of
its own."""

import functools
import importlib.util
import inspect
import multiprocessing
import os
import signal
import sys
import tempfile
import textwrap
import time
import traceback
from concurrent.futures.process import BrokenProcessPool, ProcessPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from companion import policies
from companion._stamps import stamp
from companion.core import Policy
from evidence.attacks.audit import AuditSpec
from evidence.attacks.table import NOTHING, known

try:
    import resource
except ImportError:  # Windows
    resource = None

# a private epsilon-greedy in plain Python
TEMPLATE = Path(__file__).with_name("template.txt")
# as it stands, or as text under postponed evaluation
ANNOTATED = (Policy, "Policy", "core.Policy")
# where there is no example()
GUESSES = {"d": 3, "K": 4, "T": 400, "epsilon": 1.0, "delta": 0.01}
# not the author's
OTHERS = str(Path(__file__).parents[1]), "site-packages", "/lib/python", "<"
MEMORY = 8 << 30  # bytes that the policy may use
PATIENCE = 4.0  # times the limit may pass on the clock, on a machine that others use
IDLE = 3_600.0  # seconds after which a process ends that nobody asks


class Subject(NamedTuple):
    """A policy, and what its module offers beside it."""

    name: str  # of the factory, or of the policy
    factory: Any
    make: Any  # number of arms -> instance
    spec: AuditSpec = NOTHING  # attacks and instances beyond what the policy declares

    @property
    def policy(self):
        """The example."""
        return self.make(4)

    @property
    def takes(self):
        """Parameters of the factory; none where it needs more than the judge can tell
        it."""
        taken = inspect.signature(self.factory).parameters
        needed = [
            n for n, p in taken.items() if p.default is p.empty and n not in GUESSES
        ]
        return {} if needed else taken

    def made(self, **told):
        """The factory's policy with these arguments, and guesses for those that it
        needs."""
        return given(self.factory, GUESSES | told)


def given(function, told):
    """What a function gives for those of these arguments that it takes."""
    taken = inspect.signature(function).parameters
    return function(**{n: v for n, v in told.items() if n in taken})


def load(what) -> Subject:
    """The `Subject` of a path, a dotted name, a policy, a function that makes one, or the
    name of one of the package's.  Raises ValueError on what cannot be imported, or makes
    no policy."""
    if isinstance(what, Policy):
        return Subject(what.name, lambda: what, lambda K: what)
    if what in policies.TABLE:
        make = functools.partial(policies.example, what)
        return Subject(
            name=what,
            factory=policies.factory(what),
            make=make,
            spec=known(what),
        )
    factory, example, spec = (
        (what, None, NOTHING) if callable(what) else _offered(str(what))
    )
    told = {} if example else GUESSES

    def make(K):
        return given(example or factory, told | {"K": K})

    return Subject(
        name=factory.__name__,
        factory=factory,
        make=make,
        spec=spec,
    )


def _offered(what):
    """(factory, example or None, `AuditSpec`) of the module of a path or of a dotted
    name."""
    path = Path(what).resolve()
    try:
        if path.suffix == ".py":
            spec = importlib.util.spec_from_file_location(f"judged_{path.stem}", path)
            module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
            sys.path.append(str(path.parent))
            spec.loader.exec_module(module)
        else:
            module = importlib.import_module(what)
    except (
        BaseException
    ) as error:  # whatever a stranger's file raises, SystemExit included
        raise ValueError(f"{what} does not import: {said(error)}") from None

    def makes(f):
        here = inspect.isfunction(f) and f.__module__ == module.__name__
        return here and inspect.signature(f).return_annotation in ANNOTATED

    makers = [f for name, f in inspect.getmembers(module, makes) if name != "example"]
    if len(makers) != 1:
        names = [f.__name__ for f in makers]
        raise ValueError(
            f"{what} must have one function annotated `-> Policy`; got {names}"
        )
    attacks = getattr(module, "attacks", None)
    spec = NOTHING if attacks is None else AuditSpec(attacks=attacks)
    return makers[0], getattr(module, "example", None), spec


def said(error) -> str:
    """An error in one line of at most 200 characters, with the last line of the
    author's."""
    text = textwrap.shorten(f"{type(error).__name__}: {error}", 200)
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if not any(part in frame.filename for part in OTHERS):
            return (
                f"{text} ({Path(frame.filename).name}, line {frame.lineno}: {frame.line})"
            )
    return text


# --- a process of its own
# -------------------------------------------------------------------------


class Child:
    """The policy in another process, which a task may hang or crash: `ask` for one after
    another.

    A limit is CPU time, so that a busy machine changes no verdict; on the clock a task
    has `PATIENCE` times as much.  Raises OSError where a process cannot be forked and
    limited.

    A new process reads the file of the policy again, so all that was found would be of
    two policies if the file changed.
    """

    def __init__(self, what, limit: float):
        if resource is None or "fork" not in multiprocessing.get_all_start_methods():
            raise OSError(
                "the judge does not run here: it forks a process and limits it, which "
                "needs Linux or macOS"
            )
        self.what = what
        self.limit = limit
        self.pool = None
        self.file = str(what) if str(what).endswith(".py") else None
        self.seen = stamp(self.file) if self.file else None

    def ask(self, task, *args):
        """The rows that task(subject, *args) gives, or one that says why it gives none.

        Raises ValueError if the file of the policy was written to.
        """
        began = time.perf_counter()
        fork = multiprocessing.get_context("fork")
        self.pool = self.pool or ProcessPoolExecutor(1, fork, _begin, (self.what,))
        try:
            found = self.pool.submit(_answer, task, args, self.limit).result()
        except BrokenProcessPool:
            self.pool = None
            late = time.perf_counter() - began >= self.limit
            why = "its process ends"
            if late:
                why = (
                    f"does not return within {self.limit:g} s of CPU, or "
                    f"{PATIENCE * self.limit:g} s on the clock"
                )
            found = failed(why)
        if self.file and stamp(self.file) != self.seen:
            raise ValueError(
                f"{self.file} was written to while it was judged: judge it again"
            )
        return found if isinstance(found, list) else [found]


def failed(why):
    """The row of a task that gives nothing."""
    return {"outcome": "failed", "found": why}


def _begin(what):
    """Begin the process: what is printed goes to a file; allocating more raises
    MemoryError."""
    _subject.what = what
    with tempfile.TemporaryFile() as log:
        for stream in (1, 2):
            os.dup2(log.fileno(), stream)
    sys.stdout, sys.stderr = (os.fdopen(stream, "w", closefd=False) for stream in (1, 2))
    # a handler would wait for compiled code
    for clock in (signal.SIGPROF, signal.SIGALRM):
        signal.signal(clock, signal.SIG_DFL)
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, most))


@functools.cache
def _subject():
    """The policy of this process."""
    return load(_subject.what)


def _answer(task, args, limit):
    _alarm(limit)
    try:
        return task(_subject(), *args)
    except BaseException as error:
        return failed(said(error))
    finally:
        _alarm(0.0)


def _alarm(limit):
    """End this process after so much time; 0: when nobody asks it for long."""
    signal.setitimer(signal.ITIMER_PROF, limit)
    signal.setitimer(signal.ITIMER_REAL, PATIENCE * limit or IDLE)
