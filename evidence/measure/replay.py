"""REPLAY: the same noise, another record.

One record of a run is replaced by every candidate in turn, and the run is played again
after one and the same public past: `see` gives what each candidate lets out.  Two inputs
are neighbours by the relation that the guarantee declares: "replace one record" (x, r),
"replace one reward" (the contexts are public), or "add or remove one record" (a removed
record is not learned from).  Candidates are taken from the corners of the universe, from
what an `AuditInstance` adds, from a search, and from a thousand and a billion times too
far away.  Nothing but the declared releases may depend on them: else `Leak`.
"""

from itertools import product
from typing import NamedTuple

import numpy as np

from companion.accounting.privacy import (
    ADD_OR_REMOVE,
    RELATIONS,
    REPLACE_REWARD,
)
from companion.core import Universe
from evidence.measure.record import (
    Leak,
    NotMeasured,
    Played,
    Recorder,
    Run,
    dimension,
    fresh_rows,
    has_contexts,
    same_bits,
)

FEW = 16  # candidates for every round of a run of many rounds
MOST = 1_200  # rounds that are played for all candidates together
BEST = 4  # records that the search keeps
LARGE = 1e6  # a reward as large as any where the universe has no bound
# laws of numbers that others, which are let out, choose
CHOSEN = {"peeled", "picks", "vertex"}


# --- which record is replaced, and by which


class Candidates(NamedTuple):
    """Records in place of one."""

    records: list  # (arm, x, r), or None: no record
    outside: np.ndarray  # 0: near, 1: a thousand, 2: a billion times too large
    pairs: np.ndarray  # (pairs, 2) of those that are neighbours of each other


def universe(policy) -> Universe:
    """Where its records come from: a cube, if it does not say."""
    return getattr(policy, "universe", None) or Universe(norm=np.inf)


def extreme_rewards(world) -> tuple[float, float]:
    """The smallest and the largest reward."""
    return max(world.low, -LARGE), min(world.high, LARGE)


def filler(case) -> list[tuple[int, np.ndarray, float]]:
    """The records that stay the same, one per round."""
    rng = np.random.default_rng(7)
    d = dimension(case.policy)
    rows = rng.uniform(-0.5, 0.5, (case.rounds, d + 1))
    return [(0, row[:d], row[d]) for row in rows]


