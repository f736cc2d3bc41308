"""A private algorithm played as plain Python, with the kernels recorded that let
something out.

`Interpreter` copies the functions of an algorithm: in the copies every kernel is plain
Python, and the kernels that an `AuditInstance` names are stood in for by a recorder.
Nothing else changes: no module is written to.  The recorder runs a kernel once on copies
of its arguments, with a generator that is the same in every call, and keeps the numbers
that come out: they differ by what a record moves.  Then it runs it in earnest.  When the
same rounds are played again with one record replaced, the recorder puts the first run's
outcomes in place: both runs have the same public past, so whatever differs comes from the
record.  In every round other users ask for advice, too, on many contexts and on copies of
the state.
"""

import functools
import sysconfig
from functools import partial
from pathlib import Path
from types import CellType, FunctionType, ModuleType
from typing import Any, NamedTuple

import numpy as np
from numba.core.dispatcher import Dispatcher

from companion.contract import one_context
from companion.core import Optimiser

# users who ask for advice in every round, besides the one who is served; in
OTHERS = 6
LONG = 16
#                       runs of more rounds than this one does
# the law of few values, drawn afresh, whose chances are counted
VALUES = "values"
MANY = 400
LIBRARIES = tuple(
    Path(sysconfig.get_path(k)) for k in ("stdlib", "platstdlib", "purelib")
)
# methods that noise is drawn by: the law that follows, where only these are met
DRAWN = {
    "gaussian": {"standard_normal", "normal"},
    "laplace": {"laplace", "standard_exponential", "exponential"},
    "counts": {"binomial"},
}
ADDED = {"gaussian", "laplace"}  # laws of noise that is added to what a record moves
EXTREME = 100  # draws of a round that are extreme; a loop that draws again must end


class Leak(Exception):
    """Others see of a record more than the declared releases."""


class NotMeasured(ValueError):
    """What cannot be measured, and why."""


class TooMany(NotMeasured):
    """More numbers are shown than can be measured together: fewer rounds may do."""


class Unfit(NotMeasured):
    """The noise has not the law that is declared for it, or guessed from its draws."""


# --- generators
# ---------------------------------------------------------------------------------


class ExtremeRng(np.random.Generator):
    """A generator whose first exponentials are a million times too large, to reach
    extreme states."""

    drawn = 0

    def standard_exponential(self, *size):
        """A million times too large, the first `EXTREME` times."""
        self.drawn += 1
        size_factor = 1e6 if self.drawn <= EXTREME else 1.0
        return size_factor * super().standard_exponential(*size)


class RecordingRng:
    """A generator that notes the methods by which numbers were drawn."""

    def __init__(self, seed: int = 0):
        self.rng = np.random.default_rng(seed)
        self.methods = set()

    def __getattr__(self, name):
        self.methods.add(name)
        return getattr(self.rng, name)


def law_of(methods: set[str]) -> str:
    """The law of noise that draws by these methods have; `NotMeasured` if none is
    known."""
    for law, known in DRAWN.items():
        if methods <= known:
            return law
    drawn = sorted(methods) or "no generator"
    raise Unfit(f"no law of noise is known for draws by {drawn}")


def is_generator(a) -> bool:
    """Whether numbers can be drawn from it."""
    return isinstance(a, np.random.Generator | RecordingRng)


# --- interpreted copies
# -------------------------------------------------------------------------


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

    def __init__(self, instead=None):
        self.instead = {uncompiled(k): f for k, f in (instead or {}).items()}
        self.copies = {}
        self.spaces = {}

    def __call__(self, value):
        if isinstance(value, Dispatcher | FunctionType):
            plain = uncompiled(value)
            return self.instead[plain] if plain in self.instead else self.plain(plain)
        if isinstance(value, partial):
            return partial(self(value.func), *map(self, value.args), **value.keywords)
        if isinstance(value, tuple):  # a policy, too
            return tuple.__new__(type(value), map(self, value))
        if isinstance(value, ModuleType) and is_own(
            value.__name__,
            getattr(value, "__file__", ""),
        ):
            copy = self.copies.setdefault(value, ModuleType(value.__name__))
            copy.__getattr__ = lambda name: self(getattr(value, name))
            return copy
        return value

    def plain(self, function):
        """The copy of a function itself, even if another stands in for it elsewhere."""
        function = uncompiled(function)
        space = function.__globals__
        if "__file__" in space and not is_own(function.__module__, space["__file__"]):
            return function  # a library's; what was typed in a notebook has no file
        if function not in self.copies:
            cells = tuple(CellType() for _ in function.__closure__ or ())
            code = function.__code__
            names = (function.__name__, function.__defaults__)
            space = self.spaces.setdefault(id(space), _Space(self, space))
            copy = FunctionType(code, space, *names, cells or None)
            copy.__kwdefaults__ = function.__kwdefaults__
            copy.__doc__ = function.__doc__
            copy.__module__, self.copies[function] = function.__module__, copy
            for cell, old in zip(cells, function.__closure__ or (), strict=True):
                cell.cell_contents = self(old.cell_contents)
        return self.copies[function]


