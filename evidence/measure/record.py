"""RECORD: what a private algorithm draws, what it shows, and by which call.

`Interpreter` copies the functions of an algorithm: in the copies every kernel is plain
Python, and the kernels that an `AuditInstance` names are stood in for by a recorder.
Nothing else changes: no module is written to.

A `Recorder` plays records and gives a `Run`.  In it every call of a named kernel is made
twice: on copies of its arguments with a generator that is the same in every call, for the
numbers that come out (they differ by what a record moves); and in earnest.  A run that
follows the *script* of another gets that one's outcomes in place of its own: both have
the same public past, so whatever differs comes from the records.  In every round other
users ask for advice, too, on copies of the state.

`joint_noise` and `fresh_draws` make recorded calls once more, with other noise.
"""

import functools
import sysconfig
from functools import partial
from pathlib import Path
from types import CellType, FunctionType, ModuleType
from typing import Any, NamedTuple
from unittest.mock import Mock

import numpy as np
from numba.core.dispatcher import Dispatcher

from companion.contract import one_context
from companion.core import Optimiser
from companion.live import leaves

OTHERS = 6  # users who ask for advice in every round, besides the one who is served
LONG = 16  # rounds of a run beyond which one other user asks
MANY = 400  # draws by which the chances of few values are told from each other
EXTREME = 100  # draws of a round that are extreme; a loop that draws again must end
UNKNOWN = "unknown"  # the law of noise by other draws, if none is declared
VALUES = "values"  # the law of few values, drawn afresh in every call
ADDED = {"gaussian", "laplace"}  # laws of noise that is added to what a record moves
DRAWN = {  # methods that noise is drawn by: the law where only these are met
    "gaussian": {"standard_normal", "normal"},
    "laplace": {"laplace", "standard_exponential", "exponential"},
    "counts": {"binomial"},
}
LIBRARIES = [Path(sysconfig.get_path(key)) for key in ("stdlib", "platstdlib", "purelib")]


class Leak(Exception):
    """Others see of a record more than the declared releases."""


class NotMeasured(ValueError):
    """What cannot be measured, and why."""


class TooMany(NotMeasured):
    """More numbers are shown than can be measured together: fewer rounds may do."""


class Unfit(NotMeasured):
    """The noise has not the law that is declared for it, or guessed from its draws."""


# --- generators


class ExtremeRng(np.random.Generator):
    """A generator whose first exponentials are a million times too large, to reach
    extreme states."""

    drawn = 0

    def standard_exponential(self, *size):
        """A million times too large, the first `EXTREME` times."""
        self.drawn += 1
        size_factor = 1e6 if self.drawn <= EXTREME else 1.0
        return size_factor * super().standard_exponential(*size)


def law_of(methods: set[str]) -> str:
    """The law of noise that draws by these methods have, if one is known."""
    for law, known in DRAWN.items():
        if methods <= known:
            return law
    return UNKNOWN


def is_generator(a) -> bool:
    """Whether numbers can be drawn from it."""
    return isinstance(a, np.random.Generator)


# --- interpreted copies


def uncompiled(kernel):
    """The Python function of a kernel; itself if it is not compiled."""
    return getattr(kernel, "py_func", kernel)


@functools.cache
def is_own(name: str, file) -> bool:
    """Whether the module in this file is the package's or the policy's author's: no
    library's."""
    if name.partition(".")[0] == "companion":
        return True
    return bool(file) and not any(
        Path(file).is_relative_to(folder) for folder in LIBRARIES
    )


