"""Lower confidence bounds on the privacy that a mechanism loses: run it on two inputs, and count.

If a mechanism M is (epsilon, delta)-DP then, for neighbouring inputs a and b and every event E of
its output,

    P(M(a) in E) <= exp(epsilon) P(M(b) in E) + delta.

So any one event gives epsilon >= log((P_a - delta) / P_b) and delta >= P_a - exp(epsilon) P_b.  The
two probabilities are not known but counted, so P_a is replaced by the lower end and P_b by the
upper end of one-sided Clopper-Pearson intervals with tails (1 - level)/2 each: by the union bound
both hold with probability level, and then so does the inequality.  The event may be chosen from
data, if from *other* data: one half of the outputs picks it, the other half is counted.  An event
that b never hits has an upper end of about log(2/(1 - level))/n, so the bound stays finite.

A bound above the promised epsilon refutes the promise (and does so wrongly with probability at most
1 - level).  A bound below it proves nothing: the pair of inputs or the event may be badly chosen.
Source: Jagielski, Ullman and Oprea (2020), section 3; Clopper and Pearson (1934).
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from companion._types import Array, ArrayLike
from companion.accounting.counting import counted
from companion.checks import need_float, need_int

if TYPE_CHECKING:
    from companion.core import Policy


class Audit(NamedTuple):
    """With confidence `level` at least `epsilon` is lost at `delta`, on this pair of inputs."""

    epsilon: float
    delta: float
    level: float
    event: str  # the event that was counted
    likely: str  # the input, "a" or "b", under which the event is more likely
    hits: tuple  # outputs in the event under the likely and under the other input ...
    trials: int  # ... out of so many each, none of which took part in choosing the event


class Attack(NamedTuple):
    """Two neighbouring inputs, what is seen of them, and the number that tells them apart.

    mechanism(data, rng, n) -> n outputs; a, b: data; statistic(outputs) -> (n,) numbers; sees: who
    looks at what ("message", "batch", "releases", "state", "parameters", "actions"); note: what the
    attack leaves aside; runs: whether an output takes a run of its own, of which there are fewer,
    or is one of many that a kernel draws; fresh: whether outputs are what kernels let out, and no
    number depends on the noise of another, nor the count of draws on the data.  Then the mean of
    two outputs is what is seen if all is let out twice.  anew: whether all that kernels let out has
    normal noise drawn for that number alone.  Then half the variance is what is seen.  A module
    that makes a private algorithm offers `attack(algorithm)`, a tuple of these, beside `example()`.
    """

    mechanism: Any
    a: Any
    b: Any
    statistic: Any
    sees: str
    note: str = ""
    runs: bool = True
    fresh: bool = False
    anew: bool = False


def attacked(attack: Attack, *, delta: float, trials: int, seed: int, level: float = 0.95) -> Audit:
    """`epsilon_lower_bound` of one `Attack`.  Raises ValueError where its inputs are no neighbours:
    streams that differ in more than one user, or in another than the one whose arm is hidden.
    """
    need_neighbours(attack.a, attack.b, getattr(attack.mechanism, "user", None))
    how = {"statistic": attack.statistic, "trials": trials, "seed": seed, "level": level}
    return epsilon_lower_bound(*attack[:3], delta=delta, **how)


def need_neighbours(
    a: tuple[Array, float] | Sequence[Array],
    b: tuple[Array, float] | Sequence[Array],
    user: int | None = None,
) -> None:
    """Raise ValueError if two streams, tuples of arrays with a row per user, differ in more than
    one row, or in another than that of `user`; inputs of another kind pass."""
    if not (isinstance(a, tuple) and isinstance(b, tuple) and np.ndim(a[0]) > 1):
        return
    if any(np.shape(x) != np.shape(y) for x, y in zip(a, b, strict=True)):
        raise ValueError("inputs a and b must have the same shapes")
    apart = np.zeros(len(a[0]), bool)
    for x, y in zip(a, b, strict=True):
        apart |= (np.asarray(x) != y).reshape(len(apart), -1).any(axis=1)
    if len(rows := np.flatnonzero(apart).tolist()) > 1:
        raise ValueError(f"inputs a and b must differ in one user alone; got users {rows[:5]}")
    if user is not None and rows not in ([], [user]):
        raise ValueError(f"user must be the one whose data differ, {rows[0]}; got user={user}")


def repeated(once: Callable[..., Any]) -> Callable[..., Any]:
    """The mechanism of n independent runs of once(data, rng) -> an array or a number, copied."""

    def mechanism(data, rng, n):
        first = np.array(once(data, rng), dtype=float)
        out = np.empty((n, *first.shape))
        out[0] = first
        for i in range(1, n):
            out[i] = once(data, rng)
        return out

    return mechanism


def along(direction: ArrayLike) -> Callable[..., Any]:
    """The statistic <output, direction>: for normal noise of one size, the best one there is."""
    return partial(_along, np.asarray(direction, dtype=float).ravel())


def is_linear(statistic: Callable[..., Any]) -> bool:
    """Whether a statistic was made by `along`."""
    return getattr(statistic, "func", None) is _along


def _along(direction, outputs):
    return outputs.reshape(len(outputs), -1) @ direction


def epsilon_lower_bound(
    mechanism: Callable[..., Any],
    a: float | tuple[Array, float] | Sequence[Array],
    b: float | tuple[Array, float] | Sequence[Array],
    *,
    delta: float = 0.0,
    trials: int,
    seed: int,
    statistic: Callable[..., Any] | None = None,
    event: Callable[..., Any] | None = None,
    level: float = 0.95,
) -> Audit:
    """Largest epsilon refuted by counting: it is not (e, delta)-DP for any e < `Audit.epsilon`.

    mechanism(data, rng, n) -> n independent outputs, an array (n, ...); a, b: neighbouring inputs;
    delta in [0, 1); trials >= 4 outputs are drawn for each input.  Either statistic(outputs) ->
    (n,) numbers, whose best threshold is looked for (the log-likelihood ratio is the best
    statistic; None takes outputs that are numbers as they are), or event(outputs) -> (n,)
    booleans.  Both directions (a against b, b against a) and complements are tried.

    >>> noisy = lambda x, rng, n: x + rng.laplace(0.0, 1.0, n)  # epsilon = 1 at distance 1
    >>> 0.9 < epsilon_lower_bound(noisy, 0.0, 1.0, trials=100_000, seed=1).epsilon < 1.0
    True
    """
    delta = need_float("delta", delta, 0.0, 1.0, open_high=True)

    def bound(low, high):
        return np.log(np.maximum(low - delta, high) / high)  # never below 0

    found, value = counted(mechanism, a, b, bound, trials, seed, statistic, event, level)
    return Audit(value, delta, *found)


def delta_lower_bound(
    mechanism: Callable[..., Any],
    a: float,
    b: float,
    *,
    epsilon: float,
    trials: int,
    seed: int,
    statistic: Callable[..., Any] | None = None,
    event: Callable[..., Any] | None = None,
    level: float = 0.95,
) -> Audit:
    """Largest delta refuted by counting: it is not (epsilon, t)-DP for any t < `Audit.delta`.

    epsilon >= 0; everything else as for `epsilon_lower_bound`.
    """
    epsilon = need_float("epsilon", epsilon, 0.0)

    def bound(low, high):
        return np.maximum(low - np.exp(min(epsilon, 700.0)) * high, 0.0)

    found, value = counted(mechanism, a, b, bound, trials, seed, statistic, event, level)
    return Audit(epsilon, value, *found)


def playing(
    policy: "Policy", *, user: int | None = None, several: Callable[..., Any] | None = None
) -> Callable[..., Any]:
    """The mechanism that plays a policy on data = (X, R) and shows the arms, as int64 (n, T).

    user: round (from 0) whose own arm is hidden, as joint differential privacy does for the user
    whose data differ; several: the same lives by a kernel, made by `lives.lived` (None: a call for
    each).  Raises ValueError on a user past the policy's horizon or the data's end.
    """
    T = getattr(policy.params, "T", None)
    user = user if user is None else need_int("user", user, 0, T and T - 1)

    def mechanism(data, rng, n):
        X, R = data
        if user is not None:
            need_int("user", user, 0, len(X) - 1)
        if several is not None:
            arms = several(data, rng, n, [len(X)])[0]
        else:
            arms = np.empty((n, len(X)), dtype=np.int64)
            for i in range(n):
                policy.play(policy.params, policy.init(policy.params), X, R, rng, arms[i])
        return arms if user is None else np.delete(arms, user, axis=1)

    mechanism.user = user  # type: ignore[attr-defined]
    return mechanism