class _Space(dict):
    """The global names of copies: each is mapped when it is first asked for."""

    def __init__(self, copies, names):
        self.copies = copies
        self.names = names

    def __missing__(self, name):
        self[name] = self.copies(self.names[name])
        return self[name]


PLAIN = Interpreter()  # in which no kernel is recorded

# --- trees of arrays
# ----------------------------------------------------------------------------


def copied(tree, rng=None):
    """The same nested tuple with copies of its arrays, and another generator if one is
    given."""
    if isinstance(tree, np.ndarray):
        return tree.copy()
    if isinstance(tree, tuple):  # a named one, too
        return tuple.__new__(type(tree), [copied(a, rng) for a in tree])
    return rng if rng is not None and is_generator(tree) else tree


def leaves(tree) -> list:
    """All parts of a nested tuple that are no tuples."""
    return (
        [a for part in tree for a in leaves(part)] if isinstance(tree, tuple) else [tree]
    )


def arrays(tree) -> list[np.ndarray]:
    """All arrays of a nested tuple."""
    return [a for a in leaves(tree) if isinstance(a, np.ndarray)]


def public(state, private_fields, path: str = "") -> list[np.ndarray]:
    """Copies of a state's numbers, but for the fields that are named, as in "x" or
    "V.exact"."""
    if path in private_fields:
        return []
    if not isinstance(state, tuple):
        return [np.array(state)]
    names = getattr(state, "_fields", map(str, range(len(state))))
    paths = [f"{path}.{name}" if path else name for name in names]
    parts = [
        public(part, private_fields, p) for part, p in zip(state, paths, strict=True)
    ]
    return [a for part in parts for a in part]


def public_names(state, private_fields, path: str = "") -> list[str]:
    """The names of the fields whose numbers `public` gives, in its order."""
    if path in private_fields:
        return []
    if not isinstance(state, tuple):
        return [path]
    fields = getattr(state, "_fields", map(str, range(len(state))))
    return [
        name
        for field, part in zip(fields, state, strict=True)
        for name in public_names(part, private_fields, f"{path}.{field}".lstrip("."))
    ]


def need_fields(state, private_fields) -> None:
    """Raise ValueError if a private field is none of the State's."""
    known = public_names(state, ())
    for name in private_fields:
        if not any(field == name or field.startswith(f"{name}.") for field in known):
            raise ValueError(
                f"private must name fields of the State, of {known}; got {name!r}"
            )


# --- recorded runs
# ------------------------------------------------------------------------------


class Call(NamedTuple):
    """One call of a kernel that lets something out."""

    kernel: Any
    read: Any
    live: tuple  # its arguments as handed over, not copied; in a run with a script ()
    # as they were before the call, generator included; in a run with a script () but
    args: tuple
    #              for `VALUES`
    clean: list  # [(law, numbers)] with the same noise in every call
    # what the noise of two generators differs by, the same whatever the record
    noise: list
    outcome: tuple  # (result, {number of a released array: what it holds afterwards})
    round: int = 0  # counted from 0
    # [(array, what it held before)] of arguments that no recorded kernel changes
    kept: Any = ()


class Mark(NamedTuple):
    """Where a run was before a round: its state, and how much had been noted."""

    round: int
    state: tuple
    calls: int
    asked: int
    public: int


class Run(NamedTuple):
    """What was played: calls, the arms advised, the public part of every state."""

    calls: list
    asked: list  # calls while the others asked
    arms: list  # [(arm of the user who is served, *arms of the others who ask)]
    public: list
    first: list  # [(array, what it held when it was first handed to a recorded kernel)]
    state: tuple  # the first one, whose arrays were overwritten
    marked: Any = None  # `Mark`
    names: tuple = ()  # of the public fields, "V.exact"; they come again every round


class Wish(int):
    """The row in which a user's context stands alone, so that advice may vary."""


class Played(int):
    """The arm that a user plays, whatever she was advised."""


def has_contexts(policy) -> bool:
    """Whether a record has a context; without one, arms are public."""
    return hasattr(policy.params, "d")


