"""Lower confidence bounds on the privacy that a mechanism loses: run it on two inputs,
and count.

If a mechanism M is (epsilon, delta)-DP then, for neighbouring inputs a and b and every
event E of its output,

    P(M(a) in E) <= exp(epsilon) P(M(b) in E) + delta.

So any one event gives epsilon >= log((P_a - delta) / P_b) and delta >= P_a - exp(epsilon)
P_b.  The two probabilities are not known but counted, so P_a is replaced by the lower end
and P_b by the upper end of one-sided Clopper-Pearson intervals with tails (1 - level)/2
each: by the union bound both hold with probability level, and then so does the
inequality.  The event may be chosen from data, if from *other* data: one half of the
outputs picks it, the other half is counted.  An event that b never hits has an upper end
of about log(2/(1 - level))/n, so the bound stays finite.

A bound above the promised epsilon refutes the promise (and does so wrongly with
probability at most 1 - level).  A bound below it proves nothing: the pair of inputs or
the event may be badly chosen.
Source: Jagielski, Ullman and Oprea (2020), section 3; Clopper and Pearson (1934).

An algorithm offers an `AuditSpec`: attacks on it, and what others see of its records,
from which `evidence.measure` rebuilds its guarantee: how far a record moves what a kernel
lets out with the same noise, how often that happens while the algorithm plays, and the
noise that is drawn.
Laws of the numbers that a kernel lets out:
    None        that of the draws which the kernel makes (normal, Laplace or binomial)
    "gaussian"  numbers with normal noise of any covariance, over all calls together
    "laplace"   numbers with independent Laplace noise, or sums of it, as in a tree
    "wishart"   matrices (..., d, d) with the difference of two Wishart_d(d+1, cI)
                matrices
    "peeling"   a vector of which "peeled" shows the noisily largest entries, with noise;
                "picks" is where they stand; Laplace noise of one scale, fresh for every
                pick and value
    "counts"    multiples of one step with independent binomial noise
    "generalized"  vectors with generalized Gaussian noise of one norm, independent in
                every call
    "prefix"    prefix sums divided by (number of terms + 1), whose dyadic blocks have
                such noise
    "values"    one of a few values (randomised response, the exponential mechanism,
                report noisy max with any noise), drawn afresh in every call
    "sampled"   as "gaussian", each call about one record drawn at random
    "scores"    the vector x whose noisily smallest vertex <x, +-r e_j> is shown
                ("vertex"), with independent noise "laplace", "coordinates" (one draw for
                both signs) or "gumbel"; always with a second Release of law "vertex"
"""

import functools
import inspect
from typing import Any, NamedTuple

import numba
import numpy as np

from companion.accounting.privacy import tree_levels
from companion.stats import lower_end, upper_end
from companion.validate import (
    need_float,
    need_int,
    need_method,
    need_probability,
    need_seed,
)

THRESHOLDS = 200  # candidates per direction; the bound is flat around the best one


def counted(mechanism, a, b, bound, *, trials, seed, statistic=None, level=0.95):
    """((level, event, likely, hits, trials), bound): chosen on one half, counted on the
    other.

    bound(low, high) -> what is lost at least if the event's probability is at least low
    under one input and at most high under the other; all else as for
    `epsilon_lower_bound`.
    """
    trials = need_int("trials", trials, 4)
    seed = need_seed("seed", seed)
    level = need_probability("level", level)
    need_method("mechanism", mechanism)
    score = need_method("statistic", statistic or np.asarray)
    half = trials // 2
    root = np.random.default_rng(seed)
    halves = []
    for n in (half, trials - half):
        for data in (a, b):
            (rng,) = root.spawn(1)
            halves.append(_scores(score, mechanism(data, rng, n), n))
    found, value = _on_halves(*halves, bound, level)
    return (level, *found), value


def bound_on_halves(chosen, counted, delta: float, level: float) -> float:
    """epsilon at least, at this level: `chosen` and `counted` are two halves of outputs,
    each ((n,) scores under a, (n,) under b); the event is chosen on the first."""
    _, value = _on_halves(*chosen, *counted, functools.partial(_epsilon, delta), level)
    return value


def _epsilon(delta: float, low, high):
    """What is lost at delta if an event has probability low at least, and high at most;
    never below 0."""
    return np.log(np.maximum(low - delta, high) / high)


