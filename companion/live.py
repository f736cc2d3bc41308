"""One run of a policy, or of an optimiser, on anyone's data: counted, and kept in a file.

For research simulation: noise is drawn in floating point, which a determined attacker can
exploit. Do not use it to protect real people's data.

A saved run is a zip of plain arrays with a JSON text; nothing in it is executed.  It
holds private data (records, exact sums, counts of what was clipped): keep it as you keep
those.
"""

from __future__ import annotations

import json
import os
import tempfile
import threading
import warnings
import weakref
import zipfile
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np

import companion
from companion import held
from companion.accounting.privacy import Guarantee
from companion.contract import (
    LARGEST_RECORD,
    interrupts_wait,
    need_contexts,
    need_nothing,
    need_records,
    need_rounds,
)
from companion.validate import (
    need_array,
    need_float,
    need_generator,
    need_int,
    need_method,
    shown,
)

WARN_SHARE = 0.01  # share of clipped records above which a run warns
# relative differences that processors may make
SAME = 1e-12  # of two parameters
SAME_BUDGET = 1e-9  # of two guarantees, which are searched for from the parameters


class Report(NamedTuple):
    """What `Live.report` tells the holder of the data; counts are exact, so they are
    private.

    clipped: records outside the policy's universe, by cause (one may have both); None if
    nothing is clipped.  arms: arm -> rounds in which it was played.
    """

    rounds: int
    guarantee: Guarantee
    clipped: dict | None
    arms: dict

    def __str__(self):
        return (
            f"{self.rounds} rounds, {self.guarantee}; clipped: {self.clipped}; arms: "
            f"{self.arms}"
        )


class SecretBits(np.random.PCG64):
    """The random bits of a run: they cannot be copied or pickled, nor can a generator
    that draws from them."""

    def __reduce__(self):
        raise TypeError(
            "the generator of a run cannot be copied or pickled: the copy would draw the "
            "same noise"
        )


class Run:
    """What `Live` and `Stream` share: one call at a time, in one process, without copies.

    A run draws secret noise.  A copy of it would draw the same noise for other records,
    and the difference of two releases would show a record; so would the child of a fork.
    """

    def __init__(self, seed) -> None:
        source = need_generator("seed", seed).bit_generator.seed_seq
        self.rng = np.random.Generator(SecretBits(source))
        self._process = os.getpid()
        self._lock = threading.RLock()

    @contextmanager
    def _alone(self):
        """One call of this run at a time: checks, kernel and counts; signals wait for its
        end."""
        # first: a lock that was held at the fork stays held
        if os.getpid() != self._process:
            raise RuntimeError(
                f"this run belongs to process {self._process}, and this is its child "
                f"{os.getpid()}: both would draw the same noise.  Begin a run here, or "
                "load one that was saved and closed"
            )
        with interrupts_wait(), self._lock:
            yield

    def __reduce__(self):
        raise TypeError(
            f"a {type(self).__name__} cannot be copied or pickled: the copy would draw "
            "the same noise.  Start another run; one of a policy can be saved, closed "
            "and loaded"
        )