class Interpreter:
    """Maps functions, and tuples with functions, to copies in which all kernels are plain
    Python.

    instead: {kernel: the function in its place}.  Numba's kernels cannot call those.
    """

    def __init__(self, instead):
        self.instead = {uncompiled(k): function for k, function in instead.items()}
        self.copies = {}
        self.spaces = {}

    def __call__(self, value):
        if isinstance(value, Dispatcher | FunctionType):
            function = uncompiled(value)
            if function in self.instead:
                return self.instead[function]
            return self.plain(function)
        if isinstance(value, partial):
            return partial(self(value.func), *map(self, value.args), **value.keywords)
        if isinstance(value, tuple):  # a policy, too
            return tuple.__new__(type(value), map(self, value))
        if isinstance(value, ModuleType):
            return self.module(value)
        return value

    def module(self, module):
        """A copy whose names are mapped when they are asked for; a library's as it is."""
        if not is_own(module.__name__, getattr(module, "__file__", "")):
            return module
        copy = self.copies.setdefault(module, ModuleType(module.__name__))
        copy.__getattr__ = lambda name: self(getattr(module, name))
        return copy

    def plain(self, function):
        """The copy of a function itself, even if another stands in for it elsewhere."""
        function = uncompiled(function)
        names = function.__globals__
        if "__file__" in names and not is_own(function.__module__, names["__file__"]):
            return function  # a library's; what was typed in a notebook has no file
        if function not in self.copies:
            originals = function.__closure__ or ()
            cells = tuple(CellType() for _ in originals)
            copy = FunctionType(
                function.__code__,
                self.spaces.setdefault(id(names), _Space(self, names)),
                function.__name__,
                function.__defaults__,
                cells or None,
            )
            copy.__kwdefaults__ = function.__kwdefaults__
            copy.__module__ = function.__module__
            self.copies[function] = copy
            for cell, original in zip(cells, originals, strict=True):
                cell.cell_contents = self(original.cell_contents)
        return self.copies[function]


class _Space(dict):
    """The global names of copies: each is mapped when it is first asked for."""

    def __init__(self, copies, names):
        self.copies = copies
        self.names = names

    def __missing__(self, name):
        self[name] = self.copies(self.names[name])
        return self[name]


PLAIN = Interpreter({})  # in which no kernel is recorded

# --- trees of arrays


def copied(tree, rng=None):
    """The same nested tuple with copies of its arrays, and another generator if one is
    given."""
    if isinstance(tree, np.ndarray):
        return tree.copy()
    if isinstance(tree, tuple):  # a named one, too
        return tuple.__new__(type(tree), [copied(part, rng) for part in tree])
    if rng is not None and is_generator(tree):
        return rng
    return tree


def arrays(tree) -> list[np.ndarray]:
    """All arrays of a nested tuple."""
    return [leaf for _, leaf in leaves(tree, "") if isinstance(leaf, np.ndarray)]


def public(state, private_fields) -> dict[str, np.ndarray]:
    """Copies of the fields of a state but for those that are named; "V.exact" is a field
    of a field."""
    fields = {}
    for path, part in leaves(state, ""):
        if not any(f"{path}.".startswith(f".{name}.") for name in private_fields):
            fields[path[1:]] = np.array(part)
    return fields


# --- recorded runs


class Part(NamedTuple):
    """Numbers that a call shows, and the law of their noise."""

    law: str
    numbers: np.ndarray


class Call(NamedTuple):
    """One call of a kernel that lets something out."""

    kernel: Any
    read: Any
    # its arguments as handed over, not copied; () where a script was followed
    live: tuple
    # copies from before the call, the generator's too; of a follower only for `VALUES`
    args: tuple
    clean: list  # `Part`s with the same noise in every call; of `VALUES` `MANY` draws
    noise: list  # what the noise of two generators differs by, whatever the record
    result: Any = None
    shown: Any = ()  # {number of a released array: what it holds afterwards}
    round: int = 0  # counted from 0


class Run(NamedTuple):
    """What was played."""

    state: tuple  # the first one, whose arrays were overwritten
    calls: list
    arms: list  # [(arm of the user who is served, *arms of the others who ask)]
    public: list  # the fields that others see, of every round
    changed: list  # arrays that recorded kernels changed


class Played(int):
    """The arm that a user plays, whatever she was advised."""


def has_contexts(policy) -> bool:
    """Whether a record has a context; without one, arms are public."""
    return hasattr(policy.params, "d")


