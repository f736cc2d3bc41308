"""What all records in place of one let out, after one and the same public past.

Records are taken from the corners of the universe, from what a `AuditInstance` adds, and from a
thousand and a billion times too far away.  Nothing but the declared releases may depend on them.
"""

from itertools import product
from typing import Any, NamedTuple

import numpy as np

from companion.audits.faults import arrays, interpreted, is_generator, same
from companion.audits.watching import Quiet, begin, on_stage, play
from companion.core import Optimiser


class Leak(Exception):
    """Others see of a record more than the declared releases."""


class Seen(NamedTuple):
    """What all candidates in place of one round's record let out, after one and the same past."""

    base: Any  # the run whose outcomes all others share
    clean: list  # per call and part of it: (candidates, ...) released numbers without noise
    laws: list  # and their laws
    kind: np.ndarray  # (candidates,) see `candidates`

    def stacked(self, law: str) -> np.ndarray:
        """(candidates, n): all numbers of a law, over all calls."""
        parts = [
            part.reshape(len(part), -1)
            for parts, laws in zip(self.clean, self.laws, strict=True)
            for part, which in zip(parts, laws, strict=True)
            if which == law
        ]
        return np.hstack(parts)

    def bounded(self, distances) -> bool:
        """Whether records a billion times too large move a release no further than a thousand."""
        far = [distances[np.ix_(self.kind == k, self.kind == k)].max() for k in (1, 2)]
        bounded = bool(far[1] <= far[0] * (1 + 1e-6))
        if not bounded and far[1] <= 1e3 * far[0]:
            raise ArithmeticError(f"a release grows with the record's size, but slowly: {far}")
        return bounded

    def moves(self) -> int:
        """How many calls the record moves."""
        return sum(any(np.ptp(part, axis=0).any() for part in parts) for parts in self.clean)


def filler(case) -> list[tuple[int, np.ndarray, float]]:
    """The records that stay the same, one per round."""
    rng = np.random.default_rng(7)
    shape = case.rounds, case.policy.params.d + 1
    return [(0, row[:-1], row[-1]) for row in rng.uniform(-0.5, 0.5, shape)]


def records(d: int):
    """Candidate records (x, r): those inside the unit ball and [-1, 1], and a function of a size
    for the same as far outside as it says.

    Directions: for d = 2 every 15 degrees, else the axes and all corners of the cube.
    """
    if d == 2:
        angle = np.arange(24) * np.pi / 12
        ways = np.column_stack([np.cos(angle), np.sin(angle)])
    else:
        all_corners = d <= 6  # else two of them and their opposites
        signs = [np.ones(d), np.cos(np.pi * np.arange(d))]
        signs = list(product((-1.0, 1.0), repeat=d)) if all_corners else [*signs, *-np.array(signs)]
        ways = np.vstack([np.eye(d), -np.eye(d), signs])
        ways /= np.linalg.norm(ways, axis=1, keepdims=True)
    near = [(*x, r) for x in ways for r in (-1.0, 0.0, 1.0)] + [(*x, 1.0) for x in ways / 2]
    coarse = ways[:: 3 if d == 2 else 1]

    def far(size):
        both = [(*size * x, r) for x in coarse for r in (-size, size)]
        return np.array(both + [(*x, r) for x in coarse[:4] for r in (-size, size)])

    return np.array(near), far


def candidates(case) -> tuple[list[tuple[int, np.ndarray, float]], np.ndarray]:
    """[(arm, x, r)] and their kinds: 0 near, 1 a thousand, 2 a billion times too large."""
    near, far = records(case.policy.params.d)
    if case.records is not None:
        near = np.vstack([near, case.records])
    rows = [near, far(1e3), far(1e9)]
    kind = np.repeat([0, 1, 2], [len(r) for r in rows])
    return [(i % 2, row[:-1], row[-1]) for i, row in enumerate(np.vstack(rows))], kind


def positions(case) -> list[int]:
    """Rounds whose record is replaced: the first, one in the middle, the last."""
    return sorted({0, case.rounds // 2, case.rounds - 1})


def told(run, at: int) -> list[tuple[int | None, int, int, int, int, int, int]]:
    """All advice of a run that anybody but the user of round `at` gets."""
    return [(None if t == at else own, *others) for t, (own, others) in enumerate(run.arms)]


def compare(run, base, at: int) -> None:
    """Raises `Leak` where `run` shows more than its releases of the record of round `at`, in which
    alone its records are not those of `base`."""
    if len(run.calls) != len(base.calls):
        raise Leak("the number of releases depends on a record")
    if told(run, at) != told(base, at):
        raise Leak("advice depends on more of a record than what was released")
    for a, b in zip(run.public, base.public, strict=True):
        to_the_bit = a.shape == b.shape and same(a, b)  # asked first: it takes a tenth of the time
        if not (to_the_bit or np.array_equal(a, b, equal_nan=True)):
            raise Leak("the public state depends on more of a record than what was released")


def see(case, at: int, seed: int = 1) -> Seen:
    """`Seen`: every candidate in round `at`.  Raises `Leak` if more than the releases depends on
    it: their number, the advice to others, the public part of the state."""
    fixed = filler(case)
    rows, kind = candidates(case)
    runs = []
    with on_stage(case) as stage:
        base = play(case, fixed, seed=seed, stage=stage)
        for row in rows:
            data = [*fixed[:at], row, *fixed[at + 1 :]]
            runs.append(play(case, data, seed=seed, script=base, stage=stage))
            compare(runs[-1], base, at)
    laws = [[law for law, _ in c.clean] for c in base.calls]
    clean = [
        [np.array([run.calls[i].clean[j][1] for run in runs]) for j in range(len(parts))]
        for i, parts in enumerate(laws)
    ]
    return Seen(base, clean, laws, kind)


def fresh(case):
    """What `joint_noise` asks for: an optimiser begins anew with every draw."""
    return (lambda rng: begin(case, rng)) if isinstance(case.policy, Optimiser) else None


def joint_noise(run, law: str, n: int, seed: int, fresh=None) -> np.ndarray:
    """(n, m) draws of the noise of all calls together, in the order in which they were made.

    fresh: maps a generator to the state before the first record, where that holds noise.
    """

    def handed(generator):
        return [
            (kernel, read, [generator if is_generator(a) else a for a in args])
            for kernel, read, args in run.live
        ]

    def once(generator, calls):
        for a, content in run.first:
            a[...] = content
        if fresh is not None:  # noise that was drawn before the first record
            for a, content in zip(arrays(run.state[1]), arrays(fresh(generator)), strict=True):
                a[...] = content
        numbers = []
        for kernel, read, args in calls:
            for which, a in read(kernel(*args), *args):
                if which == law:
                    numbers.append(a.flatten() if type(a) is np.ndarray else np.ravel(a))
        return np.concatenate(numbers)

    with interpreted({}):
        quiet = [Quiet(u) for u in ((0.4, 0.6) if law in ("prefix", "generalized") else (0.5,))]
        clean = np.mean([once(q, handed(q)) for q in quiet], axis=0)  # two: both signs
        rng = np.random.default_rng(seed)
        calls = handed(rng)
        return np.array([once(rng, calls) for _ in range(n)]) - clean