class Live(Run):
    """One run of a policy, fed round by round: `arm = live.select(X)`, then
    `live.update(arm, r)`.

    The same kernels as in `simulate`, with equal arms on an equal stream.  A ValueError
    (contexts that the policy cannot read, an arm outside 0..K-1, a reward that is not
    finite, a round past the horizon of the guarantee) changes nothing.  Warns once when
    more than 1 % of the records were clipped.  A guarantee per user (its `unit`) is one
    per round: it holds only if each person has one round.  Of two policies that see the
    same person the epsilons add, and the deltas.

    Delayed feedback: a question with a `ticket` (a text of yours) stays open until
    `update` gets the same ticket, if the policy has `delayed_feedback`; otherwise a
    second question is refused. Open questions count as rounds.  When a reward arrives,
    and that it never does, is not protected.

    Threads may share a run: a call waits for the one before it.  A run is not copied
    (TypeError), and the child of a fork cannot go on with it (RuntimeError).

    >>> from companion.policies import jdp_linucb
    >>> live = jdp_linucb(2, 100, epsilon=1.0, delta=0.01).start(seed=1)
    >>> arm = live.select([[0.6, 0.0], [0.0, 0.6]])
    >>> live.update(arm, 0.5)
    >>> live.report().rounds
    1
    """

    def __init__(self, policy, seed=None) -> None:
        super().__init__(seed)
        self.policy = policy
        self.state = policy.init(policy.params)
        self.rounds = 0
        self._open = {}  # ticket -> (contexts, arm advised)
        self._warned = False
        self._arms = {}
        self._clipped = {"contexts": 0, "rewards": 0, "records": 0}
        self._held = {}  # identity of a file -> its lock
        weakref.finalize(self, held.let_all_go, self._held)

    def select(self, X: np.typing.ArrayLike, ticket: str | None = None) -> int:
        """Arm for contexts X (K, d), one row per arm; asked once per round, or per
        ticket."""
        if ticket is not None and not (
            isinstance(ticket, str) and 0 < len(ticket) <= 200
        ):
            raise ValueError(
                f"ticket must be a text of 1 to 200 letters; got {shown(ticket)}"
            )
        # the caller may overwrite the original
        X = need_array("contexts X", X, ("K", "d")).copy()
        need_contexts((self.policy,), X)
        with self._alone():
            if ticket in self._open:
                if ticket is not None:
                    raise ValueError(
                        f"ticket {shown(ticket)} is open: call update(arm, r, ticket) "
                        "or drop(ticket) first"
                    )
                raise ValueError(
                    "select was called twice in one round: call update(arm, r) first"
                )
            if self._open and not self.policy.delayed_feedback:
                raise ValueError(
                    f"ticket must wait: policy {self.policy.name!r} has no delayed "
                    "feedback, it takes one question at a time"
                )
            need_rounds(self.policy, self.rounds + len(self._open) + 1)
            arm = int(self.policy.select(self.policy.params, self.state, X, self.rng))
            self._open[ticket] = X, arm
        return arm

    def update(self, arm: int, r: float, ticket: str | None = None) -> None:
        """Tell the policy that `arm` was played, advised or not, and paid the reward
        `r`."""
        p = self.policy
        with self._alone():
            X, _ = self._asked(ticket)
            arm = need_int("arm", arm, 0, len(X) - 1)
            r = need_float("r", r, -LARGEST_RECORD, LARGEST_RECORD)
            x = X[arm].copy()
            returned = p.update(p.params, self.state, arm, x, r, self.rng)
            need_nothing(p.name, "update", returned)
            del self._open[ticket]
            self.rounds += 1
            warning = self._count(arm, x, r)
        if warning:
            warnings.warn(warning, stacklevel=2)

    def drop(self, ticket: str) -> None:
        """Forget an open question whose reward never comes: nothing is learned, no round
        passes."""
        with self._alone():
            self._asked(ticket)
            if not self.policy.delayed_feedback:
                raise ValueError(
                    f"ticket must get a reward: policy {self.policy.name!r} has no "
                    "delayed feedback"
                )
            del self._open[ticket]

    @property
    def open(self) -> dict:
        """{ticket: (contexts X, arm advised)} of the questions that wait; no ticket is
        None."""
        with self._alone():
            return {ticket: (X.copy(), arm) for ticket, (X, arm) in self._open.items()}

    def report(self) -> Report:
        """Rounds, guarantee, clipped records by cause, arms played."""
        with self._alone():
            clipped = None
            if self.policy.universe is not None:
                clipped = dict(self._clipped)
            arms = dict(sorted(self._arms.items()))
            return Report(
                rounds=self.rounds,
                guarantee=self.policy.guarantee,
                clipped=clipped,
                arms=arms,
            )

    def __repr__(self):
        waiting = f", {len(self._open)} rewards awaited" if self._open else ""
        return (
            f"<Live {self.policy.name}: {self.rounds} rounds{waiting}; "
            f"{self.policy.guarantee}>"
        )

    def _asked(self, ticket):
        if not isinstance(ticket, str | None) or ticket not in self._open:
            if ticket is not None:
                raise ValueError(
                    f"ticket must be that of an open question; got {shown(ticket)}"
                )
            raise ValueError("update was called before select in this round")
        return self._open[ticket]

    def _count(self, arm, x, r):
        """Count a round; the text of a warning, once, if many records were clipped, else
        ""."""
        self._arms[arm] = self._arms.get(arm, 0) + 1
        if self.policy.universe is None:
            return ""
        context, reward = self.policy.universe.outside(x, r)
        self._clipped["contexts"] += context
        self._clipped["rewards"] += reward
        self._clipped["records"] += context or reward
        found = self._clipped["records"]
        if self._warned or found <= max(1, WARN_SHARE * self.rounds):
            return ""
        self._warned = True
        taken = f"{self.policy.name!r} takes {self.policy.universe}"
        return f"{found} of {self.rounds} records were clipped: {taken}"

    def save(self, path: str | Path) -> None:
        """Write the run to `path`, all or nothing; what is there already is replaced.

        The file can be read by its owner alone.  From now on this run holds it (not on
        Windows), under whatever name: no other run can be loaded from it or saved to it
        until this one is closed, or gone with its process.  A symbolic link stays one.
        Save before the first round and after every answer (see `load`).
        Raises ValueError, and changes nothing, on a file that another run holds, with
        more than one name, in a folder that is read-only, or on a file system without
        locks.
        """
        path = held.real_path(path)
        with self._alone():
            arrays = self._contents()
            fresh = not path.exists()
            self._hold(path, make=True)
            try:
                self._replace(path, arrays)
            except BaseException:
                if fresh and held.LOCKABLE:
                    os.unlink(path)  # the empty file that was made to be held
                raise

    def _contents(self):
        """{name: array} of what is saved, with a JSON text under "about"."""
        arrays = dict(leaves(self.state, "state"))
        if not all(isinstance(a, np.ndarray) for a in arrays.values()):
            raise ValueError(
                f"policy must keep its State in arrays; {self.policy.name!r} does not"
            )
        for i, (X, _) in enumerate(self._open.values()):
            arrays[f"waiting.{i}"] = X
        arrays.update(_promised(self.policy))
        about = _names(self.policy)
        about["open"] = [[ticket, arm] for ticket, (_, arm) in self._open.items()]
        about["rounds"] = self.rounds
        about["arms"] = {str(arm): n for arm, n in self._arms.items()}
        about["clipped"] = self._clipped
        about["warned"] = self._warned
        arrays["about"] = np.array(json.dumps(about))
        return arrays

    def _replace(self, path, arrays):
        """Write a new file in place of the one at `path`, and hold it instead."""
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name)
        try:
            lock = held.Lock(handle, path)
            try:
                with os.fdopen(handle, "wb", closefd=False) as out:
                    np.savez(out, **arrays)
                    out.flush()
                    os.fsync(handle)
                if not held.LOCKABLE:
                    lock.let_go()  # Windows replaces no open file
                before = held.identity(path)
                os.replace(temporary, path)
            except BaseException:
                lock.let_go()
                raise
        except BaseException:
            os.unlink(temporary)
            raise
        if held.LOCKABLE:
            self._held.pop(before).let_go()
            self._held[lock.identity()] = lock

    @classmethod
    def load(cls, path: str | Path, policy) -> Live:
        """The run that was saved at `path`, made with the same policy.

        Continue a run once: the guarantee is that of one run, and a second one from the
        same file shows anew what the first one showed.  So does a run that died after it
        had shown more than it had saved: sums are shown again, with new noise, which the
        guarantee does not cover. Noise is fresh, from the operating system: if two runs
        drew the same for different records, the difference of two releases would show a
        record without noise.  (In a simulation that is to be repeated, set `rng` to a
        generator of yours.)
        Raises ValueError, naming what differs, on a file that another run holds, of
        another version of the package, of another policy or parameter, or that is no
        saved run.
        """
        need_method("policy", policy, "start")
        path = held.real_path(path)
        if not zipfile.is_zipfile(path):
            raise ValueError(f"path must lead to a saved run; there is none at {path}")
        live = cls(policy)
        try:
            live._hold(path)
            live._read(path)
        except BaseException:
            live.close()
            raise
        return live

    def _read(self, path):
        try:
            with np.load(path, allow_pickle=False) as saved:
                arrays = {name: saved[name] for name in saved.files}
            about = json.loads(str(arrays.pop("about")))
        except (
            ValueError,
            KeyError,
            EOFError,
            TypeError,
            OSError,
            zipfile.BadZipFile,
        ) as error:
            raise ValueError(
                f"path must lead to a saved run; got path={shown(path)}: {error}"
            ) from error
        for name, value in _names(self.policy).items():
            if about.get(name) != value:
                raise _other(name, repr(about.get(name)), repr(value))
        for name, value in _promised(self.policy).items():
            tolerance = SAME_BUDGET if name.startswith("guarantee.") else SAME
            _need_same(name, arrays.get(name), value, tolerance)
        for name, fresh in leaves(self.state, "state"):
            saved = arrays.get(name)
            if saved is None or (saved.dtype, saved.shape) != (fresh.dtype, fresh.shape):
                raise ValueError(
                    f"path must lead to a run of this policy; its {name} does not fit"
                )
            fresh[...] = saved
        for i, (ticket, arm) in enumerate(about["open"]):
            self._open[ticket] = arrays[f"waiting.{i}"], arm
        self.rounds = int(about["rounds"])
        self._arms = {int(arm): n for arm, n in about["arms"].items()}
        self._clipped = about["clipped"]
        self._warned = about["warned"]

    def close(self) -> None:
        """Let other runs use the files that this one was saved to or loaded from."""
        if os.getpid() != self._process:
            return  # a child of a fork holds nothing
        with self._alone():
            held.let_all_go(self._held)

    def _hold(self, path, make=False):
        """Hold the file at `path` for this run, if it does not already (none on
        Windows)."""
        if not held.LOCKABLE:
            return
        if held.identity(path) not in self._held:
            lock = held.hold(path, make)
            self._held[lock.identity()] = lock
        held.need_one_name(path)