def _on_halves(choose_a, choose_b, count_a, count_b, bound, level):
    """((event, likely, hits, trials), bound) of the event that the first half chooses."""
    tail = (1.0 - level) / 2
    side, cut, swap = _best_event(choose_a, choose_b, bound, tail)
    likely, other = (count_b, count_a) if swap else (count_a, count_b)
    hits = int((side * likely >= side * cut).sum())
    others = int((side * other >= side * cut).sum())
    low = lower_end(hits, len(likely), tail)
    high = upper_end(others, len(other), tail)
    event = f"statistic {'>=' if side > 0 else '<='} {cut:.6g}"
    found = event, "b" if swap else "a", (hits, others), len(likely)
    return found, float(bound(low, high))


def _scores(score, outputs, n):
    """The (n,) numbers by which outputs are ordered; infinite is allowed, NaN is not.

    They are rounded to single precision: the last bits of a sum betray its terms (Mironov
    2012), and an audit is about the mechanism's law, not about its arithmetic.
    """
    with np.errstate(over="ignore"):
        s = np.asarray(score(np.asarray(outputs)), dtype=np.float64).astype(np.float32)
    if s.shape != (n,):
        raise ValueError(
            f"statistic must give one number per output, shape ({n},); got {s.shape}"
        )
    if np.isnan(s).any():
        raise ValueError("statistic must not be NaN")
    return s


def _best_event(a, b, bound, tail):
    """(side, cut, swap): {side * statistic >= side * cut} has the best bound, b against a
    if swap.

    All candidates are looked at together, so each gets its share of the tail: without
    this the winner would be a rare event that was lucky on this half.
    """
    tail /= 4 * THRESHOLDS  # two sides, two orders of a and b
    best = -np.inf
    choice = None
    for side in (1, -1):
        sa = np.sort(side * a)
        sb = np.sort(side * b)
        cuts = _candidates(np.concatenate([sa, sb]))
        over_a = len(sa) - np.searchsorted(sa, cuts)
        over_b = len(sb) - np.searchsorted(sb, cuts)
        for swap, up, down in ((False, over_a, over_b), (True, over_b, over_a)):
            low = lower_end(up, len(a), tail)
            high = upper_end(down, len(b), tail)
            value = bound(low, high)
            i = int(value.argmax())
            if value[i] > best:
                best = value[i]
                choice = (side, side * cuts[i], swap)
    return choice


