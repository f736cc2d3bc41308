"""Every policy and optimiser: over its floor, over plain NumPy, compiled, remembered, growing.

Paired and alternating in one process, at the sizes of `companion.timing.roster`.  The multiples in
the Cost lines come from here.  LinUCB also beside the libraries of the extra `bench`, if they are
installed.
"""

from benchmarks import glm_twins
from companion.baselines.linucb import linucb
from companion.timing import compiling, cost_line, floors, growth, others, plain
from companion.timing.roster import ROSTER, D, K

TWINS = {  # plain NumPy with the same parameters; those of other algorithms are in other files here
    "linucb": lambda p, X, R: plain.linucb(X, R),
    "glm_ucb": glm_twins.glm_ucb,
    "ecolog": glm_twins.ecolog,
}
FEW = 400  # rounds of a twin and of a library


def beside(name, play):
    """(ns of a round of ours, of another program on the same stream of FEW rounds)."""
    X, R = floors.stream(FEW, K, D)
    policy = linucb(D) if name in others.LIBRARIES else ROSTER[name].make(D, K, FEW)
    run = floors.run_of(policy, X, R)
    both = floors.alternated(run, lambda: play(policy.params, X, R), 3)
    return tuple(1e9 * both.min(axis=0) / FEW)


def over_twin(name):
    """The multiple of ours that a twin takes, in words."""
    if name not in TWINS:
        return ""
    ours, slow = beside(name, TWINS[name])
    return f"; NumPy takes {slow / ours:.0f} times as long"


def grows(name):
    """Exponents in T, K and d, beside the highest powers in the Cost line, in words."""
    if name in cost_line.UNREAD:
        return f"; growth not compared: {cost_line.UNREAD[name]}"
    g = growth.grown(name)
    found = ", ".join(f"{n}^{e[0]:.2f} (line: {e[2]:g})" for n, e in g.exponents.items())
    return f"; grows as {found}, within {g.worst:.1f} times the line"


def rows():
    """A row for every algorithm: seconds of a round, of its floor; all else in the last column."""
    for name, entry in ROSTER.items():
        m = floors.measured(name, entry)
        low, middle, high = m.multiple
        said = "" if m.said is None else f", said {m.said:g}"
        text = f"{middle:.1f} floors ({low:.1f} to {high:.1f}{said}) at {m.rounds} x {m.K} x {m.d}"
        text += f"; {m.state} bytes; compiled in {compiling.seconds(name):.1f} s"
        ours = 1e-9 * m.ns
        yield name, ours, ours / middle, text + over_twin(name) + grows(name)
    for name, play in others.installed().items():
        ours, theirs = beside(name, lambda p, X, R, play=play: play(X, R))
        yield f"LinUCB of {name}", 1e-9 * ours, 1e-9 * theirs, f"ours first; {FEW} x {K} x {D}"