class Stream(Run):
    """One run of an optimiser, fed record by record: `theta = stream.update(x, y)`.

    Driven by the same kernels as a whole run, with equal parameters on equal records.
    Raises ValueError, and changes nothing, on a record that `need_records` refuses:
    another dimension, a number that is not finite, or one record more than the guarantee
    covers.  Threads may share it; it is not copied (TypeError), and the child of a fork
    cannot go on with it (RuntimeError).
    """

    def __init__(self, optimiser, seed=None) -> None:
        if optimiser.step is None:
            raise ValueError(
                f"optimiser {optimiser.name!r} is a batch method: it takes no stream"
            )
        super().__init__(seed)
        self.optimiser = optimiser
        self.state = optimiser.init(optimiser.params, self.rng)
        self.records = 0

    def update(self, x: np.typing.ArrayLike, y: float) -> np.ndarray:
        """The public parameter (d,) after the record x (d,), y; a copy."""
        x = need_array("x", x, ("d",)).copy()
        y = need_float("y", y)
        o = self.optimiser
        with self._alone():
            need_records((o,), x[None], np.array([y]), self.records)
            returned = o.step(o.params, self.state, x, y, self.rng)
            need_nothing(o.name, "step", returned)
            self.records += 1
            return self.state.theta.copy()


