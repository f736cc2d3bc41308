"""What every algorithm is made of: a policy or an optimiser, and what their kernels rely
on.

Both are data plus pure functions.  `Params` never change during a run, `State` is all
that is remembered.  A policy has the kernels `select` and `update`, and `play`, the loop
over them that `simulate` calls; an optimiser has no arms: its kernel is `step`, and `run`
is the loop over it.
"""

from __future__ import annotations

import functools
import importlib
import inspect
from typing import Any, NamedTuple

import numpy as np
from numba.core.dispatcher import Dispatcher

from companion.accounting.privacy import NO_PRIVACY, Guarantee
from companion.jit import PACKAGE, borrowed, counted, jit
from companion.live import Live, Stream, leaves
from companion.validate import need_choice, need_method, shown

ROOM = 10**9  # numbers in the table of rounds that a State keeps, at most: 8 gigabytes
# dimension up to which a State keeps matrices (d, d); arms that it has room for
WIDEST = 10_000


class Universe(NamedTuple):
    """The records that a policy takes as they are; it clips all others, and counts them.

    Contexts with ||x||_norm <= radius, or, if offset, x = (u, 1/sqrt2) with ||u|| <=
    1/sqrt2; rewards in [low, high].
    """

    radius: float = 1.0
    low: float = -1.0
    high: float = 1.0
    norm: float = 2.0
    offset: bool = False

    def __str__(self):
        where = f"||x||_{self.norm:g} <= {self.radius:g}"
        if self.offset:
            where = (
                'x = (u, 1/sqrt2), ||u|| <= 1/sqrt2 (universe="ball" takes all ||x|| '
                "<= 1)"
            )
        return f"contexts with {where}, and rewards in [{self.low:g}, {self.high:g}]"

    def outside(self, x: np.ndarray, r: float) -> tuple[bool, bool]:
        """(whether the context x (d,) is outside, whether the reward r is)."""
        u, radius = (x[:-1], np.sqrt(0.5)) if self.offset else (x, self.radius)
        far = np.linalg.norm(u, self.norm) > radius * (1.0 + 1e-9)
        off = self.offset and abs(x[-1] - np.sqrt(0.5)) > 1e-9
        return bool(far or off), not self.low <= r <= self.high


def linear_universe(offset: bool) -> Universe:
    """The universe "offset_sphere" or "ball" of `privacy.UNIVERSES`."""
    return Universe(low=0.0, offset=True) if offset else Universe()


class Release(NamedTuple):
    """What a kernel lets out: others see this argument after the kernel has run.

    kernel: a function of the algorithm, which draws the noise itself.
    argument: the name of the argument that others see, "message", or of a field of it,
        "s.release".
    law: the law of the noise in it, by the names that `evidence.measure` knows:
        "gaussian", "laplace", "counts", ...; None: the law is not declared.
    """

    kernel: Any
    argument: str
    law: str | None = None


class Policy(NamedTuple):
    """A bandit algorithm with its parameters fixed: data, and functions over a State.

    init(params) -> State, a named tuple of arrays before the first round.
    select(params, state, X, rng) -> arm, the advice for contexts X (K, d).
    update(params, state, arm, x, r, rng) -> None: learn that `arm`, with context x (d,),
        was played (advised or not) and paid r; the State is changed in place.
    play(params, state, X, R, rng, arms) -> None: the loop over the two on a block of n
        rounds, contexts X (n, K, d) and rewards R (n, K); writes arms (n,), reads only
        R[t, arms[t]].
        None: the plain loop over `select` and `update`.
    guarantee: the privacy that the noise gives.
    universe: the records that are taken as they are; None if nothing is clipped.
    delayed_feedback: whether rewards may come late and in any order; then `update` may
        read nothing that `select` noted, and nothing that holds only for the round under
        way.
    releases: all that others learn of a record, a tuple of `Release`.
    private: names of the fields of State that others must not see, "V.exact" for a field
        of a field.

    Kernels check nothing: what they rely on stands in Params (d; K, T where memory
    depends on them) and is checked by `need_rounds` and `need_contexts`.
    """

    name: str
    params: Any
    init: Any
    select: Any
    update: Any
    play: Any = None
    guarantee: Guarantee = NO_PRIVACY
    universe: Universe | None = None
    delayed_feedback: bool = False
    releases: tuple = ()
    private: tuple = ()

    def __repr__(self):
        return f"<Policy {self.name}: {self.guarantee}>"

    def start(self, seed: int | np.random.SeedSequence | None = None) -> Live:
        """Begin a live run; noise from `seed` (None: seeded by the operating system).

        The samplers are for research simulation: do not protect real people's data with
        them.  Raises ValueError on a wrong seed, or on wrong `releases` or `private`.
        """
        live = Live(self, seed)
        need_declared(self, live.state)
        return live

    @property
    def loop(self):
        """What plays a block: `play`, or the plain loop over `select` and `update`."""
        return self.play or plain_loop(self.select, self.update)

    def renamed(self, name: str) -> Policy:
        """The same policy under another name, which its random stream in `simulate`
        follows."""
        return self._replace(name=name)

    def __reduce__(self):
        return _packed(self)


