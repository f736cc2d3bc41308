"""One run of a policy on anyone's data: round by round, counted, and kept in a file.

For research simulation: noise is drawn in floating point, which a determined attacker can exploit.
Do not use it to protect real people's data.

A saved run is a zip of plain arrays with a JSON text; nothing in it is executed.  It holds private
data (records, exact sums, counts of what was clipped): keep it as you keep those.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import warnings
import weakref
import zipfile
from pathlib import Path
from typing import NamedTuple

import numpy as np

import companion
from companion.accounting.privacy import Guarantee
from companion.core import (
    LARGEST_RECORD,
    Policy,
    interrupts_wait,
    need_contexts,
    need_rounds,
)
from companion.validate import need_array, need_float, need_int, need_members, shown

try:
    import fcntl
except ImportError:  # Windows has no such locks
    fcntl = None

WARN_SHARE = 0.01  # share of clipped records above which a run warns


class Report(NamedTuple):
    """What `Live.report` tells the holder of the data; counts are exact, so they are private.

    clipped: records outside the policy's universe, by cause (one may have both); None if nothing is
    clipped.  arms: arm -> rounds in which it was played.
    """

    rounds: int
    guarantee: Guarantee
    clipped: dict | None
    arms: dict

    def __str__(self):
        return f"{self.rounds} rounds, {self.guarantee}; clipped: {self.clipped}; arms: {self.arms}"


class Live:
    """One run of a policy, fed round by round: `arm = live.select(X)`, then `live.update(arm, r)`.

    The same kernels as in `simulate`, with equal arms on an equal stream.  A ValueError (contexts
    that the policy cannot read, an arm outside 0..K-1, a reward that is not finite, a round past
    the horizon of the guarantee) changes nothing.  Warns once when more than 1 % of the records
    were clipped.  A guarantee per user (its `unit`) is one per round: it holds only if each person
    has one round.  Of two policies that see the same person the epsilons add, and the deltas.

    Delayed feedback: a question with a `ticket` (a text of yours) stays open until `update` gets
    the same ticket, if the policy has `delayed_feedback`; otherwise a second question is refused.
    Open questions count as rounds.  When a reward arrives, and that it never does, is not
    protected.

    >>> from companion.policies import jdp_linucb
    >>> live = jdp_linucb(2, 100, epsilon=1.0, delta=0.01).start(seed=1)
    >>> arm = live.select([[0.6, 0.0], [0.0, 0.6]])
    >>> live.update(arm, 0.5)
    >>> live.report().rounds
    1
    """

    def __init__(self, policy: Policy, rng: np.random.Generator) -> None:
        self.policy, self.rng = policy, rng
        self.state = policy.init(policy.params)
        self.rounds = 0
        self._open, self._warned = {}, False
        self._arms, self._clipped = {}, {"contexts": 0, "rewards": 0, "records": 0}
        self._held = {}  # path -> what lets it go

    def select(self, X: np.typing.ArrayLike, ticket: str | None = None) -> int:
        """Arm for contexts X (K, d), one row per arm; asked once per round, or per ticket."""
        if ticket is not None and not (isinstance(ticket, str) and 0 < len(ticket) <= 200):
            raise ValueError(f"ticket must be a text of 1 to 200 letters; got {shown(ticket)}")
        if ticket in self._open:
            raise ValueError("select was called twice in one round: call update(arm, r) first")
        if self._open and not self.policy.delayed_feedback:
            raise ValueError(
                f"ticket must wait: policy {self.policy.name!r} has no delayed feedback, it takes "
                "one question at a time"
            )
        need_rounds(self.policy, self.rounds + len(self._open) + 1)
        X = need_array("contexts X", X, ("K", "d")).copy()  # the caller may overwrite the original
        need_contexts((self.policy,), X)
        with interrupts_wait():
            arm = int(self.policy.select(self.policy.params, self.state, X, self.rng))
            self._open[ticket] = X, arm
        return arm

    def update(self, arm: int, r: float, ticket: str | None = None) -> None:
        """Tell the policy that `arm` was played, advised or not, and paid the reward `r`."""
        X, _ = self._asked(ticket)
        arm = need_int("arm", arm, 0, len(X) - 1)
        r = need_float("r", r, -LARGEST_RECORD, LARGEST_RECORD)
        x, p = X[arm].copy(), self.policy
        with interrupts_wait():
            self.state = p.update(p.params, self.state, arm, x, r, self.rng) or self.state
            del self._open[ticket]
            self.rounds += 1
            self._count(arm, x, r)

    def drop(self, ticket: str) -> None:
        """Forget an open question whose reward never comes: nothing is learned, no round passes."""
        self._asked(ticket)
        if not self.policy.delayed_feedback:
            raise ValueError(
                f"ticket must get a reward: policy {self.policy.name!r} has no delayed feedback"
            )
        del self._open[ticket]

    @property
    def open(self) -> dict:
        """{ticket: (contexts X, arm advised)} of the questions that wait; no ticket is None."""
        return {ticket: (X.copy(), arm) for ticket, (X, arm) in self._open.items()}

    def report(self) -> Report:
        """Rounds, guarantee, clipped records by cause, arms played."""
        clipped = None if self.policy.universe is None else dict(self._clipped)
        arms = dict(sorted(self._arms.items()))
        return Report(self.rounds, self.policy.guarantee, clipped, arms)

    def __repr__(self):
        waiting = f", {len(self._open)} rewards awaited" if self._open else ""
        return f"<Live {self.policy.name}: {self.rounds} rounds{waiting}; {self.policy.guarantee}>"

    def _asked(self, ticket):
        if not isinstance(ticket, str | None) or ticket not in self._open:
            raise ValueError(
                "update was called before select in this round; ticket must be that of an open "
                f"question, got {shown(ticket)}"
            )
        return self._open[ticket]

    def _count(self, arm, x, r):
        self._arms[arm] = self._arms.get(arm, 0) + 1
        if self.policy.universe is None:
            return
        context, reward = self.policy.universe.outside(x, r)
        self._clipped["contexts"] += context
        self._clipped["rewards"] += reward
        self._clipped["records"] += context or reward
        found = self._clipped["records"]
        if found > max(1, WARN_SHARE * self.rounds) and not self._warned:
            self._warned = True
            text = f"{found} of {self.rounds} records were clipped: {self.policy.name!r} takes "
            warnings.warn(text + str(self.policy.universe), stacklevel=3)

    def save(self, path: str | Path) -> None:
        """Write the run to `path`, all or nothing; what is there already is replaced.

        The file can be read by its owner alone.  From now on this run holds `path` (not on
        Windows): no other run can be loaded from it or saved to it until this one is closed, or
        gone with its process.  Save before the first round and after every answer (see `load`).
        """
        path = _file(path)
        self._hold(path)
        arrays = dict(_leaves(self.state, "state"))
        if not all(isinstance(a, np.ndarray) for a in arrays.values()):
            raise ValueError(f"policy must keep its State in arrays; {self.policy.name!r} does not")
        arrays |= {f"waiting.{i}": X for i, (X, _) in enumerate(self._open.values())}
        about = _described(self.policy) | {
            "open": [[ticket, arm] for ticket, (_, arm) in self._open.items()],
            "rounds": self.rounds,
            "arms": {str(arm): n for arm, n in self._arms.items()},
            "clipped": self._clipped,
            "warned": self._warned,
        }
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name)
        try:
            with os.fdopen(handle, "wb") as out:
                np.savez(out, about=np.array(json.dumps(about)), **arrays)
                out.flush()
                os.fsync(out.fileno())
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise

    @classmethod
    def load(cls, path: str | Path, policy: Policy) -> Live:
        """The run that was saved at `path`, made with the same policy.

        Continue a run once: the guarantee is that of one run, and a second one from the same file
        shows anew what the first one showed.  So does a run that died after it had shown more than
        it had saved: sums are shown again, with new noise, which the guarantee does not cover.
        Noise is fresh, from the operating system: if two runs drew the same for different records,
        the difference of two releases would show a record without noise.  (In a simulation that is
        to be repeated, set `rng` to a generator of yours.)
        Raises ValueError, naming what differs, on a file that another run holds, of another version
        of the package, of another policy or parameter, or that is no saved run.
        """
        need_members("policy", [policy], Policy)
        path = _file(path)
        if not zipfile.is_zipfile(path):  # so that no lock is made beside it
            raise ValueError(f"path must lead to a saved run; there is none at {path}")
        live = cls(policy, np.random.default_rng())
        live._hold(path)
        try:
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
        except (ValueError, KeyError, EOFError, TypeError, OSError, zipfile.BadZipFile) as error:
            raise ValueError(f"path must lead to a saved run; got path={shown(path)}") from error
        for name, value in _described(self.policy).items():
            if about.get(name) != value:
                raise ValueError(
                    "path must lead to a run of the same policy, parameters and version; its "
                    f"{name} is {about.get(name)!r}, here it is {value!r}"
                )
        for name, fresh in _leaves(self.state, "state"):
            saved = arrays.get(name)
            if saved is None or (saved.dtype, saved.shape) != (fresh.dtype, fresh.shape):
                raise ValueError(f"path must lead to a run of this policy; its {name} does not fit")
            fresh[...] = saved
        self._open = {t: (arrays[f"waiting.{i}"], a) for i, (t, a) in enumerate(about["open"])}
        self.rounds = int(about["rounds"])
        self._arms = {int(arm): n for arm, n in about["arms"].items()}
        self._clipped, self._warned = about["clipped"], about["warned"]

    def close(self) -> None:
        """Let other runs use the files that this one was saved to or loaded from."""
        while self._held:
            self._held.popitem()[1]()

    def _hold(self, path):
        """Lock `path` for this run; the lock ends with the process, too (none on Windows)."""
        if fcntl is None or path in self._held:
            return
        handle = os.open(f"{path}.lock", os.O_CREAT | os.O_RDWR, 0o600)
        let_go = weakref.finalize(self, os.close, handle)  # when the run is gone, at the latest
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            let_go()
            raise ValueError(f"path must be free; another run holds {path}") from None
        self._held[path] = let_go


def _file(path):
    """`path` as an absolute pathlib.Path of a file in a folder that is there, not of a folder."""
    ok = isinstance(path, (str, os.PathLike)) and str(path) and "\0" not in str(path)
    if not ok or Path(path).is_dir() or not Path(path).absolute().parent.is_dir():
        raise ValueError(f"path must be the path of a file, in a folder; got path={shown(path)}")
    return Path(path).absolute()


def _leaves(value, name):
    """(dotted name, value) of everything that nested named tuples hold."""
    if isinstance(value, tuple):
        for key, part in zip(getattr(value, "_fields", range(len(value))), value, strict=True):
            yield from _leaves(part, f"{name}.{key}")
    else:
        yield name, value


def _described(policy):
    """What must be the same for a run to go on: version, policy, guarantee and every parameter."""
    kernels = getattr(policy.select, "py_func", policy.select)
    about = {
        "version": companion.__version__,
        "policy": policy.name,
        "kernels": kernels.__module__,
        "guarantee": str(policy.guarantee),
    }
    for name, leaf in _leaves(policy.params, "params"):
        leaf = np.asarray(leaf)
        digest = hashlib.sha256(np.ascontiguousarray(leaf).tobytes()).hexdigest()[:16]
        about[name] = repr(leaf.item()) if leaf.ndim == 0 else f"{leaf.dtype}{leaf.shape} {digest}"
    return about
