"""Measuring a private algorithm from outside: its kernels play interpreted, and are watched.

Every kernel that a `Disclosure` names is replaced by a watcher while the policy plays.  The watcher
runs it once on copies, with a generator that draws nothing (`Quiet`), and keeps the numbers that
come out: the release without noise.  Then it runs it in earnest.  When the same rounds are played
again with one record replaced, the watcher puts the first run's outcomes in place: both runs have
the same public past, so whatever differs comes from the record, and the public part of the state
must be the same to the bit.  No formula of the package is repeated here.
"""

from itertools import product
from typing import NamedTuple

import numpy as np
from streams import flat

from companion.core import Optimiser
from companion.report.faults import interpreted


class Quiet:
    """A generator whose every draw is its centre; rounding at random goes by one number u."""

    def __init__(self, u=0.5):
        self.u = u

    def standard_normal(self, size=None):
        return 0.0 if size is None else np.zeros(size)

    def standard_exponential(self):
        return 1.0

    def standard_gamma(self, shape):
        return shape

    def binomial(self, n, p):
        return n * p

    def random(self):
        return self.u

    def integers(self, low, high):
        return low


class Loud:
    """A generator whose exponentials are a million times too large: a past of extreme outcomes."""

    def __init__(self, rng):
        self.rng = rng

    def __getattr__(self, name):
        return getattr(self.rng, name)

    def standard_exponential(self):
        return 1e6 * self.rng.standard_exponential()


class Call(NamedTuple):
    """One call of a watched kernel."""

    round: int
    kernel: object  # not compiled
    read: object
    args: tuple  # as they were before the call, generator included
    clean: list  # [(law, numbers)] without noise
    outcome: tuple  # (result, {number of a released array: what it holds afterwards})


class Run(NamedTuple):
    """What was played: calls, the arms advised, the public part of the last state."""

    calls: list
    arms: list
    public: list
    first: list  # [(array, what it held when it was first handed to a watched kernel)]
    live: list  # [(kernel, read, arguments)] as they were handed over, not copied
    state: tuple  # (copy of the first state, the first state itself, whose arrays were overwritten)


def is_generator(a):
    return hasattr(a, "standard_normal")


def copied(tree, rng=None):
    """The same nested tuple with copies of its arrays, and another generator if one is given."""
    if isinstance(tree, np.ndarray):
        return tree.copy()
    if isinstance(tree, tuple):
        parts = [copied(a, rng) for a in tree]
        return type(tree)(*parts) if hasattr(tree, "_fields") else tuple(parts)
    return rng if rng is not None and is_generator(tree) else tree


def arrays(tree):
    """All arrays of a nested tuple."""
    if isinstance(tree, np.ndarray):
        return [tree]
    return [a for part in tree for a in arrays(part)] if isinstance(tree, tuple) else []


class Watcher:
    """Stands in for the kernels of a `Disclosure` during one run."""

    def __init__(self, script, u):
        self.script, self.u, self.round = script, u, 0
        self.calls, self.live, self.first = [], [], {}

    def instead(self, kernel, read):
        """The function to be called in place of the kernel."""
        plain = kernel.py_func

        def call(*args):
            copy = copied(args, Quiet(self.u))
            result = plain(*copy)
            clean = [(law, np.array(a, dtype=float)) for law, a in read(result, *copy)]
            mine = arrays(args)
            before = copied(args)
            for a in mine:
                place = a.__array_interface__["data"][0], a.shape, a.strides  # views are made anew
                self.first.setdefault(place, (a, a.copy()))
            result = plain(*args)
            if self.script is None:
                seen = [a for _, a in read(result, *args)]
                seen = [i for i, a in enumerate(mine) if any(np.shares_memory(a, b) for b in seen)]
                seen = [i for i in seen if not same(mine[i], arrays(before)[i])]
                outcome = result, {i: mine[i].copy() for i in seen}
            else:
                outcome = self.script[len(self.calls)].outcome
                for i, after in outcome[1].items():
                    mine[i][...] = after
            self.calls.append(Call(self.round, plain, read, before, clean, outcome))
            self.live.append((plain, read, args))
            return outcome[0]

        return call


def same(a, b):
    return a.tobytes() == b.tobytes()


def begin(case, generator):
    """The state in which the case begins; an optimiser's may hold noise that was drawn for it."""
    if case.past is not None:
        return copied(case.past)
    drawn = (generator,) if isinstance(case.policy, Optimiser) else ()
    return case.policy.init(case.policy.params, *drawn)


def learn(case, s, records, watcher, seed):
    """State of an optimiser after the records: step by step, or all at once by a batch method."""
    o = case.policy
    if o.step is None:
        X, Y = (np.array([r[i] for r in records], dtype=float) for i in (1, 2))
        return o.run.py_func(o.params, s, X, Y, np.random.default_rng([seed, 0]), np.zeros(X.shape))
    for t, (_, x, y) in enumerate(records):
        watcher.round, rng = t, np.random.default_rng([seed, t])
        s = o.step.py_func(o.params, s, np.array(x, dtype=float), float(y), rng)
    return s


def play(case, records, *, script=None, seed=0, loud=True, u=0.5):
    """`Run` of the case from its past on records [(arm, x, r), ...], outcomes as in a script.

    Every round, advice and update get streams of their own, so that runs with different records
    share all draws that no watched kernel makes.
    """
    policy, watcher = case.policy, Watcher(script, u)
    with interpreted({k: watcher.instead(k, read) for k, read in case.kernels.items()}):
        p, arms = policy.params, []
        s = begin(case, np.random.default_rng(seed))
        first = copied(s), s
        if isinstance(policy, Optimiser):
            s, records = learn(case, s, records, watcher, seed), ()
        X = np.random.default_rng(99).uniform(-0.5, 0.5, (getattr(p, "K", 3), p.d))
        for t, (arm, x, r) in enumerate(records):
            watcher.round = t
            advice, noise = (np.random.default_rng([seed, t, i]) for i in (0, 1))
            arms.append(int(policy.select.py_func(p, s, X, advice)))
            noise = Loud(noise) if loud else noise
            s = policy.update.py_func(p, s, arm, np.array(x, dtype=float), float(r), noise)
        public = [flat(v) for name, v in s._asdict().items() if name not in case.secret]
        public = copied(tuple(a for part in public for a in part))
    return Run(watcher.calls, arms, public, list(watcher.first.values()), watcher.live, first)


def records(d):
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