def _candidates(values):
    """At most THRESHOLDS of the distinct values, dense in both tails, where the best
    events lie."""
    values = np.unique(values)
    if len(values) <= THRESHOLDS:
        return values
    near = np.geomspace(1, len(values) / 2, THRESHOLDS // 2).astype(int) - 1
    return values[np.unique(np.concatenate([near, len(values) - 1 - near]))]


class Audit(NamedTuple):
    """With confidence `level` at least `epsilon` is lost at `delta`, on this pair of
    inputs."""

    epsilon: float
    delta: float
    level: float
    event: str  # the event that was counted
    likely: str  # the input, "a" or "b", under which the event is more likely
    hits: tuple  # outputs in the event under the likely and under the other input ...
    trials: int  # ... out of so many each, none of which took part in choosing the event


class Attack(NamedTuple):
    """Two neighbouring inputs, what is seen of them, and the number that tells them
    apart.

    mechanism(data, rng, n) -> n outputs; a, b: data; statistic(outputs) -> (n,) numbers;
    sees: who looks at what ("message", "batch", "releases", "state", "parameters",
    "actions"); note: what the attack leaves aside; runs: whether an output takes a run of
    its own, of which there are fewer, or is one of many that a kernel draws.  An
    algorithm's `AuditSpec.attacks` is a function of it that gives a tuple of these.
    """

    mechanism: Any
    a: Any
    b: Any
    statistic: Any
    sees: str
    note: str = ""
    runs: bool = False


def attacked(attack: Attack, **how) -> Audit:
    """`epsilon_lower_bound` of one `Attack`; how: delta, trials, seed, level.

    Raises ValueError where its inputs are no neighbours: streams that differ in more than
    one user, or in another than the one whose arm is hidden.
    """
    need_neighbours(attack.a, attack.b, getattr(attack.mechanism, "user", None))
    return epsilon_lower_bound(
        attack.mechanism, attack.a, attack.b, statistic=attack.statistic, **how
    )


def need_neighbours(a, b, user: int | None = None) -> None:
    """Raise ValueError if two streams, tuples of arrays with a row per user, differ in
    more than one row, or in another than that of `user`; inputs of another kind pass."""
    if not isinstance(a, tuple) or np.ndim(a[0]) < 2:
        return
    apart = np.zeros(len(a[0]), bool)
    for x, y in zip(a, b, strict=True):
        if np.shape(x) != np.shape(y):
            raise ValueError("inputs a and b must have the same shapes")
        apart |= (np.asarray(x) != y).reshape(len(apart), -1).any(axis=1)
    rows = np.flatnonzero(apart).tolist()
    if len(rows) > 1:
        raise ValueError(
            f"inputs a and b must differ in one user alone; got users {rows[:5]}"
        )
    if user is not None and rows not in ([], [user]):
        raise ValueError(
            f"user must be the one whose data differ, {rows[0]}; got user={user}"
        )


class along:
    """The statistic <output, direction>: for normal noise of one size, the best one there
    is."""

    def __init__(self, direction):
        self.direction = np.asarray(direction, dtype=float).ravel()

    def __call__(self, outputs):
        return outputs.reshape(len(outputs), -1) @ self.direction


def epsilon_lower_bound(mechanism, a, b, *, delta=0.0, **how) -> Audit:
    """Largest epsilon refuted by counting: it is not (e, delta)-DP for any e <
    `Audit.epsilon`.

    mechanism(data, rng, n) -> n independent outputs, an array (n, ...); a, b:
    neighbouring inputs; delta in [0, 1); how: trials >= 4, outputs that are drawn for
    each input; seed; level=0.95; and statistic(outputs) -> (n,) numbers, whose best
    threshold is looked for (the log-likelihood ratio is the best one, an event is one
    that is 1 or 0; None takes outputs that are numbers as they are).  Both directions (a
    against b, b against a) and complements are tried.

    >>> noisy = lambda x, rng, n: x + rng.laplace(0.0, 1.0, n)  # 1 at distance 1
    >>> 0.9 < epsilon_lower_bound(noisy, 0.0, 1.0, trials=100_000, seed=1).epsilon < 1.0
    True
    """
    delta = need_float("delta", delta, 0.0, 1.0, open_high=True)
    found, value = counted(mechanism, a, b, functools.partial(_epsilon, delta), **how)
    return Audit(value, delta, *found)


def delta_lower_bound(mechanism, a, b, *, epsilon: float, **how) -> Audit:
    """Largest delta refuted by counting: it is not (epsilon, t)-DP for any t <
    `Audit.delta`.

    epsilon >= 0; everything else as for `epsilon_lower_bound`.
    """
    epsilon = need_float("epsilon", epsilon, 0.0)

    def bound(low, high):
        return np.maximum(low - np.exp(min(epsilon, 700.0)) * high, 0.0)

    found, value = counted(mechanism, a, b, bound, **how)
    return Audit(epsilon, value, *found)


@numba.njit(nogil=True, error_model="numpy")
def repeated(kernel, arguments, out):
    """out (n, ...) <- n results, of which kernel(*arguments, result) writes each.
    Compiled for every kernel, in every process."""
    for i in range(len(out)):
        kernel(*arguments, out[i])


def drawn(shape: tuple[int, ...], kernel, *fixed):
    """The mechanism of n outputs (n, *shape), of which kernel(*fixed, *data, rng, output)
    writes each."""

    def mechanism(data, rng, n):
        out = np.empty((n, *shape))
        repeated(kernel, (*fixed, *data, rng), out)
        return out

    return mechanism


def playing(policy, *, user: int | None = None):
    """The mechanism that plays a policy on data = (X, R) and shows the arms, as int64 (n,
    T).

    user: round (from 0) whose own arm is hidden, as joint differential privacy does for
    the user whose data differ.  Raises ValueError on a user past the data's end.
    """
    p = policy.params

    def mechanism(data, rng, n):
        rounds = len(data[0])
        if user is not None:
            need_int("user", user, 0, rounds - 1)
        arms = np.empty((n, rounds), np.int64)
        for row in arms:
            policy.loop(p, policy.init(p), *data, rng, row)
        if user is None:
            return arms
        return np.delete(arms, user, axis=1)

    mechanism.user = user
    return mechanism


def showing(policy, show, ends):
    """The mechanism that plays a policy on data = (X, R), contexts X (T, K, d) and
    rewards R (T, K), and gives show(state), an array, after each of the rounds `ends`,
    which rise: (n, len(ends), ...)."""
    p = policy.params

    def mechanism(data, rng, n):
        X, R = data
        arms = np.empty(len(X), np.int64)
        shown = []
        for _ in range(n):
            state = policy.init(p)
            begin = 0
            for end in ends:
                now = slice(begin, end)
                policy.loop(p, state, X[now], R[now], rng, arms[now])
                shown.append(np.array(show(state)))
                begin = end
        return np.reshape(shown, (n, len(ends), *shown[0].shape))

    return mechanism


def on_first_user(policy, a, b, show, move, *, ends=None, sees="releases", note=""):
    """`Attack` on show(state), an array, after each of the rounds `ends`, if all users
    but the first send zeros.

    a, b: her record (x (d,), r), for every arm; move: how far it moves these arrays;
    ends: None for 1, 2, 4, ... up to T, where those nodes of a tree end that hold her
    record.
    """
    p = policy.params
    K = getattr(p, "K", 2)
    if ends is None:
        ends = 1 << np.arange(tree_levels(p.T))

    def stream(x, r):
        X = np.zeros((ends[-1], K, p.d))
        R = np.zeros((ends[-1], K))
        X[0] = x
        R[0] = r
        return X, R

    return Attack(
        mechanism=showing(policy, show, ends),
        a=stream(*a),
        b=stream(*b),
        statistic=along(np.tile(move, len(ends))),
        sees=sees,
        note=note,
        runs=True,
    )


class AuditInstance(NamedTuple):
    """One instance of a private algorithm, and where its records turn into what others
    see.

    policy: the instance (a policy or an optimiser), asked for epsilon = 1.
    releases: {kernel: read}; whatever others learn of a record passes through one of
        these kernels while the policy plays; read(result, *arguments), called after the
        kernel, picks the released numbers out of them: [(law, numbers), ...], without
        copying.
    private_fields: fields of the State that others do not see (a trusted curator's
        records, scratch), "V.exact" for a field of a field.
    initial_state: None, or a State to begin from instead of `init`'s: one that others may
        have seen.
    rounds: how many are played.
    records: (n, d + 1) further contexts and rewards (x, r) to be tried.
    bound_is_tight: whether the guarantee is attained (True), a bound that may exceed the
        truth by a few per cent (False), or by any amount (None: small batches are rounded
        coarsely).
    assumes_compliance: whether users play the arm they are told, where the guarantee
        relies on it.
    """

    policy: Any
    releases: dict
    private_fields: tuple = ()
    initial_state: tuple | None = None
    rounds: int = 1
    records: np.ndarray | None = None
    bound_is_tight: bool | None = True
    assumes_compliance: bool = False


def nothing(*_):
    """The place of what an algorithm does not offer."""
    return ()


class AuditSpec(NamedTuple):
    """What is known about one algorithm beyond what its policies declare.

    attacks(algorithm): its `Attack`s, the strongest first; measured(): `AuditInstance`s
    that cover its calibrations and options; attack_instances(): small instances on which
    the attacks are strong.
    """

    attacks: Any = nothing
    measured: Any = nothing
    attack_instances: Any = nothing


def readers(releases) -> dict:
    """{kernel: read} for `AuditInstance.releases`, of a tuple of
    `companion.core.Release`; ValueError if an argument is none of its kernel's."""
    places = {}
    for one in releases:
        names = list(inspect.signature(one.kernel).parameters)
        name, *fields = one.argument.split(".")
        place = one.law, names.index(name), fields
        places.setdefault(one.kernel, []).append(place)
    return {kernel: functools.partial(_read, where) for kernel, where in places.items()}


def _read(places, _, *arguments):
    """[(law, numbers)] at these places of a kernel's arguments."""
    parts = []
    for law, number, fields in places:
        part = functools.reduce(getattr, fields, arguments[number])
        parts.append((law, part))
    return parts


def instance(policy, **options) -> AuditInstance:
    """`AuditInstance` of what a policy or optimiser declares; options: its other
    fields."""
    read = readers(policy.releases)
    return AuditInstance(policy, read, private_fields=policy.private, **options)


def instances(*policies, rounds: int | None = None, **options):
    """`instance`s of these policies, each played for so many rounds (None: to its
    horizon, T rounds or n records)."""
    made = []
    for policy in policies:
        n = rounds or getattr(policy.params, "T", 0) or policy.params.n
        made.append(instance(policy, rounds=n, **options))
    return tuple(made)


def in_both(factory, *arguments, **named):
    """(corrected, paper): an instance in both calibrations."""
    corrected = factory(*arguments, calibration="corrected", **named)
    return corrected, factory(*arguments, calibration="paper", **named)