def offered(policy, record) -> np.ndarray:
    """(K, d) contexts of the user with this record: hers stands in all rows; where the
    record names a `Wish`, in that row alone, and its opposite in all others."""
    d = getattr(policy.params, "d", 1)
    K = getattr(policy.params, "K", 3)
    mine = np.zeros(d) if record is None else np.array(record[1], dtype=float)
    X = np.tile(mine, (K, 1))
    if record is not None and isinstance(record[0], Wish):
        X[np.arange(K) != record[0] % K] *= -1.0
    return X


def watched(case):
    """The function (records, rng) -> (m,): all numbers that one run shows, in order.

    Nothing is replayed: it is the algorithm itself, as plain Python.
    """
    shown = []

    def watch(kernel, read, *args):
        result = copies.plain(kernel)(*args)
        for _, part in read(result, *args):
            shown.append(np.array(part, dtype=float).ravel())
        return result

    copies = Interpreter(
        {kernel: partial(watch, kernel, read) for kernel, read in case.releases.items()}
    )
    policy = copies(case.policy)
    follows = case.assumes_compliance or not has_contexts(policy)

    def once(records, rng):
        shown.clear()
        state = begin(case, rng, policy)
        for record in records:
            if record is not None:
                X = offered(policy, record)
                arm = record[0]
                if follows:
                    arm = int(policy.select(policy.params, state, X, rng))
                x = X[arm % len(X)].copy()
                policy.update(policy.params, state, arm, x, float(record[2]), rng)
        return np.concatenate(shown) if shown else np.zeros(0)

    return once


