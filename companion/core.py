"""What every algorithm is made of: a policy or an optimiser, and the live interface to it.

Both are data plus pure functions.  `Params` never change during a run, `State` is all that is
remembered.  A policy has the kernels `select` and `update`, and `play`, the loop over them that
`simulate` calls; an optimiser has no arms: its kernel is `step`, and `run` is the loop over it.
"""

import importlib
from typing import Any, NamedTuple

import numpy as np

from companion.checks import need_array, need_float, need_int
from companion.privacy import Guarantee


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

    def start(self, seed=None):
        """Begin a live run on anyone's data; noise from `seed` (None: the operating system)."""
        return Live(self, np.random.default_rng(seed))

    def renamed(self, name):
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

    def start(self, seed=None):
        """Begin a live run on anyone's records; noise from `seed` (None: the operating system)."""
        return Stream(self, np.random.default_rng(seed))

    def renamed(self, name):
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


def horizon(policy):
    """Number of rounds that the policy was built for, or None if it runs for ever."""
    return getattr(policy.params, "T", None)


def need_rounds(policy, T):
    """Raise ValueError if the policy was built for fewer than T rounds."""
    limit = horizon(policy)
    if limit is not None and limit < T:
        raise ValueError(
            f"T must be at most the horizon T={limit} of policy {policy.name!r}; got {T=}"
        )


def need_contexts(policies, X):
    """Raise ValueError unless the kernels of all these policies may read contexts X (..., K, d).

    X must be a finite C-contiguous float64 array with at least one row, of the dimension, and with
    the number of arms, that every policy was built for (where its Params have d and K).
    """
    good = isinstance(X, np.ndarray) and X.dtype == np.float64 and X.flags.c_contiguous
    if not good or X.ndim < 2:
        raise ValueError("contexts X must be a C-contiguous float64 array (..., K, d)")
    need_array("contexts X", X, ("n",) * (X.ndim - 2) + ("K", "d"))
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


def one_context(policy):
    """Whether the policy sees one context per round, repeated in every row of X."""
    return bool(getattr(policy.params, "one_context", False))


def need_records(optimisers, X, Y, seen=0):
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
        if not np.isfinite(a).all():
            raise ValueError(f"{name} must be finite")
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


class Live:
    """One run of a policy, fed round by round: `arm = live.select(X)`, then `live.update(arm, r)`.

    Driven by the same kernels as `simulate`, with equal arms on an equal stream.  Raises ValueError
    (and changes nothing) on contexts that `need_contexts` refuses, on an arm outside 0..K-1, on a
    reward that is not finite, and past the horizon for which the guarantee was computed.
    """

    def __init__(self, policy, rng):
        self.policy, self.rng = policy, rng
        self.state = policy.init(policy.params)
        self.rounds = 0
        self._X = None

    def select(self, X):
        """Arm (int) for contexts X (K, d), one row per arm; may be asked once per round."""
        if self._X is not None:
            raise ValueError("select was called twice in one round: call update(arm, r) first")
        need_rounds(self.policy, self.rounds + 1)
        X = need_array("contexts X", X, ("K", "d")).copy()  # the caller may overwrite the original
        need_contexts((self.policy,), X)
        arm = int(self.policy.select(self.policy.params, self.state, X, self.rng))
        self._X = X
        return arm

    def update(self, arm, r):
        """Tell the policy that `arm` was played, advised or not, and paid the reward `r`."""
        if self._X is None:
            raise ValueError("update was called before select in this round")
        arm, r = need_int("arm", arm, 0, len(self._X) - 1), need_float("r", r)
        x = self._X[arm].copy()
        p = self.policy
        self.state = p.update(p.params, self.state, arm, x, r, self.rng)
        self._X = None
        self.rounds += 1


class Stream:
    """One run of an optimiser, fed record by record: `theta = stream.update(x, y)`.

    Driven by the same kernels as a whole run, with equal parameters on equal records.  Raises
    ValueError, and changes nothing, on a record that `need_records` refuses: another dimension, a
    number that is not finite, or one record more than the guarantee covers.
    """

    def __init__(self, optimiser, rng):
        if optimiser.step is None:
            raise ValueError(f"optimiser {optimiser.name!r} is a batch method: it takes no stream")
        self.optimiser, self.rng = optimiser, rng
        self.state = optimiser.init(optimiser.params, rng)
        self.records = 0

    def update(self, x, y):
        """The public parameter (d,) after the record x (d,), y; a copy."""
        x = need_array("x", x, ("d",)).copy()
        y = need_float("y", y)
        o = self.optimiser
        need_records((o,), x[None], np.array([y]), self.records)
        self.state = o.step(o.params, self.state, x, y, self.rng)
        self.records += 1
        return self.state.theta.copy()
