"""What every algorithm is made of: a policy, and the live interface to it.

A policy is data plus pure functions.  `Params` never change during a run, `State` is all that the
policy remembers, `select` and `update` are its two kernels and `play` is the loop over them that
`simulate` calls.
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
        # Kernels travel to other processes by name, so that workers load them from the cache.
        fields = [
            _by_name(getattr(self, f)) if callable(getattr(self, f)) else getattr(self, f)
            for f in self._fields
        ]
        return _rebuild, tuple(fields)


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


def _rebuild(*fields):
    return Policy(
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