class Recorder:
    """An `AuditInstance` as plain Python, whose releases are recorded: `play` gives a
    `Run`."""

    def __init__(self, case, guesses: bool = True):
        self.case = case
        self.guesses = guesses  # whether an undeclared law is read off the draws
        self.guessed = set()  # names of kernels whose law was not declared
        self.laws = {}
        self.drawn = {}
        self.script = None
        calls = {k: partial(self._call, k, read) for k, read in case.releases.items()}
        self.copies = Interpreter(calls)
        self.policy = self.copies(case.policy)

    def _call(self, kernel, read, *args):
        mine = arrays(args)
        clean = self._numbers(kernel, read, args)
        noise = []
        added = {law for law, _ in clean} <= ADDED
        if added:
            noisy = self._released(kernel, read, args, np.random.default_rng(11))
            noise = [a - b for (_, a), (_, b) in zip(noisy, clean, strict=True)]
        told = "asked" if self.asking else "calls"
        seen = getattr(self, told)
        first = self.script is None
        before = copied(args) if first or self.laws[kernel] == VALUES else ()
        if first and not self.asking:
            for a in mine:
                # views are made anew
                place = a.__array_interface__["data"][0], a.shape, a.strides
                self.first.setdefault(place, (a, a.copy()))
        result = self.copies.plain(kernel)(*args)
        kept = [*zip(mine, arrays(before), strict=True)] if first else []
        self.changed += [a for a, b in kept if a.tobytes() != b.tobytes()]
        if first:
            outcome = result, _let_out(read(result, *args), mine, arrays(before))
        else:
            script = getattr(self.script, told)
            if len(seen) >= len(script):
                raise Leak("the number of releases depends on a record")
            same = script[len(seen)]
            for a, b, (_, size) in zip(noise, same.noise, clean, strict=False):
                near = 1e-6, 1e-6 * np.abs(size).max(initial=0.0), True
                if a.tobytes() != b.tobytes() and not np.allclose(a, b, *near):
                    name = uncompiled(kernel).__name__
                    raise Unfit(f"the noise that `{name}` adds depends on a record")
            outcome = same.outcome
            if added and not any(
                np.array_equal(result, a) for _, a in read(result, *args)
            ):
                outcome = result, same.outcome[1]  # what is not shown follows the record
            for i, after in outcome[1].items():
                mine[i][...] = after
        live = args if first else ()
        seen.append(
            Call(
                kernel=kernel,
                read=read,
                live=live,
                args=before,
                clean=clean,
                noise=noise,
                outcome=outcome,
                round=self.round,
                kept=kept,
            )
        )
        return outcome[0]

    def _released(self, kernel, read, args, rng):
        """[(law, numbers)] that a call on copies of its arguments shows with this
        generator."""
        copy = copied(args, rng)
        parts = read(self.copies.plain(kernel)(*copy), *copy)
        return [(law, np.array(a, dtype=float)) for law, a in parts]

    def _numbers(self, kernel, read, args):
        """[(law, numbers)] with the same noise in every call, of `VALUES` many draws;
        where no law is declared it is that of the kernel's draws."""
        if kernel not in self.laws:
            rng = RecordingRng()
            declared = [law for law, _ in self._released(kernel, read, args, rng)]
            self.laws[kernel] = declared[0]
            if None in declared:
                self.guessed.add(uncompiled(kernel).__name__)
                self.laws[kernel] = law_of(rng.methods) if self.guesses else "unknown"
        if self.laws[kernel] == VALUES:
            key = (
                kernel,
                *(np.asarray(a).tobytes() for a in leaves(args) if not is_generator(a)),
            )
            if key not in self.drawn:
                self.drawn[key] = fresh_rows(
                    Call(
                        kernel=kernel,
                        read=read,
                        live=(),
                        args=args,
                        clean=[],
                        noise=[],
                        outcome=(),
                    ),
                    MANY,
                    13,
                )
            return [(VALUES, self.drawn[key])]
        clean = self._released(kernel, read, args, np.random.default_rng(12))
        return [(law or self.laws[kernel], a) for law, a in clean]

    def play(
        self, records, *, script: Run | None = None, seed: int = 0, mark: int = 0
    ) -> Run:
        """`Run` on records [(arm, x, r) or None: nobody learns, ...], outcomes as in the
        script.

        mark: a round before which a later run has the same records as its script; it
        begins there, in the state that the script's run had.
        Every round, advice and update get streams of their own, so that runs with
        different records share all draws that no recorded kernel makes.
        """
        self.script = script
        self.asking = False
        self.calls = []
        self.asked = []
        self.first = {}
        self.changed = []
        self.round = 0
        case = self.case
        policy = self.policy
        s = first = begin(case, np.random.default_rng(seed), policy)
        arms = []
        shown = []
        start = 0
        if script is not None and script.marked is not None:
            start = script.marked.round
            s = copied(script.marked.state)
            self.calls = script.calls[: script.marked.calls]
            self.asked = script.asked[: script.marked.asked]
            arms = script.arms[:start]
            shown = script.public[: script.marked.public]
        marked = None
        follows = case.assumes_compliance or not has_contexts(policy)
        if isinstance(policy, Optimiser):
            s = self._learn(s, records, seed)
            records = ()
        for t, record in enumerate(records):
            if t < start:
                continue
            if t == mark and script is None:
                marked = Mark(
                    round=t,
                    state=copied(s),
                    calls=len(self.calls),
                    asked=len(self.asked),
                    public=len(shown),
                )
            self.round = t
            advice, others = (np.random.default_rng([seed, t, i]) for i in (0, 2))
            X = offered(policy, record)
            arms.append(self._advice(s, X, advice, others))
            if record is not None:
                advised = follows and not isinstance(record[0], Played)
                arm = arms[-1][0] if advised else record[0]
                x = X[arm % len(X)].copy()
                noise = ExtremeRng(np.random.PCG64([seed, t, 1]))
                policy.update(policy.params, s, arm, x, float(record[2]), noise)
            shown += public(s, case.private_fields)
        shown += public(s, case.private_fields)
        for call in self.calls:  # what holds noise is changed by a recorded kernel
            noisy = (
                any(np.may_share_memory(a, b) for b in self.changed) for a, _ in call.kept
            )
            call.kept[:] = [
                one for one, hides in zip(call.kept, noisy, strict=True) if not hides
            ]
        return Run(
            calls=self.calls,
            asked=self.asked,
            arms=arms,
            public=shown,
            first=list(self.first.values()),
            state=first,
            names=tuple(public_names(first, case.private_fields)),
            marked=marked,
        )

    def _advice(self, s, X, rng, others):
        """(arm of the user with contexts X, *arms of the others) in state s."""
        policy = self.policy
        K, d = X.shape
        arms = [int(policy.select(policy.params, s, X, rng))]
        self.asking = True
        n = OTHERS if self.case.rounds <= LONG else 1
        for X in others.uniform(-0.7, 0.7, (n, K, d)):
            X = np.tile(X[:1], (K, 1)) if one_context(policy) else X
            arms.append(int(policy.select(policy.params, copied(s), X, others)))
        self.asking = False
        return tuple(arms)

    def _learn(self, s, records, seed):
        """State of an optimiser after the records: step by step; by a batch method all at
        once."""
        o = self.policy
        if o.step is None:
            X, Y = (np.array([r[i] for r in records], dtype=float) for i in (1, 2))
            rng = np.random.default_rng([seed, 0])
            out = np.zeros(X.shape)
            return o.run(o.params, s, X, Y, rng, out) or s
        for t, (_, x, y) in enumerate(records):
            rng = np.random.default_rng([seed, t])
            s = o.step(o.params, s, np.array(x, dtype=float), float(y), rng) or s
        return s


