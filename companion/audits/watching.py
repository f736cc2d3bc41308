"""Measuring a private algorithm from outside: its kernels play interpreted, and are watched.

Every kernel that an `AuditInstance` names is replaced by a watcher while the policy plays.  It runs
the kernel once on copies, with a generator that draws nothing (`Quiet`), and keeps the numbers that
come out: the release without noise.  Then it runs it in earnest.  When the same rounds are played
again with one record replaced, the watcher puts the first run's outcomes in place: both runs have
the same public past, so whatever differs comes from the record, and the public part of the state
must be the same to the bit.  In every round other users ask for advice, too, on many contexts and
on copies of the state.  No formula of the package is repeated here.
"""

from contextlib import contextmanager, nullcontext
from typing import Any, NamedTuple

import numpy as np

from companion.audits.faults import arrays, copied, flat, interpreted, invite, same, uncompiled
from companion.core import Optimiser, one_context

OTHERS = 6  # users who ask for advice in every round, besides the one who is served


class Quiet:
    """A generator whose every draw is its centre; rounding at random goes by one number u."""

    def __init__(self, u=0.5):
        self.u = u

    def standard_normal(self, size: int | None = None) -> float | np.ndarray:
        """0."""
        return 0.0 if size is None else np.zeros(size)

    def standard_exponential(self) -> float:
        """1."""
        return 1.0

    def standard_gamma(self, shape):
        """Its mean."""
        return shape

    def binomial(self, n: int, p: float) -> float:
        """Its mean."""
        return n * p

    def random(self) -> float:
        """u."""
        return self.u

    def integers(self, low: float, high: float) -> float:
        """The lowest."""
        return low


class Loud:
    """A generator whose exponentials are a million times too large: a past of extreme outcomes."""

    def __init__(self, rng):
        self.rng = rng

    def __getattr__(self, name):
        return getattr(self.rng, name)

    def standard_exponential(self):
        """A million times too large."""
        return 1e6 * self.rng.standard_exponential()


class Call(NamedTuple):
    """One call of a watched kernel."""

    round: int
    kernel: Any  # not compiled
    read: Any
    args: tuple  # as they were before the call, generator included; () in a run with a script
    clean: list  # [(law, numbers)] without noise
    outcome: tuple  # (result, {number of a released array: what it holds afterwards})


class Run(NamedTuple):
    """What was played: calls, the arms advised, the public part of every state."""

    calls: list
    asked: list  # calls while the others asked
    arms: list  # [(arm of the user who is served, arms of the others who ask)]
    public: list
    first: list  # [(array, what it held when it was first handed to a watched kernel)]
    live: list  # [(kernel, read, arguments)] as handed over, not copied; none with a script
    state: tuple  # (copy of the first state, the first state itself, whose arrays were overwritten)


class Watcher:
    """Stands in for the kernels of a `AuditInstance` during one run."""

    def __init__(self, script, u):
        self.script, self.u, self.round, self.asking = script, u, 0, False
        self.calls, self.asked, self.live, self.first = [], [], [], {}

    def call(self, plain, read, args):
        """What is called in place of a kernel that is not compiled."""
        copy, mine, before = copied(args, Quiet(self.u)), arrays(args), ()
        result = plain(*copy)
        clean = [(law, np.array(a, dtype=float)) for law, a in read(result, *copy)]
        if self.script is None:
            before = copied(args)
            if not self.asking:
                self.remember(plain, read, args)
        result = plain(*args)
        seen = self.asked if self.asking else self.calls
        if self.script is None:
            outcome = result, let_out(read(result, *args), mine, arrays(before))
        else:
            outcome = (self.script.asked if self.asking else self.script.calls)[len(seen)].outcome
            for i, after in outcome[1].items():
                mine[i][...] = after
        seen.append(Call(self.round, plain, read, before, clean, outcome))
        return outcome[0]

    def remember(self, plain, read, args) -> None:
        """Keep a call with its own arrays, and what they hold when they are first seen."""
        for a in arrays(args):
            place = a.__array_interface__["data"][0], a.shape, a.strides  # views are made anew
            self.first.setdefault(place, (a, a.copy()))
        self.live.append((plain, read, args))


class Stage:
    """Where kernels are plain Python for many runs, each of which brings its own `Watcher`: to
    replace all kernels takes longer than to play a short run."""

    watcher: Watcher


