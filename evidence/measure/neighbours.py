"""What all records in place of one let out, after one and the same public past.

Two inputs are neighbours by the relation that the guarantee declares: "replace one
record" (x, r), "replace one reward" (the contexts are public), or "add or remove one
record" (a removed record is not learned from).  Records are taken from the corners of the
universe, from what an `AuditInstance` adds, and from a thousand and a billion times too
far away.  Nothing but the declared releases may depend on them.
"""

from itertools import product
from typing import Any, NamedTuple

import numpy as np

from companion.accounting.privacy import (
    ADD_OR_REMOVE,
    RELATIONS,
    REPLACE_RECORD,
    REPLACE_REWARD,
)
from companion.contract import one_context
from companion.core import Universe
from evidence.measure.recording import (
    Leak,
    NotMeasured,
    Played,
    Recorder,
    Wish,
    fresh_rows,
    has_contexts,
)

FEW = 16  # candidates for every round of a run of many rounds
LONG = 40  # rounds that are many
MOST = 1_200  # rounds that are played for all candidates together
# laws of numbers that others, which are let out, choose
CHOSEN = {"peeled", "picks", "vertex"}


class Seen(NamedTuple):
    """What all candidates in place of one round's record let out, after one and the same
    past."""

    base: Any  # the run whose outcomes all others share
    # per call and part of it: (candidates, ...) released numbers, with the same noise
    clean: list
    laws: list  # and their laws
    kind: np.ndarray  # (candidates,) see `candidates`
    pairs: np.ndarray  # (pairs, 2) candidates that are neighbours of each other
    runs: list = ()  # of the candidates
    at: int = 0  # the round

    def parts(self):
        """[(law, (candidates, numbers))] of all calls, one after the other."""
        return [
            (law, part.reshape(len(part), -1))
            for parts, laws in zip(self.clean, self.laws, strict=True)
            for law, part in zip(laws, parts, strict=True)
        ]

    def stacked(self, law: str) -> np.ndarray:
        """(candidates, n): all numbers of this law."""
        return np.hstack([part for which, part in self.parts() if which == law])

    def moves(self, numbers: np.ndarray) -> np.ndarray:
        """(pairs, ...): how far two neighbours are apart in these numbers (candidates,
        ...)."""
        return numbers[self.pairs[:, 0]] - numbers[self.pairs[:, 1]]

    def distances(self) -> np.ndarray:
        """(pairs,): how far all numbers move together, but for those that are chosen by
        others."""
        moves = (self.moves(part) for law, part in self.parts() if law not in CHOSEN)
        return np.sqrt(sum((D**2).sum(axis=1) for D in moves))

    def bounded(self, size: np.ndarray) -> bool:
        """Whether records a billion times too large move no further than a thousand;
        size:
        (pairs,) distances."""
        kinds = self.kind[self.pairs].max(axis=1)
        far = [size[kinds == k].max(initial=0.0) for k in (1, 2)]
        bounded = bool(far[1] <= far[0] * (1 + 1e-6))
        if not bounded and far[1] <= 1e3 * far[0]:
            raise NotMeasured(
                f"a release grows with the record's size, but slowly: {far}"
            )
        return bounded

    def releases(self) -> int:
        """How many calls the record moves."""
        return sum(any(self.moves(part).any() for part in parts) for parts in self.clean)


def dimension(policy) -> int:
    """Dimension of a context; 1 for policies without contexts."""
    return getattr(policy.params, "d", 1)


def filler(case) -> list[tuple[int, np.ndarray, float]]:
    """The records that stay the same, one per round."""
    rng = np.random.default_rng(7)
    shape = case.rounds, dimension(case.policy) + 1
    return [(0, row[:-1], row[-1]) for row in rng.uniform(-0.5, 0.5, shape)]