def positions(case) -> list:
    """[(round whose record is replaced, records, one per round)]: the first round, one in
    the middle, the last; where rewards alone are private for several contexts each, which
    the replaced record has."""
    rounds = sorted({0, case.rounds // 2, case.rounds - 1})
    contexts = [None]
    if case.policy.guarantee.neighbours == REPLACE_REWARD:
        d = dimension(case.policy)
        corners = corners_of(universe(case.policy), d)[:, :d]
        longest = corners[np.abs(corners).sum(axis=1).argmax()]
        contexts = [np.eye(d)[0], -np.eye(d)[-1], longest]
    found = []
    for at, x in product(rounds, contexts):
        records = filler(case)
        if x is not None:
            records[at] = (0, x, 1.0)
        found.append((at, records))
    return found


def directions(d: int) -> np.ndarray:
    """(n, d) of length 1: for d = 2 every 15 degrees, else the axes and all corners of
    the cube; beyond d = 6 two of them and their opposites."""
    if d == 2:
        angle = np.arange(24) * np.pi / 12
        return np.column_stack([np.cos(angle), np.sin(angle)])
    if d <= 6:
        signs = np.array(list(product((-1.0, 1.0), repeat=d)))
    else:
        two = np.array([np.ones(d), np.cos(np.pi * np.arange(d))])
        signs = np.vstack([two, -two])
    return np.vstack([np.eye(d), -np.eye(d), signs / np.sqrt(d)])


def with_rewards(contexts, rewards) -> np.ndarray:
    """(n, d + 1): every context with every reward."""
    return np.array([(*x, r) for x in contexts for r in rewards])


def far_records(d: int, size: float) -> np.ndarray:
    """(n, d + 1) records (x, r) so many times too large; of some the reward alone."""
    ways = directions(d)[::3]
    return with_rewards([*size * ways, *ways[:4]], (-size, size))


def corners_of(universe, d: int) -> np.ndarray:
    """(n, d + 1) records on the corners of a `Universe`: axes and diagonals, extreme
    rewards."""
    ways = directions(d - universe.offset)
    contexts = np.array([inside(universe, way) for way in ways])
    return with_rewards(np.unique(contexts, axis=0), extreme_rewards(universe))


def inside(world, way, size: float = 1.0) -> np.ndarray:
    """The context in this direction, and of this share of the largest size, of a
    `Universe`."""
    if world.offset:
        inner = size * way / max(np.linalg.norm(way), 1e-9)
        return np.sqrt(0.5) * np.append(inner, 1.0)
    radius = world.radius if world.radius < np.inf else 1.0
    return size * radius * way / max(np.linalg.norm(way, world.norm), 1e-9)


def candidates(case, context=None, more=()) -> Candidates:
    """`Candidates` by the relation of the case's guarantee; context: the public one,
    where rewards alone are private; more: (n, d + 1) further records."""
    relation = case.policy.guarantee.neighbours
    if relation not in RELATIONS:
        raise NotMeasured(f"neighbours must be one of {RELATIONS}; got {relation!r}")
    d = dimension(case.policy)
    world = universe(case.policy)
    most = max(MOST // case.rounds, FEW)
    near = corners_of(Universe(), d)
    if d > world.offset:
        near = np.vstack([near, corners_of(world, d)])
    if case.records is not None:
        near = np.vstack([near, case.records])
    chosen = np.linspace(0, len(near) - 1, min(most, len(near))).astype(int)
    groups = [np.vstack([near[chosen], *more])]
    for size in (1e3, 1e9):
        groups.append(far_records(d, size)[: most // 4])
    if relation == REPLACE_REWARD:
        groups = [with_rewards([context], np.unique(rows[:, d])) for rows in groups]
    outside = np.repeat([0, 1, 2], [len(rows) for rows in groups])
    records = [(i % 2, row[:d], row[d]) for i, row in enumerate(np.vstack(groups))]
    if relation == ADD_OR_REMOVE:
        none = len(records)
        pairs = np.array([(i, none) for i in range(none)])
        return Candidates([*records, None], np.append(outside, 0), pairs)
    pairs = np.column_stack(np.triu_indices(len(records), 1))
    return Candidates(records, outside, pairs)


# --- what they let out


class Shown(NamedTuple):
    """One part of one call, for all candidates."""

    call: int
    part: int
    law: str
    numbers: np.ndarray  # (candidates, ...), with the same noise


class Seen(NamedTuple):
    """What all candidates in place of one round's record let out, after one and the same
    past."""

    base: Run | None  # the run whose outcomes all others share
    parts: list  # `Shown`, one call after the other
    candidates: Candidates
    runs: list = ()  # of the candidates
    at: int = 0  # the round

    def stacked(self, law: str):
        """(candidates, n): all numbers of this law; (n,): the calls that show them."""
        parts = [part for part in self.parts if part.law == law]
        rows = [part.numbers.reshape(len(part.numbers), -1) for part in parts]
        sizes = [row.shape[1] for row in rows]
        return np.hstack(rows), np.repeat([part.call for part in parts], sizes)

    def moves(self, numbers: np.ndarray) -> np.ndarray:
        """(pairs, ...): how far two neighbours are apart in these numbers (candidates,
        ...)."""
        one, other = self.candidates.pairs.T
        return numbers[one] - numbers[other]

    def distances(self) -> np.ndarray:
        """(pairs,): how far all numbers move together, but for those that are chosen by
        others."""
        squares = 0.0
        for part in self.parts:
            if part.law not in CHOSEN:
                moves = self.moves(part.numbers)
                squares += (moves**2).reshape(len(moves), -1).sum(axis=1)
        return np.sqrt(squares)

    def bounded(self) -> bool:
        """Whether records a billion times too large move no further than a thousand."""
        size = self.distances()
        outside = self.candidates.outside[self.candidates.pairs].max(axis=1)
        thousand = size[outside == 1].max(initial=0.0)
        billion = size[outside == 2].max(initial=0.0)
        if billion <= thousand * (1 + 1e-6):
            return True
        if billion <= 1e3 * thousand:
            raise NotMeasured(
                "a release grows with the record's size, but slowly: "
                f"{[thousand, billion]}"
            )
        return False

    def moved(self) -> list[int]:
        """The calls that the record moves, in order."""
        moved = {part.call for part in self.parts if self.moves(part.numbers).any()}
        return sorted(moved)


def see(case, position, tries: int = 0) -> Seen:
    """`Seen`: every candidate at this position, and the best of a search by so many
    tries.

    Raises `Leak` if more than the releases depends on a record: their number, the advice
    to others, the public part of the state.
    """
    at, fixed = position
    recorder = Recorder(case)
    base = recorder.play(fixed, seed=1)

    def follow(record):
        records = replaced(fixed, at, record)
        run = recorder.play(records, seed=1, script=base)
        compare(run, base, at)
        return run

    more = []
    public_contexts = case.policy.guarantee.neighbours == REPLACE_REWARD
    if tries and has_contexts(case.policy) and not public_contexts:
        more = searched(case, follow, numbers_of(base), tries)
    found = candidates(case, fixed[at][1], more)
    records = found.records
    if records[-1] is None:
        records[-1] = no_record(case, recorder, fixed, base, at)
    runs = [follow(record) for record in records]
    parts = []
    for i, call in enumerate(base.calls):
        for j, part in enumerate(call.clean):
            numbers = np.array([run.calls[i].clean[j].numbers for run in runs])
            parts.append(Shown(call=i, part=j, law=part.law, numbers=numbers))
    return Seen(base=base, parts=parts, candidates=found, runs=runs, at=at)


def replaced(records, at: int, record) -> list:
    """The records with another one in this round."""
    return [*records[:at], record, *records[at + 1 :]]


def no_record(case, recorder, fixed, base, at: int):
    """What stands for a removed record: None; where every record has releases of its own,
    one of zeros, which must add nothing to them."""
    alone = recorder.play(replaced(fixed, at, None), seed=1)
    if len(alone.calls) == len(base.calls):
        return None
    zeros = (0, np.zeros(dimension(case.policy)), 0.0)
    for call in recorder.play([zeros] * case.rounds).calls[:FEW]:
        z = fresh_rows(call, 2000, 1)
        if (np.abs(z.mean(axis=0)) > 0.16 * z.std(axis=0)).any():
            raise NotMeasured("without a record there is another number of releases")
    return zeros


def compare(run, base, at: int) -> None:
    """Raises `Leak` where `run` shows more than its releases of the record of round `at`,
    in which alone its records are not those of `base`."""
    who = f"the record of round {at + 1}"
    if len(run.calls) != len(base.calls):
        raise Leak(
            f"{who} changes how often something is released: {len(run.calls)} times or "
            f"{len(base.calls)}; release at times that depend on public numbers alone"
        )
    for t, (told, before) in enumerate(zip(run.arms, base.arms, strict=True)):
        own = int(t == at)  # advice to the user whose record it is
        if told[own:] != before[own:]:
            raise Leak(
                f"advice to others depends on more of {who} than what was released: let "
                "`select` read released fields alone"
            )
    for one, other in zip(run.public, base.public, strict=True):
        for name, a in one.items():
            b = other[name]
            if same_bits(a, b) or np.array_equal(a, b, equal_nan=True):
                continue
            raise Leak(
                f"the public state's field `{name}` depends on more of {who} than "
                "what was released: name it in Policy(private=...) if nobody sees it, "
                "else release it with noise"
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
    low, high = extreme_rewards(universe(case.policy))
    quiet = [(Played(0), np.zeros(d), 0.0)] * case.rounds
    x = 0.5 * np.eye(d)[0]
    for arm in (0, 1):
        lost = replaced(quiet, at, (Played(arm), x, low))
        won = replaced(quiet, at, (Played(arm), x, high))
        base = recorder.play(lost, seed=1)
        other = recorder.play(won, seed=1, script=base)
        compare(other, base, at)


def draws_elsewhere(case, first: int | None = None) -> bool:
    """Whether, after the same outcomes, what the `first` so many calls show without their
    noise still depends on draws: a secret coin, say, or noise that the State holds."""
    recorder = Recorder(case)
    records = [(Played(0), x, r) for _, x, r in filler(case)]
    base = recorder.play(records)
    for seed in range(1, 9):
        try:
            again = recorder.play(records, seed=seed, script=base)
        except Leak:  # the number of releases
            return True
        for call, other in zip(base.calls[:first], again.calls, strict=False):
            for one, another in zip(call.clean, other.clean, strict=True):
                if not np.allclose(one.numbers, another.numbers, atol=1e-9):
                    return True
    return False


# --- the record that moves most


def numbers_of(run) -> np.ndarray:
    """(m,): all that a run releases, with the same noise in every run."""
    numbers = [part.numbers.ravel() for call in run.calls for part in call.clean]
    return np.concatenate([[], *numbers])


def searched(case, follow, usual, tries: int):
    """Rows (x, r) of those, of so many at random and near the best, that move what is
    released furthest from the usual: a search without gradients."""
    rng = np.random.default_rng(19)
    world = universe(case.policy)
    d = dimension(case.policy)
    best = []  # (distance from what is released of the filler, row)
    for i in range(tries):
        way = rng.standard_normal(d - world.offset)
        size = min(rng.uniform(0.0, 3.0), 1.0)
        r = rng.choice(extreme_rewards(world))
        if 2 * i > tries:  # near one of the best
            _, old = best[i % BEST]
            way = old[: len(way)] + 0.3 * 0.5 ** (8.0 * i / tries - 4.0) * way
            size = 1.0
            r = old[d]
        x = inside(world, way, size)
        far = np.linalg.norm(numbers_of(follow((i % 2, x, r))) - usual)
        best = sorted([*best, (far, (*x, r))], reverse=True)[:BEST]
    return [row for _, row in best]


def farthest(case, position):
    """The two neighbouring lists of records that are furthest apart in what they release
    with the same noise, whatever the law of the noise."""
    seen = see(case, position)
    found = seen.candidates
    size = np.where((found.outside[found.pairs] < 2).all(axis=1), seen.distances(), -1.0)
    at, fixed = position
    pair = found.pairs[size.argmax()]
    return [replaced(fixed, at, found.records[i]) for i in pair]
