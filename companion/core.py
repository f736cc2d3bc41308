"""What every algorithm is made of: a policy or an optimiser, and what their kernels rely on.

Both are data plus pure functions.  `Params` never change during a run, `State` is all that is
remembered.  A policy has the kernels `select` and `update`, and `play`, the loop over them that
`simulate` calls; an optimiser has no arms: its kernel is `step`, and `run` is the loop over it.
"""

import importlib
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from companion._types import AnyArray, Array, ArrayLike, Rng
from companion.accounting.privacy import Guarantee
from companion.checks import need_array, need_float, need_generator

if TYPE_CHECKING:
    from companion.live import Live

LARGEST_RECORD = 1e30  # contexts and rewards are not larger: what kernels make of them stays finite


class Universe(NamedTuple):
    """The records that a policy takes as they are; it clips all others, and counts them.

    Contexts with ||x||_norm <= radius, or, if offset, x = (u, 1/sqrt2) with ||u|| <= 1/sqrt2;
    rewards in [low, high].  The module of a policy's `init` offers `universe(params)` if there is
    one.
    """

    radius: float = 1.0
    low: float = -1.0
    high: float = 1.0
    norm: float = 2.0
    offset: bool = False

    def outside(self, x: Array, r: float) -> tuple[bool, bool]:
        """(whether the context x (d,) is outside, whether the reward r is)."""
        u, radius = (x[:-1], np.sqrt(0.5)) if self.offset else (x, self.radius)
        far = np.linalg.norm(u, self.norm) > radius * (1.0 + 1e-9)
        off = self.offset and abs(x[-1] - np.sqrt(0.5)) > 1e-9
        return bool(far or off), not self.low <= r <= self.high


def linear_universe(offset: bool) -> Universe:
    """The universe "offset_sphere" or "ball" of `privacy.UNIVERSES`."""
    return Universe(low=0.0, offset=True) if offset else Universe()


class Policy(NamedTuple):
    """A bandit algorithm with its parameters fixed.

    init(params) -> State; select(params, state, X, rng) -> arm, the advice for contexts X (K, d);
    update(params, state, arm, x, r, rng) -> State after `arm`, with context x (d,), was played
    (advised or not) and paid r; play(params, state, X, R, rng, arms) -> State is the loop over the
    two on a block of n rounds, which reads only R[t, arms[t]].  Kernels check nothing: what they
    rely on stands in Params (d; K, T where memory depends on them) and is checked by `need_rounds`
    and `need_contexts`.
    """

    name: str
    params: Any
    init: Any
    play: Any
    guarantee: Guarantee
    select: Any
    update: Any

    def start(self, seed: Any = None) -> "Live":
        """Begin a live run on anyone's data; noise from `seed` (None: the operating system)."""
        live = importlib.import_module("companion.live")  # which is made of what stands here
        return live.Live(self, need_generator("seed", seed))

    def renamed(self, name: str) -> "Policy":
        """The same policy under another name, which its random stream in `simulate` follows."""
        return self._replace(name=name)

    def __reduce__(self):
        return _packed(self)


class Optimiser(NamedTuple):
    """A method that learns a parameter from a stream of records, with its parameters fixed.

    init(params, rng) -> State; step(params, state, x, y, rng) -> State after the record x (d,), y,
    whose `theta` (d,) is what is public from then on; run(params, state, X, Y, rng, out) -> State
    is the loop over it on n records, which writes the public parameter after each to out (n, d).
    A batch method has no step (None): its run takes all n records of its Params at once and writes
    the last row alone.  Params have d and n, the number of records for which the guarantee holds;
    `need_records` is the check of what kernels rely on.
    """

    name: str
    params: Any
    init: Any
    step: Any
    run: Any
    guarantee: Guarantee

    def start(self, seed: Any = None) -> "Stream":
        """Begin a live run on anyone's records; noise from `seed` (None: the operating system)."""
        return Stream(self, need_generator("seed", seed))

    def renamed(self, name: str) -> "Optimiser":
        """The same method under another name, which its random stream follows."""
        return self._replace(name=name)

    def __reduce__(self):
        return _packed(self)


def _packed(algorithm):
    # Kernels travel to other processes by name, so that workers load them from the cache.
    fields = [_by_name(f) if callable(f) else f for f in algorithm]
    return _rebuild, (type(algorithm), *fields)


class _Name(NamedTuple):
    module: str
    function: str


def _by_name(func):
    plain = getattr(func, "py_func", func)
    home = importlib.import_module(plain.__module__)
    # A function written in a notebook cannot be imported elsewhere: let pickle (or cloudpickle)
    # carry it.
    importable = plain.__module__ != "__main__" and getattr(home, plain.__name__, None) is func
    return _Name(plain.__module__, plain.__name__) if importable else func


def _rebuild(kind, *fields):
    return kind(
        *(
            getattr(importlib.import_module(f.module), f.function) if isinstance(f, _Name) else f
            for f in fields
        )
    )