def records(d: int):
    """Candidate records (x, r): those inside the unit ball and [-1, 1], and a function of
    a size for the same as far outside as it says.

    Directions: for d = 2 every 15 degrees, else the axes and all corners of the cube.
    """
    if d == 2:
        angle = np.arange(24) * np.pi / 12
        ways = np.column_stack([np.cos(angle), np.sin(angle)])
    else:
        all_corners = d <= 6  # else two of them and their opposites
        signs = [np.ones(d), np.cos(np.pi * np.arange(d))]
        signs = (
            list(product((-1.0, 1.0), repeat=d))
            if all_corners
            else [*signs, *-np.array(signs)]
        )
        ways = np.vstack([np.eye(d), -np.eye(d), signs])
        ways /= np.linalg.norm(ways, axis=1, keepdims=True)
    near = [(*x, r) for x in ways for r in (-1.0, 0.0, 1.0)] + [
        (*x, 1.0) for x in ways / 2
    ]
    coarse = np.array([(*x, r) for x in ways[:: 3 if d == 2 else 1] for r in (-1.0, 1.0)])
    paid = np.append(np.zeros(d), 1.0)  # of some the reward alone is too large

    def far(size):
        return np.vstack([size * coarse, coarse[:8] * (1.0 + (size - 1.0) * paid)])

    return np.array(near), far


def corners_of(universe, d: int) -> np.ndarray:
    """(n, d + 1) records on the corners of a `Universe`: axes and diagonals, extreme
    rewards."""
    ways = records(d)[0][:, :d]
    rewards = (max(universe.low, -1e6), min(universe.high, 1e6))
    if universe.offset:
        ways = np.array(
            [(*np.sqrt(0.5) * x, np.sqrt(0.5)) for x in records(d - 1)[0][:, :-1]]
        )
    else:
        sizes = np.linalg.norm(ways, universe.norm, axis=1, keepdims=True)
        radius = universe.radius if universe.radius < np.inf else 1.0
        ways = radius * ways / np.where(sizes > 0, sizes, 1.0)
    return np.array([(*x, r) for x in np.unique(ways, axis=0) for r in rewards])


