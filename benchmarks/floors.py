"""Every policy and optimiser beside its floor and its NumPy twin, at the sizes of the roster.

The multiples in the Cost lines come from here.  LinUCB also stands beside the libraries of the
extra `bench`, if they are installed.
"""

from typing import NamedTuple

import numpy as np
from companion.timing import compiling, cost_line, floors, growth, others
from companion.timing.roster import ROSTER, D, K

from benchmarks import online_linucb, private_glm, streaming_sco
from benchmarks.measure import SIDE, TURNS, beside
from companion.core import Optimiser, one_context

TWINS = online_linucb.TWINS | private_glm.TWINS | streaming_sco.TWINS
SAME = 0.99  # share of rounds in which a twin plays our arm: rounding may break a near tie
SLOWER = 1.6  # a multiple of the floor may be so many times what the Cost line says
FAR = 3.0  # times off the terms of the line: sweeps and fits depend on the data, too
STEEPER = 0.3  # an exponent may be so much larger than the highest power of the line
HEAD = "| algorithm | ns a round | floors | quartiles | least | said | NumPy | bytes | size | |"


class Timed(NamedTuple):
    """What is known of an algorithm."""

    floor: floors.Measured
    numpy: float | None  # median time of the twin over ours
    compiled: float | None  # seconds
    grown: growth.Growth | None


def pair(name: str, rounds: int):
    """(ours, its NumPy twin) on a stream of so many rounds.

    Raises AssertionError unless the twin plays our arms, or ends at our parameter.
    """
    twin, entry = TWINS[name], ROSTER[name]
    algorithm = (twin.make or entry.make)(entry.d, entry.K, rounds)
    X, R = floors.stream(rounds, entry.K, entry.d, one_context(algorithm))
    optimises = isinstance(algorithm, Optimiser)
    if optimises:
        X = X / np.sqrt(entry.d)  # within every unit ball
    given = (X[:, 0], R[:, 0]) if optimises else (X, R)
    arms = np.empty(rounds, np.int64)
    ours = floors.run_of(algorithm, X, R, arms)

    def theirs():
        return twin.play(algorithm.params, *given, np.random.default_rng(2))

    state, found = ours(), theirs()
    same = np.isclose(state.theta, found) if optimises else arms == found
    if same.mean() < SAME:
        raise AssertionError(f"{name} and its twin differ in {(~same).mean():.1%} of cases")
    return ours, theirs


def twin_of(name: str) -> float:
    """How many times as long as ours the NumPy twin takes."""
    return float(beside(name, *pair(name, TWINS[name].rounds)).quartiles()[1])


def timed(name: str, compile_too: bool, grow: bool) -> Timed:
    """`Timed` of an algorithm of the roster."""
    return Timed(
        floors.measured(name, ROSTER[name], times=TURNS, side=SIDE),
        twin_of(name) if name in TWINS else None,
        compiling.seconds(name) if compile_too else None,
        growth.grown(name) if grow and name not in cost_line.UNREAD else None,
    )


def line(t: Timed) -> str:
    """A row of the table."""
    m, more = t.floor, []
    low, middle, high = m.multiple
    if t.compiled is not None:
        more.append(f"compiled in {t.compiled:.1f} s")
    if t.grown is not None:
        found = [f"{n}^{e[0]:.2f} (line: {e[2]:g})" for n, e in t.grown.exponents.items()]
        more.append(f"grows as {', '.join(found)}, within {t.grown.worst:.1f} times the line")
    said, twin = (
        "" if m.said is None else f"{m.said:g}",
        "" if t.numpy is None else f"{t.numpy:.0f}",
    )
    cells = m.name, f"{m.ns:.0f}", f"{middle:.1f}", f"{low:.1f} to {high:.1f}", f"{m.least:.1f}"
    cells += said, twin
    cells += f"{m.state:,}", f"{m.rounds} x {m.K} x {m.d}", "; ".join(more)
    return f"| {' | '.join(cells)} |"


def missed(t: Timed) -> list[str]:
    """What does not hold, in words."""
    m, found = t.floor, []
    least = min(m.least, m.multiple[1])
    if m.said and least > SLOWER * m.said:
        found.append(f"{m.name}: {least:.1f} floors; its Cost line says {m.said:g}")
    if t.grown is not None:
        for n, (ours, _, most) in t.grown.exponents.items():
            if ours > most + STEEPER:
                found.append(f"{m.name}: grows as {n}^{ours:.2f}; its Cost line says {n}^{most:g}")
        if t.grown.worst > FAR:
            found.append(f"{m.name}: {t.grown.worst:.1f} times off the terms of its Cost line")
    return found


def rows():
    """LinUCB beside the libraries that are installed, on a short stream."""
    X, R = floors.stream(100, K, D)
    ours = floors.run_of(ROSTER["linucb"].make(D, K, 100), X, R)
    for name, play in others.installed().items():
        yield beside(f"LinUCB beside {name}", ours, lambda play=play: play(X, R))
