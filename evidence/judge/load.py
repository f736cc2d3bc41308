"""The policy that is judged: found in a file or given as it is, and run in a process of
its own."""

import functools
import hashlib
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
    spec: AuditSpec = NOTHING  # of a policy of this package: its instances
    digest: str = ""  # SHA-256 of the source that was imported; "": it has no file

    @property
    def policy(self):
        """The example."""
        return self.make(4)

    @property
    def takes(self):
        """Parameters of the factory; none where it needs more than the judge can tell
        it."""
        takes = inspect.signature(self.factory).parameters
        for name, parameter in takes.items():
            if parameter.default is parameter.empty and name not in GUESSES:
                return {}
        return takes


def taken(function, told):
    """Those of these arguments that a function takes."""
    takes = inspect.signature(function).parameters
    return {name: value for name, value in told.items() if name in takes}


def given(function, told):
    """What a function gives for those of these arguments that it takes."""
    return function(**taken(function, told))


def load(what) -> Subject:
    """The `Subject` of a path, a dotted name, a policy, a function that makes one, or the
    name of one of the package's.  Raises ValueError on what cannot be imported, or makes
    no policy."""
    if isinstance(what, Policy):
        return Subject(name=what.name, factory=lambda: what, make=lambda K: what)
    factory = what
    example = what
    told = GUESSES
    if what in policies.TABLE:
        factory = policies.factory(what)
        example = functools.partial(policies.example, what)
    elif not callable(what):
        module = imported(str(what))
        factory = maker(module, what)
        example = factory
        if hasattr(module, "example"):
            example = module.example
            told = {}  # its author's own choices
    return Subject(
        name=factory.__name__,
        factory=factory,
        make=lambda K: given(example, told | {"K": K}),
        spec=known(what),
        digest=digest(factory.__code__.co_filename),
    )


def digest(file) -> str:
    """SHA-256 of what a file holds now, in hexadecimal digits; "" if there is none."""
    if not os.path.isfile(file):
        return ""
    return hashlib.sha256(Path(file).read_bytes()).hexdigest()


def imported(what: str):
    """The module of a path or of a dotted name; of a path what it holds now, not what is
    in a cache."""
    path = Path(what).resolve()
    try:
        if path.suffix != ".py":
            return importlib.import_module(what)
        spec = importlib.util.spec_from_file_location(f"judged_{path.stem}", path)
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        sys.path.append(str(path.parent))
        exec(compile(path.read_bytes(), path, "exec"), module.__dict__)
        return module
    # whatever a stranger's file raises, SystemExit included
    except BaseException as error:
        raise ValueError(f"{what} does not import: {said(error)}") from None


def maker(module, what):
    """The one function of a module that is annotated `-> Policy`."""
    makers = []
    for name, function in inspect.getmembers(module, inspect.isfunction):
        here = function.__module__ == module.__name__ and name != "example"
        if here and inspect.signature(function).return_annotation in ANNOTATED:
            makers.append(function)
    if len(makers) != 1:
        names = [function.__name__ for function in makers]
        raise ValueError(
            f"{what} must have one function annotated `-> Policy`; got {names} -> "
            "fill in a template: python -m evidence.judge --new template.py"
        )
    return makers[0]


def said(error) -> str:
    """An error in one line of at most 200 characters, with the last line of the
    author's."""
    text = textwrap.shorten(f"{type(error).__name__}: {error}", 200)
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if not any(part in frame.filename for part in OTHERS):
            name = Path(frame.filename).name
            return f"{text} ({name}, line {frame.lineno}: {frame.line})"
    return text


# --- a process of its own
# -------------------------------------------------------------------------


class Child:
    """The policy in another process, which a task may hang or crash: `ask` for one after
    another.

    limit: CPU seconds of a task, so that a busy machine changes no verdict; on the clock
    a task has `PATIENCE` times as much.  total: seconds on the clock for all tasks; what
    is asked for later is not begun.  Raises OSError where a process cannot be forked and
    limited.

    A new process reads the file of the policy again, so all that was found would be of
    two policies if the file changed.
    """

    def __init__(self, what, limit: float, total: float = 3_600.0):
        if resource is None or "fork" not in multiprocessing.get_all_start_methods():
            raise OSError(
                "the judge does not run here: it forks a process and limits it, which "
                "needs Linux or macOS"
            )
        self.what = what
        self.limit = limit
        self.total = total
        self.spent = 0.0
        self.pool = None
        self.seen = digest(str(what))

    def ask(self, task, *args):
        """The rows that task(subject, *args) gives, or one that says why it gives none.

        Raises ValueError if the file of the policy was written to.
        """
        clock = min(PATIENCE * self.limit, self.total - self.spent)
        if clock <= 0.0:
            over = f"the {self.total:g} s of a report are over: make a round faster"
            return [{"outcome": "not begun", "found": over}]
        began = time.perf_counter()
        if self.pool is None:
            fork = multiprocessing.get_context("fork")
            self.pool = ProcessPoolExecutor(1, fork, _begin, (self.what,))
        try:
            found = self.pool.submit(_answer, task, args, self.limit, clock).result()
        except BrokenProcessPool:
            self.pool = None
            found = failed("its process ends")
            passed = time.perf_counter() - began
            if passed >= clock:
                found = failed(f"does not return within {clock:.3g} s on the clock")
            elif passed >= self.limit:
                found = failed(f"does not return within {self.limit:g} s of CPU")
        self.spent += time.perf_counter() - began
        if digest(str(self.what)) != self.seen:
            raise ValueError(
                f"{self.what} was written to while it was judged: judge it again"
            )
        return found if isinstance(found, list) else [found]


def failed(why: str):
    """The row of a task that gives nothing."""
    return {"outcome": "failed", "found": why}


def _begin(what):
    """Begin the process: what is printed goes to a file; allocating more raises
    MemoryError."""
    _subject.what = what
    with tempfile.TemporaryFile() as log:
        os.dup2(log.fileno(), 1)
        os.dup2(log.fileno(), 2)
    sys.stdout = os.fdopen(1, "w", closefd=False)
    sys.stderr = os.fdopen(2, "w", closefd=False)
    # a handler would wait for compiled code
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, most))


@functools.cache
def _subject():
    """The policy of this process."""
    return load(_subject.what)


def _answer(task, args, limit: float, clock: float):
    """What a task gives; the process ends where it takes longer."""
    signal.setitimer(signal.ITIMER_PROF, limit)
    signal.setitimer(signal.ITIMER_REAL, clock)
    try:
        return task(_subject(), *args)
    except BaseException as error:
        return failed(said(error))
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.setitimer(signal.ITIMER_REAL, IDLE)