def dimension(policy) -> int:
    """Dimension of a context; 1 for policies without contexts."""
    return getattr(policy.params, "d", 1)


def offered(policy, record) -> np.ndarray:
    """(K, d) contexts of the user with this record: hers stands in all rows."""
    K = getattr(policy.params, "K", 3)
    x = np.zeros(dimension(policy))
    if record is not None:
        x[:] = record[1]
    return np.tile(x, (K, 1))


def begin(case, generator):
    """The state in which the case begins; an optimiser's may hold noise that was drawn
    for it."""
    policy = case.policy
    if case.initial_state is not None:
        return copied(case.initial_state)
    if isinstance(policy, Optimiser):
        return uncompiled(policy.init)(policy.params, generator)
    return uncompiled(policy.init)(policy.params)


class Recorder:
    """An `AuditInstance` as plain Python, whose releases are recorded: `play` gives a
    `Run`."""

    _generator = ExtremeRng

    def __init__(self, case):
        self.methods = set()  # by which noise is drawn whose law is not declared
        self.laws = {}
        self.drawn = {}
        self.copies = Interpreter(
            {k: partial(self._call, k, read) for k, read in case.releases.items()}
        )
        self.case = case._replace(policy=self.copies(case.policy))

    def play(self, records, *, script: Run | None = None, seed: int = 0) -> Run:
        """`Run` on records [(arm, x, r) or None: nobody learns, ...], outcomes as in the
        script.

        Every round, advice and update get streams of their own, so that runs with
        different records share all draws that no recorded kernel makes.
        """
        policy = self.case.policy
        private = self.case.private_fields
        s = begin(self.case, np.random.default_rng(seed))
        run = Run(state=s, calls=[], arms=[], public=[], changed=[])
        self.script = script
        self.run = run
        self.round = 0
        if isinstance(policy, Optimiser):
            X = np.array([x for _, x, _ in records], dtype=float)
            Y = np.array([y for _, _, y in records], dtype=float)
            rng = np.random.default_rng([seed, 0])
            policy.run(policy.params, s, X, Y, rng, np.zeros(X.shape))
            records = ()
        for t, record in enumerate(records):
            self.round = t
            self._play_round(s, record, seed)
            run.public.append(public(s, private))
        run.public.append(public(s, private))
        return run

    def _play_round(self, s, record, seed):
        """Advice for everybody, and what the user's record teaches."""
        policy = self.case.policy
        t = self.round
        X = offered(policy, record)
        rng = np.random.default_rng([seed, t, 0])
        released = len(self.run.calls)
        arm = int(policy.select(policy.params, s, X, rng))
        told = [arm]
        if len(self.run.calls) == released:  # else advice is a release itself
            told += self._others(s, X.shape, [seed, t, 2])
        self.run.arms.append(tuple(told))
        if record is None:
            return
        chooses = has_contexts(policy) and not self.case.assumes_compliance
        if chooses or isinstance(record[0], Played):
            arm = record[0]
        x = X[arm % len(X)].copy()
        noise = self._generator(np.random.PCG64([seed, t, 1]))
        policy.update(policy.params, s, arm, x, float(record[2]), noise)

    def _others(self, s, shape, seed) -> list[int]:
        """The arms that other users are told, who look at contexts of their own."""
        policy = self.case.policy
        rng = np.random.default_rng(seed)
        n = OTHERS if self.case.rounds <= LONG else 1
        arms = []
        for X in rng.uniform(-0.7, 0.7, (n, *shape)):
            if one_context(policy):
                X[1:] = X[0]
            arms.append(int(policy.select(policy.params, copied(s), X, rng)))
        return arms

    def _call(self, kernel, read, *args):
        """The call of a recorded kernel, which is noted."""
        log = self.run.calls
        clean = self._numbers(kernel, read, args)
        is_added = {part.law for part in clean} <= ADDED
        noise = []
        if is_added:
            noisy = released(self.copies, kernel, read, args, np.random.default_rng(11))
            noise = [a.numbers - b.numbers for a, b in zip(noisy, clean, strict=True)]
        is_base = self.script is None
        before = copied(args) if is_base or self.laws[kernel] == VALUES else ()
        result = self.copies.plain(kernel)(*args)
        parts = read(result, *args)
        places = arrays(args)
        if is_base:  # note what the call shows and changes
            contents = arrays(before)
            shown = _let_out(parts, places, contents)
            self.run.changed.extend(
                a for a, b in zip(places, contents, strict=True) if not same_bits(a, b)
            )
        else:  # put the script's outcomes in place of its own
            if len(log) >= len(self.script.calls):
                raise Leak("the number of releases depends on a record")
            first = self.script.calls[len(log)]
            shown = first.shown
            if not is_added or any(np.array_equal(result, a) for _, a in parts):
                result = first.result  # what is not shown follows the record
            for i, after in shown.items():
                places[i][...] = after
        log.append(
            Call(
                kernel=kernel,
                read=read,
                live=args if is_base else (),
                args=before,
                clean=clean,
                noise=noise,
                result=result,
                shown=shown,
                round=self.round,
            )
        )
        return result

    def _numbers(self, kernel, read, args) -> list[Part]:
        """The same with the same noise in every call, of `VALUES` many draws; where no
        law is declared it is that of the kernel's draws."""
        if kernel not in self.laws:
            rng = np.random.default_rng(0)
            noting = Mock(spec=rng, wraps=rng)  # which methods draw the noise
            parts = released(self.copies, kernel, read, args, noting)
            declared = [part.law for part in parts]
            self.laws[kernel] = declared[0]
            if None in declared:
                methods = {name for name, _, _ in noting.method_calls}
                self.laws[kernel] = law_of(methods)
                self.methods |= methods or {"no generator"}
        law = self.laws[kernel]
        if law != VALUES:
            clean = released(self.copies, kernel, read, args, np.random.default_rng(12))
            return [part._replace(law=part.law or law) for part in clean]
        inputs = [
            np.asarray(a).tobytes() for _, a in leaves(args, "") if not is_generator(a)
        ]
        key = (kernel, *inputs)
        if key not in self.drawn:
            call = Call(kernel=kernel, read=read, live=(), args=args, clean=[], noise=[])
            self.drawn[key] = fresh_rows(call, MANY, 13)
        return [Part(VALUES, self.drawn[key])]