def begin(case, generator, policy=None):
    """The state in which the case begins; an optimiser's may hold noise that was drawn
    for it."""
    if case.initial_state is not None:
        return copied(case.initial_state)
    policy = policy or case.policy
    drawn = (generator,) if isinstance(policy, Optimiser) else ()
    return uncompiled(policy.init)(policy.params, *drawn)


def _let_out(parts, mine, before) -> dict[int, np.ndarray]:
    """{number of an array: copy} of those of `mine` that show a part: also where the
    release equals what the array held before.  What is chosen from ("peeling", "scores")
    is not shown."""
    found = {}
    for i, a in enumerate(mine):
        laws = [law for law, b in parts if np.shares_memory(a, b)]
        hidden = [law == "peeling" or str(law).startswith("scores") for law in laws]
        changed = a.tobytes() != before[i].tobytes()
        if laws and (changed or not all(hidden)):
            found[i] = a.copy()
    return found


def replayed(calls, first, rng):
    """[[numbers of every part] of every call], made once more with rng, where arrays hold
    `first`: [(array, content)]; what no recorded kernel changes, a counter say, holds
    what it held, and between calls what others saw is what they saw: so a running sum
    that is shown has the noise of its last term alone, as the record's moves have."""
    for a, content in first:
        a[...] = content
    numbers = []
    for call in calls:
        for a, content in call.kept:
            a[...] = content
        args = [rng if is_generator(a) else a for a in call.live]
        parts = call.read(PLAIN.plain(call.kernel)(*args), *args)
        numbers.append([np.array(a, dtype=float) for _, a in parts])
        if len(calls) > 1:
            places = arrays(call.live)
            for i, after in call.outcome[1].items():
                places[i][...] = after
    return numbers


def outcomes(case, run: Run, n: int, seed: int, law=None, calls=None) -> np.ndarray:
    """(n, m): all that these calls of a run show (None: all calls; of this law alone),
    drawn n times together, with the noise that an optimiser draws before the first
    record.  Noise of earlier calls that the State holds stays as it was.
    """
    chosen = run.calls if calls is None else [run.calls[i] for i in calls]
    whole = calls is None or calls[0] == 0
    first = run.first if whole else contents_before(chosen)
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(n):
        start = first
        if isinstance(case.policy, Optimiser):
            start = [
                *first,
                *zip(arrays(run.state), arrays(begin(case, rng)), strict=True),
            ]
        shown = [
            part.ravel()
            for call, parts in zip(chosen, replayed(chosen, start, rng), strict=True)
            for (name, _), part in zip(call.clean, parts, strict=True)
            if law is None or name == law
        ]
        rows.append(np.concatenate(shown))
    return np.array(rows)


def contents_before(calls):
    """[(array, what it held before the first of these calls that takes it)]."""
    found = {}
    for call in calls:
        for a, content in zip(arrays(call.live), arrays(call.args), strict=True):
            place = a.__array_interface__["data"][0], a.shape, a.strides
            found.setdefault(place, (a, content))
    return list(found.values())


def joint_noise(case, run: Run, law: str, n: int, seed: int, calls=None) -> np.ndarray:
    """(n, m) draws of the noise of these calls together, without their mean, in the order
    in which they were made."""
    return centred(outcomes(case, run, n, seed, law, calls))


def centred(z: np.ndarray) -> np.ndarray:
    """Draws (n, ...) without their mean: exactly 0 where all are the same."""
    apart = z - z[0]
    return apart - apart.mean(axis=0)


def fresh_draws(call: Call, n: int, seed, scores: np.ndarray | None = None):
    """[(n, ...) fresh outcomes of every part] of one call; scores: from which it chooses,
    in place of its own, which are its first part."""
    args = copied(call.args)
    rng = np.random.default_rng(seed)
    if scores is not None:
        call.read(None, *args)[0][1][...] = scores
    first = list(zip(arrays(args), arrays(copied(args)), strict=True))
    drawn = [
        replayed([call._replace(live=args, kept=[])], first, rng)[0] for _ in range(n)
    ]
    return [np.array(part) for part in zip(*drawn, strict=True)]


def fresh_rows(call: Call, n: int, seed) -> np.ndarray:
    """(n, numbers): all parts of `fresh_draws` together."""
    return np.hstack([part.reshape(n, -1) for part in fresh_draws(call, n, seed)])