@functools.cache
def plain_loop(select, update):
    """`play` of a policy: the loop over its two steps, compiled if both are.

    If both stand in one module, it is cached with that module's kernels.  Steps from
    elsewhere may keep the arrays that they are given, in a list say: for them Numba
    counts references.
    """
    home = getattr(select, "__module__", "")
    other = getattr(update, "__module__", "")
    ours = PACKAGE.file(home) and PACKAGE.file(other)
    of_arrays = borrowed if ours else counted

    def play(p, s, X, R, rng, arms):
        """Play n rounds: contexts X (n, K, d), rewards R (n, K); reads only R[t,
        arms[t]]."""
        p = of_arrays(p)
        s = of_arrays(s)
        for t in range(X.shape[0]):
            arms[t] = select(p, s, X[t], rng)
            update(p, s, arms[t], X[t, arms[t]], R[t, arms[t]], rng)

    if ours and home == other:
        play.__module__ = home
        # `jit` caches nothing with "<" in its name, as the name of an inner function has
        play.__qualname__ = f"play.{select.__name__}.{update.__name__}"
    if isinstance(select, Dispatcher) and isinstance(update, Dispatcher):
        return jit(play)
    return play


def need_declared(algorithm, state) -> None:
    """Raise ValueError unless `releases` and `private` of a policy or an optimiser are
    tuples, of `Release` and of names of fields of this State, and every `Release` names
    an argument of its kernel."""
    releases = algorithm.releases
    if type(releases) is not tuple or not all(type(r) is Release for r in releases):
        raise ValueError(
            "releases must be a tuple of Release: write "
            'releases=(Release(kernel, "argument", "law"),), the last comma included; '
            f"got {releases!r}"
        )
    for one in releases:
        need_method("kernel of a Release", one.kernel)
        names = list(inspect.signature(one.kernel).parameters)
        if str(one.argument).split(".")[0] not in names:
            raise ValueError(
                f"argument of a Release must be one of {names}, or a field of one, as in "
                f'"s.release"; got {shown(one.argument)}'
            )
        if not isinstance(one.law, str | None):
            raise ValueError(
                "law of a Release must be the name of a law, or None; got "
                f"{shown(one.law)}"
            )
    private = algorithm.private
    if type(private) is not tuple or not all(isinstance(n, str) for n in private):
        raise ValueError(
            "private must be a tuple of names of fields: write "
            f'private=("field",), the last comma included; got {private!r}'
        )
    fields = [field for field, _ in leaves(state, "State")]
    for name in private:
        if not any(f"{field}.".startswith(f"State.{name}.") for field in fields):
            raise ValueError(
                f"private must name fields of the State, of {', '.join(fields)}; got "
                f"{name!r}"
            )


class Optimiser(NamedTuple):
    """A method that learns a parameter from a stream of records, with its parameters
    fixed.

    init(params, rng) -> State; step(params, state, x, y, rng) -> State after the record x
    (d,), y, whose `theta` (d,) is what is public from then on; run(params, state, X, Y,
    rng, out) -> State is the loop over it on n records, which writes the public parameter
    after each to out (n, d).
    A batch method has no step (None): its run takes all n records of its Params at once
    and writes the last row alone.  Params have d and n, the number of records for which
    the guarantee holds; `need_records` is the check of what kernels rely on.
    releases, private: as for a `Policy`.
    """

    name: str
    params: Any
    init: Any
    step: Any
    run: Any
    guarantee: Guarantee
    releases: tuple = ()
    private: tuple = ()

    def start(self, seed: int | np.random.SeedSequence | None = None) -> Stream:
        """Begin a live run on anyone's records; noise from `seed` (None: the operating
        system).

        The samplers are for research simulation: do not protect real people's data with
        them.  Raises ValueError on a wrong seed, or on wrong `releases` or `private`.
        """
        stream = Stream(self, seed)
        need_declared(self, stream.state)
        return stream

    def renamed(self, name: str) -> Optimiser:
        """The same method under another name, which its random stream follows."""
        return self._replace(name=name)

    def __reduce__(self):
        return _packed(self)


class Entry(NamedTuple):
    """A row of the tables in `companion.policies` and `companion.optimisers`."""

    factory: Any
    arguments: Any  # of a small instance: a dictionary, or a function of K that gives one


def lookup(table: dict):
    """(factory, example) of a module that holds a table of `Entry`s."""

    def factory(name: str):
        """The factory with this name; ValueError unless the table has it."""
        return table[need_choice("name", name, table)].factory

    def example(name: str, K: int = 4):
        """A small instance, for K arms if it needs a number of arms."""
        make = factory(name)
        told = table[name].arguments
        return make(**(told(K) if callable(told) else told))

    return factory, example


class _Name(NamedTuple):
    module: str
    function: str


def _packed(algorithm):
    # Kernels travel to other processes by name, so that workers load them from the cache.
    return _rebuild, (type(algorithm), *map(_by_name, algorithm))


def _by_name(value):
    plain = getattr(value, "py_func", value)
    home = getattr(plain, "__module__", "")
    name = getattr(plain, "__name__", "")
    # What cannot be imported elsewhere, as it stands in a notebook, is left to pickle.
    if not callable(value) or home in ("", "__main__"):
        return value
    return _Name(home, name) if _found(home, name) is value else value


def _found(module, function):
    return getattr(importlib.import_module(module), function, None)


def _rebuild(kind, *fields):
    return kind(*(_found(*f) if isinstance(f, _Name) else f for f in fields))