class Watcher(Recorder):
    """The same, whose calls are made once and as they are: a run's `calls` are all
    numbers that it shows, in order."""

    _generator = np.random.Generator

    def _call(self, kernel, read, *args):
        result = self.copies.plain(kernel)(*args)
        for _, part in read(result, *args):
            self.run.calls.append(np.array(part, dtype=float).ravel())
        return result

    def _others(self, s, shape, seed):
        return []


def released(copies, kernel, read, args, rng) -> list[Part]:
    """What a call on copies of its arguments shows with this generator."""
    copy = copied(args, rng)
    parts = read(copies.plain(kernel)(*copy), *copy)
    return [Part(law, np.array(numbers, dtype=float)) for law, numbers in parts]


def same_bits(a: np.ndarray, b: np.ndarray) -> bool:
    """Equal bit for bit; NaN equals NaN, as scratch arrays may hold anything."""
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def need_same_noise(run, base) -> None:
    """Raise `Unfit` if a record changes the noise, up to the rounding of sums."""
    for call, first in zip(run.calls, base.calls, strict=True):
        for part, a, b in zip(call.clean, call.noise, first.noise, strict=False):
            error = 1e-6 * np.abs(part.numbers).max(initial=0.0)
            if not np.allclose(a, b, rtol=1e-6, atol=error, equal_nan=True):
                name = uncompiled(call.kernel).__name__
                raise Unfit(f"the noise that `{name}` adds depends on a record")