def leaves(value, name):
    """(dotted name, value) of everything that nested named tuples hold."""
    if isinstance(value, tuple):
        for key, part in zip(
            getattr(value, "_fields", range(len(value))),
            value,
            strict=True,
        ):
            yield from leaves(part, f"{name}.{key}")
    else:
        yield name, value


def _names(policy):
    """What must be equal for a run to go on: version, policy, and where its kernels
    stand."""
    kernels = getattr(policy.select, "py_func", policy.select)
    return {
        "version": companion.__version__,
        "policy": policy.name,
        "kernels": kernels.__module__,
    }


def _promised(policy):
    """{dotted name: array} of the guarantee and the parameters; texts and None as
    texts."""
    found = dict(leaves(policy.guarantee, "guarantee"))
    found.update(leaves(policy.params, "params"))
    for name, leaf in found.items():
        found[name] = np.asarray(leaf)
        if found[name].dtype.kind not in "biuf":
            found[name] = np.array(repr(leaf))
    return found


def _need_same(name, saved, here, tolerance):
    """ValueError, with both values, unless an array of parameters is the saved one.

    Numbers may differ by the tolerance, relative to them: processors round differently.
    """
    if saved is None:
        raise _other(name, "absent", here)
    if (saved.dtype.kind, saved.shape) != (here.dtype.kind, here.shape):
        raise _other(name, f"{saved.dtype}{saved.shape}", f"{here.dtype}{here.shape}")
    equal = saved == here
    if here.dtype.kind == "f":
        equal = np.isclose(saved, here, rtol=tolerance, atol=0.0, equal_nan=True)
    if not np.all(equal):
        first = tuple(map(int, np.argwhere(~equal)[0]))
        place = name
        if first:
            place += f"[{', '.join(map(str, first))}]"
        raise _other(place, saved[first], here[first])


def _other(name, saved, here):
    return ValueError(
        "path must lead to a run of the same policy, parameters and version; its "
        f"{name} is {saved}, here it is {here}"
    )