@contextmanager
def on_stage(case):
    """While it lasts all kernels are plain Python and those of the case are watched; its `Stage`,
    for `play`."""
    invite(*case.releases)
    stage = Stage()

    def instead(kernel, read):
        plain = uncompiled(kernel)
        return lambda *args: stage.watcher.call(plain, read, args)

    with interpreted({k: instead(k, read) for k, read in case.releases.items()}):
        yield stage


def let_out(parts, mine, before) -> dict[int, np.ndarray]:
    """{number of an array: copy} of those of `mine` that a call changed and that show a part; a
    vertex may be that of the call before."""
    found = {}
    for i, a in enumerate(mine):
        laws = [law for law, b in parts if np.shares_memory(a, b)]
        if "vertex" in laws or (laws and not same(a, before[i])):
            found[i] = a.copy()
    return found


def begin(case, generator):
    """The state in which the case begins; an optimiser's may hold noise that was drawn for it."""
    if case.initial_state is not None:
        return copied(case.initial_state)
    drawn = (generator,) if isinstance(case.policy, Optimiser) else ()
    return case.policy.init(case.policy.params, *drawn)


def learn(case, s, records, watcher: Watcher, seed: int):
    """State of an optimiser after the records: step by step, or all at once by a batch method."""
    o = case.policy
    if o.step is None:
        X, Y = (np.array([r[i] for r in records], dtype=float) for i in (1, 2))
        rng, out = np.random.default_rng([seed, 0]), np.zeros(X.shape)
        return uncompiled(o.run)(o.params, s, X, Y, rng, out) or s
    for t, (_, x, y) in enumerate(records):
        watcher.round, rng = t, np.random.default_rng([seed, t])
        s = uncompiled(o.step)(o.params, s, np.array(x, dtype=float), float(y), rng) or s
    return s


def public(state, secret, inside: str = "") -> list[np.ndarray]:
    """Arrays of a state, but for the fields that are named, as in "x" or "V.exact"."""
    found = []
    for name, value in state._asdict().items():
        name = inside + name
        if any(s.startswith(name + ".") for s in secret):
            found += public(value, secret, name + ".")
        elif name not in secret:
            found += [a.copy() for a in flat(value)]
    return found


def advised(policy, s, x: np.ndarray, watcher: Watcher, rng: np.random.Generator, others):
    """(arm of a user with context x (d,) in all rows, arms of the others) in state s."""
    K = getattr(policy.params, "K", 3)
    arm = int(uncompiled(policy.select)(policy.params, s, np.tile(x, (K, 1)), rng))
    watcher.asking, arms = True, []
    for X in others.uniform(-0.7, 0.7, (OTHERS, K, len(x))):
        X = np.tile(X[:1], (K, 1)) if one_context(policy) else X
        arms.append(int(uncompiled(policy.select)(policy.params, copied(s), X, others)))
    watcher.asking = False
    return arm, tuple(arms)


def play(
    case,
    records,
    *,
    script: Run | None = None,
    seed: int = 0,
    loud: bool = True,
    u: float = 0.5,
    stage: Stage | None = None,
) -> Run:
    """`Run` of the case from its past on records [(arm, x, r), ...], outcomes as in the `Run`
    script.  stage: that of `on_stage`, for many runs; None: one of its own.

    Every round, advice and update get streams of their own, so that runs with different records
    share all draws that no watched kernel makes.
    """
    policy, watcher = case.policy, Watcher(script, u)
    with nullcontext(stage) if stage is not None else on_stage(case) as where:
        where.watcher = watcher
        s, arms, shown = begin(case, np.random.default_rng(seed)), [], []
        first = copied(s), s
        if isinstance(policy, Optimiser):
            s, records = learn(case, s, records, watcher, seed), ()
        for t, (arm, x, r) in enumerate(records):
            watcher.round, x = t, np.array(x, dtype=float)
            noise, advice, others = (np.random.default_rng([seed, t, i]) for i in (1, 0, 2))
            arms.append(advised(policy, s, x, watcher, advice, others))
            noise, arm = (
                Loud(noise) if loud else noise,
                arms[-1][0] if case.assumes_compliance else arm,
            )
            s = uncompiled(policy.update)(policy.params, s, arm, x, float(r), noise) or s
            shown += public(s, case.private_fields)
        shown += public(s, case.private_fields)
    live, made = list(watcher.first.values()), (watcher.calls, watcher.asked)
    return Run(*made, arms, shown, live, watcher.live, first)
