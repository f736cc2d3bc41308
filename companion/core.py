"""What every algorithm is made of: a guarantee, a policy, and the live interface to it.

A policy is data plus pure functions.  `Params` never change during a run, `State` is all that the
policy remembers, `select` and `update` are its two kernels and `play` is the loop over them that
`simulate` calls.
"""

import importlib
from typing import Any, NamedTuple

import numpy as np

from companion.checks import need_array, need_float, need_int


class Guarantee(NamedTuple):
    """The privacy that the noise really drawn gives, as data.

    model: who is trusted ("none": no privacy, "local", "shuffle", "joint"); epsilon, delta: the
    budget; neighbours: the relation between two inputs; unit: whose data it is; claimed: what the
    source asserts of the same noise, where that differs (an `(epsilon, delta)` pair or None).
    """

    model: str
    epsilon: float
    delta: float
    neighbours: str
    unit: str
    claimed: tuple | None = None

    def __str__(self):
        if self.model == "none":
            return "no privacy"
        text = f"({self.epsilon:.3g}, {self.delta:.3g})-{self.model} DP"
        text += f", {self.neighbours}, per {self.unit}"
        if self.claimed is not None:
            text += f" (claimed: epsilon = {self.claimed[0]:.3g}, delta = {self.claimed[1]:.3g})"
        return text


NO_PRIVACY = Guarantee("none", np.inf, 1.0, "none", "none")


class Policy(NamedTuple):
    """A bandit algorithm with its parameters fixed.

    init(params) -> State; select(params, state, X, rng) -> arm; update(params, state, x, r, rng) ->
    State; play(params, state, X, R, rng, arms) -> State plays a block of n rounds and reads only
    R[t, arms[t]].
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


class Live:
    """One run of a policy, fed round by round: `arm = live.select(X)`, then `live.update(arm, r)`.

    Driven by the same kernels as `simulate`, with equal arms on an equal stream.  Raises ValueError
    (and changes nothing) on contexts that are not a finite (K, d) array, on an arm outside 0..K-1,
    on a reward that is not finite, and past the horizon for which the guarantee was computed.
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
        T = horizon(self.policy)
        if T is not None and self.rounds >= T:
            raise ValueError(
                f"round {self.rounds + 1} is past the horizon T={T} of {self.policy.name}"
            )
        X = need_array("X", X, ("K", getattr(self.policy.params, "d", "d")))
        arm = int(self.policy.select(self.policy.params, self.state, X, self.rng))
        self._X = X
        return arm

    def update(self, arm, r):
        """Tell the policy that `arm` was played and paid the reward `r`."""
        if self._X is None:
            raise ValueError("update was called before select in this round")
        arm, r = need_int("arm", arm, 0, len(self._X) - 1), need_float("r", r)
        x = self._X[arm].copy()
        self.state = self.policy.update(self.policy.params, self.state, x, r, self.rng)
        self._X = None
        self.rounds += 1
