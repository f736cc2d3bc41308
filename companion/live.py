"""One run of a policy on anyone's data: round by round, counted, and kept in a file.

A saved run is a zip of plain arrays with a JSON text: nothing in it is executed or unpickled.  It
holds private data (records, exact sums, counts of what was clipped): keep it as you keep those.
"""

from __future__ import annotations

import json
import os
import tempfile
import warnings
import zipfile
from pathlib import Path
from typing import NamedTuple

import numpy as np

from companion.accounting.privacy import Guarantee
from companion.core import LARGEST_RECORD, Policy, need_contexts, need_rounds
from companion.saved import described, leaves, need_same, refilled
from companion.validate import need_array, need_float, need_int, need_kind, need_path, shown

KEPT = 1000  # tickets that a run remembers after their rewards came
MANY = 0.01  # share of clipped records above which a run warns


class Report(NamedTuple):
    """What `Live.report` tells the one who holds the data; counts are exact, so they are private.

    clipped: records outside the policy's universe, by cause (one may have both); None if the policy
    declares none, so that nothing is clipped.
    """

    rounds: int
    guarantee: Guarantee
    clipped: dict | None
    arms: dict  # arm -> rounds in which it was played


class Live:
    """One run of a policy, fed round by round: `arm = live.select(X)`, then `live.update(arm, r)`.

    Driven by the same kernels as `simulate`, with equal arms on an equal stream.  Raises ValueError
    (and changes nothing) on contexts that `need_contexts` refuses, on an arm outside 0..K-1, on a
    reward that is not finite, and past the horizon for which the guarantee was computed.  Warns
    once when more than 1 % of the records were clipped.

    Late rewards: a question with a `ticket` (a text of the caller's) stays open until `update` gets
    the same ticket, so many can be open and end in any order, if the policy has
    `delayed_feedback`; otherwise a second question is refused.  Open questions count as rounds of
    the horizon.  When a reward arrives, and that it never does, is not protected.

    >>> from companion.baselines.private_linucb import jdp_linucb
    >>> live = jdp_linucb(2, T=100, epsilon=1.0, delta=0.1).start(seed=1)
    >>> arm = live.select([[0.6, 0.0], [0.0, 0.6]])
    >>> live.update(arm, 0.5)
    >>> live.report().rounds
    1
    """

    def __init__(self, policy, rng):
        self.policy, self.rng = policy, rng
        self.state = policy.init(policy.params)
        self.rounds = 0
        self._open, self._ended, self._warned = {}, [], False
        self._arms, self._clipped = {}, {"contexts": 0, "rewards": 0, "records": 0}
        self._universe = policy.universe

    def select(self, X, ticket=None) -> int:
        """Arm (int) for contexts X (K, d), one row per arm; asked once per round, or per ticket."""
        if ticket is not None and not (isinstance(ticket, str) and 0 < len(ticket) <= 200):
            raise ValueError(
                f"ticket must be a text of 1 to 200 letters; got ticket={shown(ticket)}"
            )
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
        arm = int(self.policy.select(self.policy.params, self.state, X, self.rng))
        self._open[ticket] = X, arm
        return arm

    def update(self, arm: int, r: float, ticket=None) -> None:
        """Tell the policy that `arm` was played, advised or not, and paid the reward `r`."""
        X, _ = self._asked(ticket)
        arm = need_int("arm", arm, 0, len(X) - 1)
        r = need_float("r", r, -LARGEST_RECORD, LARGEST_RECORD)
        x = X[arm].copy()
        self._count(arm, x, r)
        p = self.policy
        self.state = p.update(p.params, self.state, arm, x, r, self.rng) or self.state
        self._end(ticket)
        self.rounds += 1

    def drop(self, ticket) -> None:
        """Forget an open question whose reward never comes: nothing is learned, no round passes."""
        self._asked(ticket)
        if not self.policy.delayed_feedback:
            raise ValueError(
                f"ticket must get a reward: policy {self.policy.name!r} has no delayed feedback, it "
                "takes rounds in order"
            )
        self._end(ticket)

    @property
    def open(self):
        """{ticket: (contexts X, arm advised)} of the questions that wait; no ticket is None."""
        return {ticket: (X.copy(), arm) for ticket, (X, arm) in self._open.items()}

    def ended(self, ticket) -> bool:
        """Whether this was one of the last 1,000 tickets that ended."""
        return ticket in self._ended

    def _asked(self, ticket):
        if not isinstance(ticket, str | None) or ticket not in self._open:
            said = f"; ticket must be that of an open question, got {shown(ticket)}"
            waiting = ticket is not None or self._open
            raise ValueError(
                "update was called before select in this round" + (said if waiting else "")
            )
        return self._open[ticket]

    def _end(self, ticket):
        del self._open[ticket]
        if ticket is not None:
            self._ended = [*self._ended, ticket][-KEPT:]

    @property
    def guarantee(self) -> Guarantee:
        """The privacy that the policy gives, `Guarantee`."""
        return self.policy.guarantee

    def report(self) -> Report:
        """Rounds, guarantee, clipped records by cause, arms played: a `Report`."""
        clipped = None if self._universe is None else dict(self._clipped)
        return Report(self.rounds, self.guarantee, clipped, dict(sorted(self._arms.items())))

    def __repr__(self):
        waiting = {0: "", 1: ", waits for a reward"}.get(
            len(self._open), f", waits for {len(self._open)} rewards"
        )
        return f"<Live {self.policy.name}: {self.rounds} rounds{waiting}; {self.guarantee}>"

    def save(self, path: Path) -> None:
        """Write the run to `path`, all or nothing; what is there already is replaced.

        The file can be read by its owner alone, as it holds private data.
        """
        path = Path(need_path("path", path))
        arrays = dict(leaves(self.state, "state"))
        arrays |= {f"waiting.{i}": X for i, (X, _) in enumerate(self._open.values())}
        about = json.dumps(described(self.policy, self.rng) | self._counted())
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name)
        try:
            with os.fdopen(handle, "wb") as out:
                np.savez(out, about=np.array(about), **arrays)
                out.flush()
                os.fsync(out.fileno())
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise

    @classmethod
    def load(cls, path: Path, policy: Policy) -> Live:
        """The run that was saved at `path`, made with the same policy: it goes on to the bit.

        Raises ValueError, naming what differs, on a file of another version of the package, of
        another policy or parameter, or that is no saved run.
        """
        need_kind("policy", policy, Policy)
        need_path("path", path)
        try:
            with np.load(path, allow_pickle=False) as saved:
                arrays = {name: saved[name] for name in saved.files}
            about = json.loads(str(arrays.pop("about")))
        except (ValueError, KeyError, EOFError, TypeError, OSError, zipfile.BadZipFile) as error:
            raise ValueError(f"path must lead to a saved run; got path={shown(path)}") from error
        live = cls(policy, np.random.default_rng(0))
        need_same(about, described(policy, live.rng))
        live._restore(about, arrays)
        return live

    def _count(self, arm, x, r):
        self._arms[arm] = self._arms.get(arm, 0) + 1
        if self._universe is None:
            return
        context, reward = self._universe.outside(x, r)
        self._clipped["contexts"] += context
        self._clipped["rewards"] += reward
        self._clipped["records"] += context or reward
        found, n = self._clipped["records"], self.rounds + 1
        if found > max(1, MANY * n) and not self._warned:
            self._warned = True
            text = f"{found} of {n} records were clipped: {self.policy.name!r} takes "
            warnings.warn(text + str(self._universe), stacklevel=3)

    def _counted(self):
        arms = {str(arm): n for arm, n in self._arms.items()}
        asked = [[ticket, arm] for ticket, (_, arm) in self._open.items()]
        return {"open": asked, "ended": self._ended, "rounds": self.rounds, "arms": arms,
                "clipped": self._clipped, "warned": self._warned,
                "generator": self.rng.bit_generator.state}  # fmt: skip

    def _restore(self, about, arrays):
        self.state = refilled(self.state, arrays, "state")
        self._open = {t: (arrays[f"waiting.{i}"], a) for i, (t, a) in enumerate(about["open"])}
        self._ended, self.rounds = about["ended"], int(about["rounds"])
        self._arms = {int(arm): n for arm, n in about["arms"].items()}
        self._clipped, self._warned = about["clipped"], about["warned"]
        self.rng.bit_generator.state = about["generator"]
