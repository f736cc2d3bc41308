"""What kernels rely on: checks of what they are given, and signals that wait for them.

Kernels check no bounds and raise nothing, so whoever calls them checks first: `simulate`,
live runs, replays of logs.  A policy is anything with `name` and `params`.
"""

import signal
import threading
from contextlib import contextmanager

import numpy as np

from companion.validate import need_array, shown

# contexts and rewards are not larger: what kernels make of them stays finite
LARGEST_RECORD = 1e30

SIGNALS = [
    s for s in signal.Signals if s.name in {"SIGINT", "SIGTERM", "SIGALRM", "SIGHUP"}
]


@contextmanager
def interrupts_wait():
    """Ctrl-C, and other `SIGNALS` that have a handler in Python, take effect after this
    block: if one raises while Numba reads the arguments of a kernel, Python can end.
    Only the main thread gets signals."""
    usual = {}
    waiting = []
    if threading.current_thread() is threading.main_thread():
        usual = {s: f for s in SIGNALS if callable(f := signal.getsignal(s))}
    try:
        for number in usual:
            signal.signal(number, lambda *told: waiting.append(told))
        yield
    finally:
        for number, handler in usual.items():
            signal.signal(number, handler)
        for number, frame in waiting:
            usual[number](number, frame)


def need_nothing(name: str, kernel: str, returned) -> None:
    """Raise ValueError if a kernel returned something: a State that is not changed in
    place is lost."""
    if returned is not None:
        raise ValueError(
            f"{kernel} of {name!r} must change the State in place and return nothing; "
            f"got {shown(returned)}"
        )


def horizon(policy) -> int | None:
    """Number of rounds that the policy was built for, or None if it runs for ever."""
    return getattr(policy.params, "T", None)


def need_rounds(policy, T: int) -> None:
    """Raise ValueError if the policy was built for fewer than T rounds."""
    limit = horizon(policy)
    if limit is not None and limit < T:
        raise ValueError(
            f"T must be at most T={limit}, the horizon of {policy.name!r}; got {T=}"
        )


def need_contexts(policies, X: np.ndarray) -> None:
    """Raise ValueError unless the kernels of all these policies may read contexts X (...,
    K, d).

    X must be a finite C-contiguous float64 array with at least one row, of the dimension,
    and with the number of arms, that every policy was built for (where its Params have d
    and K).
    """
    need_block("contexts X", X, ("n",) * (np.ndim(X) - 2) + ("K", "d"))
    K, d = X.shape[-2:]
    for p in policies:
        for name, size, what in (
            ("d", d, "of dimension"),
            ("K", K, "with a number of arms"),
        ):
            wanted = getattr(p.params, name, size)
            if wanted != size:
                raise ValueError(
                    f"policy {p.name!r} takes contexts {what} {name}={wanted}; got X of "
                    f"{X.shape}"
                )
        if one_context(p) and (X[..., :1, :] != X).any():
            raise ValueError(
                f"policy {p.name!r} takes one context for all arms: the rows of X must "
                "be equal"
            )


def need_block(name: str, a: np.ndarray, shape) -> None:
    """Raise ValueError unless kernels may read `a`: a C-contiguous float64 array of this
    shape (letters are free sizes >= 1), with no entry that is not finite or beyond
    `LARGEST_RECORD`."""
    good = isinstance(a, np.ndarray) and a.dtype == np.float64 and a.flags.c_contiguous
    if not good:
        raise ValueError(f"{name} must be a C-contiguous float64 array; got {shown(a)}")
    need_array(name, a, shape)
    if not (a.max() <= LARGEST_RECORD and a.min() >= -LARGEST_RECORD):
        worst = a.flat[np.argmax(np.abs(a))]
        raise ValueError(
            f"{name} must be finite, at most {LARGEST_RECORD} in size; got {worst}"
        )


def one_context(policy) -> bool:
    """Whether the policy sees one context per round, repeated in every row of X."""
    return bool(getattr(policy.params, "one_context", False))


def need_records(optimisers, X: np.ndarray, Y: np.ndarray, seen: int = 0) -> None:
    """Raise ValueError unless the kernels of all these optimisers may read records X (n,
    d), Y (n,) after `seen` earlier ones.

    Both must be finite C-contiguous float64 arrays with one row at least, X of the
    dimension that every optimiser was built for; more records than its guarantee covers,
    or another number than a batch method was built for, are refused.
    """
    need_block("X", X, ("n", "d"))
    need_block("Y", Y, (len(X),))
    for o in optimisers:
        d = o.params.d
        n = o.params.n
        total = seen + len(X)
        if X.shape[1] != d:
            raise ValueError(
                f"optimiser {o.name!r} takes records with d={d}; got X of {X.shape}"
            )
        if total > n or (o.step is None and total != n):
            wanted = "exactly" if o.step is None else "at most"
            raise ValueError(
                f"optimiser {o.name!r} takes {wanted} n={n} records; got {total}"
            )