def horizon(policy: Policy) -> int | None:
    """Number of rounds that the policy was built for, or None if it runs for ever."""
    return getattr(policy.params, "T", None)


def need_rounds(policy: Policy, T: int) -> None:
    """Raise ValueError if the policy was built for fewer than T rounds."""
    limit = horizon(policy)
    if limit is not None and limit < T:
        raise ValueError(
            f"T must be at most the horizon T={limit} of policy {policy.name!r}; got {T=}"
        )


def need_contexts(policies: Iterable[Policy], X: AnyArray) -> None:
    """Raise ValueError unless the kernels of all these policies may read contexts X (..., K, d).

    X must be a finite C-contiguous float64 array with at least one row, of the dimension, and with
    the number of arms, that every policy was built for (where its Params have d and K).
    """
    good = isinstance(X, np.ndarray) and X.dtype == np.float64 and X.flags.c_contiguous
    if not good or X.ndim < 2:
        raise ValueError("contexts X must be a C-contiguous float64 array (..., K, d)")
    need_array("contexts X", X, ("n",) * (X.ndim - 2) + ("K", "d"))
    need_moderate("contexts X", X)
    K, d = X.shape[-2:]
    for p in policies:
        for name, size, what in (("d", d, "of dimension"), ("K", K, "with a number of arms")):
            wanted = getattr(p.params, name, size)
            if wanted != size:
                raise ValueError(
                    f"policy {p.name!r} takes contexts {what} {name}={wanted}; got X of {X.shape}"
                )
        if one_context(p) and (X[..., :1, :] != X).any():
            raise ValueError(
                f"policy {p.name!r} takes one context for all arms: the rows of X must be equal"
            )


def need_moderate(name: str, a: AnyArray) -> None:
    """Raise ValueError if an entry of `a` is not finite, or larger than `LARGEST_RECORD`."""
    if not (a.max() <= LARGEST_RECORD and a.min() >= -LARGEST_RECORD):
        worst = a.flat[np.argmax(np.abs(a))]
        raise ValueError(
            f"{name} must be finite, at most {LARGEST_RECORD} in size; got an entry {worst}"
        )


def one_context(policy: Policy) -> bool:
    """Whether the policy sees one context per round, repeated in every row of X."""
    return bool(getattr(policy.params, "one_context", False))


def need_records(optimisers: Iterable[Optimiser], X: Array, Y: Array, seen: int = 0) -> None:
    """Raise ValueError unless the kernels of all these optimisers may read records X (n, d), Y (n,)
    after `seen` earlier ones.

    Both must be finite C-contiguous float64 arrays with one row at least, X of the dimension that
    every optimiser was built for; more records than its guarantee covers, or another number than a
    batch method was built for, are refused.
    """
    for name, a, ndim in (("X", X, 2), ("Y", Y, 1)):
        good = isinstance(a, np.ndarray) and a.dtype == np.float64 and a.flags.c_contiguous
        if not good or a.ndim != ndim or a.size == 0:
            axes = "(n, d)" if ndim == 2 else "(n,)"
            raise ValueError(f"{name} must be a non-empty C-contiguous float64 array {axes}")
        need_moderate(name, a)
    if len(X) != len(Y):
        raise ValueError(f"X and Y must have one row per record; got {len(X)} and {len(Y)}")
    for o in optimisers:
        d, n, total = o.params.d, o.params.n, seen + len(X)
        if X.shape[1] != d:
            raise ValueError(
                f"optimiser {o.name!r} takes records of dimension d={d}; got X of {X.shape}"
            )
        if total > n or (o.step is None and total != n):
            wanted = "exactly" if o.step is None else "at most"
            raise ValueError(
                f"optimiser {o.name!r} was built for {wanted} n={n} records; got {total}"
            )


class Stream:
    """One run of an optimiser, fed record by record: `theta = stream.update(x, y)`.

    Driven by the same kernels as a whole run, with equal parameters on equal records.  Raises
    ValueError, and changes nothing, on a record that `need_records` refuses: another dimension, a
    number that is not finite, or one record more than the guarantee covers.
    """

    def __init__(self, optimiser: Optimiser, rng: Rng) -> None:
        if optimiser.step is None:
            raise ValueError(f"optimiser {optimiser.name!r} is a batch method: it takes no stream")
        self.optimiser, self.rng = optimiser, rng
        self.state = optimiser.init(optimiser.params, rng)
        self.records = 0

    def update(self, x: ArrayLike, y: float) -> Array:
        """The public parameter (d,) after the record x (d,), y; a copy."""
        x = need_array("x", x, ("d",)).copy()
        y = need_float("y", y)
        o = self.optimiser
        need_records((o,), x[None], np.array([y]), self.records)
        self.state = o.step(o.params, self.state, x, y, self.rng)
        self.records += 1
        return self.state.theta.copy()