def candidates(case, x=None):
    """([(arm, x, r) or None: no record], kinds, (pairs, 2) of those that are neighbours);
    kinds: 0 near, 1 a thousand, 2 a billion times too large.  x: the public context,
    where rewards alone are private."""
    relation = case.policy.guarantee.neighbours
    d = dimension(case.policy)
    if relation not in RELATIONS:
        raise NotMeasured(f"neighbours must be one of {RELATIONS}; got {relation!r}")
    near, far = records(d)
    world = getattr(case.policy, "universe", None) or Universe(norm=np.inf)
    more = [corners_of(world, d)] if d > world.offset else []
    near = np.vstack([near, *more, *([] if case.records is None else [case.records])])
    rows = [near, far(1e3), far(1e9)]
    if case.rounds > LONG:
        best = near[np.abs(near[:, -1]) == np.abs(near[:, -1]).max()]
        rows = [
            best[np.linspace(0, len(best) - 1, FEW).astype(int)],
            *(r[:4] for r in rows[1:]),
        ]
    elif case.rounds * len(near) > MOST:
        rows[0] = near[np.linspace(0, len(near) - 1, MOST // case.rounds).astype(int)]
    if relation == REPLACE_REWARD:
        rewards = [np.unique(r[:, -1]) for r in rows]
        rows = [np.column_stack([np.tile(x, (len(r), 1)), r]) for r in rewards]
    kind = np.repeat([0, 1, 2], [len(r) for r in rows])
    made = [(i % 2, row[:-1], row[-1]) for i, row in enumerate(np.vstack(rows))]
    chosen = case.assumes_compliance and not one_context(case.policy)
    if chosen and has_contexts(case.policy) and relation == REPLACE_RECORD:
        wishes = [(Wish(arm), x, r) for arm, x, r in made if r == 1.0]
        made += wishes
        kind = np.append(kind, np.zeros(len(wishes), int))
    if relation == ADD_OR_REMOVE:
        pairs = np.column_stack([np.arange(len(made)), np.full(len(made), len(made))])
        return [*made, None], np.append(kind, 0), pairs
    return made, kind, np.column_stack(np.triu_indices(len(made), 1))


def positions(case) -> list[tuple[int, Any]]:
    """(round whose record is replaced, its public context or None): the first, one in the
    middle, the last; where rewards alone are private for several contexts each."""
    rounds = sorted({0, case.rounds // 2, case.rounds - 1})
    if case.policy.guarantee.neighbours != REPLACE_REWARD:
        return [(at, None) for at in rounds]
    d = dimension(case.policy)
    world = getattr(case.policy, "universe", None)
    longest = max(
        corners_of(world or Universe(norm=np.inf), d)[:, :-1],
        key=lambda x: abs(x).sum(),
    )
    return [(at, x) for at in rounds for x in (np.eye(d)[0], -np.eye(d)[-1], longest)]


def compare(run, base, at: int) -> None:
    """Raises `Leak` where `run` shows more than its releases of the record of round `at`,
    in which alone its records are not those of `base`."""
    if len(run.calls) != len(base.calls):
        raise Leak(
            f"the record of round {at + 1} changes how often something is released: "
            f"{len(run.calls)} times or {len(base.calls)}; release at times that depend "
            "on public numbers alone"
        )
    told = [[arms[t == at :] for t, arms in enumerate(one.arms)] for one in (run, base)]
    if told[0] != told[1]:
        raise Leak(
            f"advice to others depends on more of the record of round {at + 1} than "
            "what was released: let `select` read released fields alone"
        )
    for i, (a, b) in enumerate(zip(run.public, base.public, strict=True)):
        if a.tobytes() != b.tobytes() and not np.array_equal(a, b, equal_nan=True):
            name = f" `{run.names[i % len(run.names)]}`" if run.names else ""
            raise Leak(
                f"the public state's field{name} depends on more of the record of round "
                f"{at + 1} than what was released: name it in Policy(private=...) if "
                "nobody sees it, else release it with noise"
            )


def see(case, position, seed: int = 1, tries: int = 0) -> Seen:
    """`Seen`: every candidate at this position, and the best of a search by so many
    tries.  Raises `Leak` if more than the releases depends on a record: their number, the
    advice to others, the public part of the state."""
    at, x = position
    recorder = Recorder(case)
    fixed = filler(case)
    rows, kind, pairs = candidates(case, x)
    if x is not None:
        fixed[at] = rows[0]
    base = recorder.play(fixed, seed=seed, mark=at)

    def play(row, script=None):
        records = [*fixed[:at], row, *fixed[at + 1 :]]
        return recorder.play(records, seed=seed, script=script)

    def follow(row):
        run = play(row, base)
        compare(run, base, at)
        return run

    if rows[-1] is None and len(play(None).calls) != len(base.calls):
        # where it adds nothing, it is none
        rows[-1] = (0, np.zeros(dimension(case.policy)), 0.0)
        quiet = recorder.play([rows[-1]] * case.rounds).calls[:LONG]
        drawn = [fresh_rows(call, 2000, 1) for call in quiet]
        if any((np.abs(z.mean(axis=0)) > 0.16 * z.std(axis=0)).any() for z in drawn):
            raise NotMeasured("without a record there is another number of releases")
    runs = [follow(row) for row in rows]
    if tries and x is None and has_contexts(case.policy):
        best = searched(case, follow, runs, tries)
        partners = [
            (len(runs) + i, j) for i in range(len(best)) for j in range(len(runs))
        ]
        if case.policy.guarantee.neighbours == ADD_OR_REMOVE:  # beside no record alone
            partners = [(i, len(rows) - 1) for i, j in partners if j == len(rows) - 1]
        runs += best
        kind = np.append(kind, np.zeros(len(best), int))
        pairs = np.vstack([pairs, *([partners] if partners else [])])
    laws = [[law for law, _ in c.clean] for c in base.calls]
    clean = [
        [np.array([run.calls[i].clean[j][1] for run in runs]) for j in range(len(parts))]
        for i, parts in enumerate(laws)
    ]
    return Seen(
        base=base,
        clean=clean,
        laws=laws,
        kind=kind,
        pairs=pairs,
        runs=runs,
        at=at,
    )


def need_quiet(case, at: int) -> None:
    """Raises `Leak` if, among records of zeros, one with an extreme reward shows more
    than its releases: there a small change turns the advice.

    Users who play another arm than they are told are neighbours like all others, where
    the guarantee assumes nothing.
    """
    if case.assumes_compliance or at + 1 >= case.rounds:
        return
    recorder = Recorder(case)
    d = dimension(case.policy)
    world = getattr(case.policy, "universe", None) or Universe()
    x = np.zeros(d)
    x[0] = 0.5
    quiet = [(Played(0), np.zeros(d), 0.0)] * case.rounds
    for arm in (0, 1):
        low, high = (
            [*quiet[:at], (Played(arm), x, reward), *quiet[at + 1 :]]
            for reward in (max(world.low, -1.0), min(world.high, 1.0))
        )
        base = recorder.play(low, seed=1)
        compare(recorder.play(high, seed=1, script=base), base, at)


def numbers_of(run) -> np.ndarray:
    """(m,): all that a run releases, with the same noise in every run."""
    return np.concatenate([a for c in run.calls for _, a in c.clean], axis=None)


def searched(case, follow, runs, tries: int, keep: int = 4):
    """The runs of those records, of so many at random and near the best, that move what
    is released furthest from the other candidates: a search without gradients."""
    rng = np.random.default_rng(19)
    world = getattr(case.policy, "universe", None) or Universe()
    d = dimension(case.policy)
    others = np.array([numbers_of(run) for run in runs])
    found = []
    for i in range(tries):
        if i < tries // 2 or not found:
            record = anywhere(world, d, rng)
        else:
            _, (_, x, r), _ = found[i % len(found)]
            step = 0.3 * 0.5 ** (8.0 * i / tries - 4.0)
            record = inside(world, x + step * rng.standard_normal(d), r)
        run = follow((i % 2, *record))
        far = np.linalg.norm(others - numbers_of(run), axis=1).max()
        found.append((far, (0, *record), run))
        found = sorted(found, key=lambda one: -one[0])[:keep]
    return [run for _, _, run in found]


def anywhere(world, d: int, rng):
    """(x, r): a context of random direction, and an extreme reward of a `Universe`."""
    size = 1.0 if rng.random() < 0.7 else rng.random()
    x = rng.standard_normal(d)
    rewards = max(world.low, -1e6), min(world.high, 1e6)
    return inside(world, x, rewards[rng.integers(2)], size)


def inside(world, x, r, size: float = 1.0):
    """(x, r) with the context scaled to this share of the largest of a `Universe`."""
    if world.offset:
        u = x[:-1] / max(np.linalg.norm(x[:-1]), 1e-9)
        return np.append(size * np.sqrt(0.5) * u, np.sqrt(0.5)), r
    radius = world.radius if world.radius < np.inf else 1.0
    return size * radius * x / max(np.linalg.norm(x, world.norm), 1e-9), r


def farthest(case, position):
    """The two neighbouring lists of records that are furthest apart in what they release
    with the same noise: each played by itself, whatever the law of the noise."""
    at, x = position
    fixed = filler(case)
    rows, kind, pairs = candidates(case, x)
    recorder = Recorder(case, guesses=False)
    streams = [[*fixed[:at], row, *fixed[at + 1 :]] for row in rows]
    clean = [
        numbers_of(recorder.play(stream)) if near < 2 else None
        for stream, near in zip(streams, kind, strict=True)
    ]
    best = -1.0
    chosen = None
    for i, j in pairs:
        a = clean[i]
        b = clean[j]
        if a is not None and b is not None and a.shape == b.shape:
            far = np.linalg.norm(a - b)
            if far > best:
                best = far
                chosen = streams[i], streams[j]
    return chosen