def _let_out(parts, places, before) -> dict[int, np.ndarray]:
    """{number of an array: copy} of those arrays that show a part: also where the release
    equals what the array held before.  What is chosen from ("peeling", "scores") is not
    shown."""
    shown = {}
    for i, a in enumerate(places):
        laws = [str(law) for law, part in parts if np.shares_memory(a, part)]
        hidden = [law == "peeling" or law.startswith("scores") for law in laws]
        if laws and not (all(hidden) and same_bits(a, before[i])):
            shown[i] = a.copy()
    return shown


# --- recorded calls, made once more with other noise


def contents(call):
    """[(argument, what it held before the call)] of its arrays."""
    return list(zip(arrays(call.live), arrays(call.args), strict=True))


def contents_held(call, changed):
    """The same of those arguments that no recorded kernel changes."""
    held = []
    for a, content in contents(call):
        if not any(np.may_share_memory(a, other) for other in changed):
            held.append((a, content))
    return held


def replayed(calls, first, held, law: str, rng):
    """(m,): all numbers of this law that the calls show, made once more with rng.

    Arrays begin with what they held `first`.  What no recorded kernel changes, a counter
    say, holds what it held in that call (`held`), and between calls others see what they
    saw: so a running sum that is shown has the noise of its last term alone, as the
    record's moves have.
    """
    for a, content in first:
        a[...] = content
    numbers = []
    for call, unchanged in zip(calls, held, strict=True):
        for a, content in unchanged:
            a[...] = content
        args = [rng if is_generator(a) else a for a in call.live]
        parts = call.read(PLAIN.plain(call.kernel)(*args), *args)
        for clean, (_, part) in zip(call.clean, parts, strict=True):
            if clean.law == law:
                numbers.append(np.array(part, dtype=float).ravel())
        places = arrays(call.live)
        for i, after in call.shown.items():
            places[i][...] = after
    return np.concatenate(numbers)


def joint_noise(case, run: Run, law: str, n: int, calls) -> np.ndarray:
    """(n, m) draws of the noise of these calls of a run together, of all numbers of this
    law, without their mean, in the order in which they were made.

    An optimiser draws noise before the first record, too.  Noise of earlier calls that
    the State holds stays as it was.
    """
    chosen = [run.calls[i] for i in calls]
    first = []
    for call in reversed(chosen):  # the first call that takes an array has the last word
        first += contents(call)
    changed = [*run.changed, *drawn_before(case, run.state)]
    held = [contents_held(call, changed) for call in chosen]
    rng = np.random.default_rng(3)
    rows = []
    for _ in range(n):
        start = first
        if isinstance(case.policy, Optimiser):
            again = arrays(begin(case, rng))
            start = [*first, *zip(arrays(run.state), again, strict=True)]
        rows.append(replayed(chosen, start, held, law, rng))
    return centred(np.array(rows))


def drawn_before(case, state):
    """The arrays of an optimiser's state that hold noise before the first record."""
    if not isinstance(case.policy, Optimiser):
        return []
    one, other = (arrays(begin(case, np.random.default_rng(seed))) for seed in (0, 1))
    pairs = zip(arrays(state), one, other, strict=True)
    return [a for a, here, there in pairs if not same_bits(here, there)]


def centred(z: np.ndarray) -> np.ndarray:
    """Draws (n, ...) without their mean: exactly 0 where all are the same."""
    apart = z - z[0]
    return apart - apart.mean(axis=0)


def fresh_draws(call: Call, n: int, seed, scores: np.ndarray | None = None):
    """[(n, ...) fresh outcomes of every part] of one call; scores: from which it chooses,
    in place of its own, which are its first part."""
    args = copied(call.args)
    if scores is not None:
        call.read(None, *args)[0][1][...] = scores
    rng = np.random.default_rng(seed)
    drawn = [released(PLAIN, call.kernel, call.read, args, rng) for _ in range(n)]
    parts = zip(*drawn, strict=True)
    return [np.array([one.numbers for one in part]) for part in parts]


def fresh_rows(call: Call, n: int, seed) -> np.ndarray:
    """(n, numbers): all parts of `fresh_draws` together."""
    return np.hstack([part.reshape(n, -1) for part in fresh_draws(call, n, seed)])
