"""Attacks on a policy: its own, and a general one that needs nothing but the protocol.

The general attack plays two streams that differ in one user, and shows the arms of all others,
as joint, shuffle and local privacy allow.  A search over records, places and other users takes the
pair that a pilot tells apart best; the log-likelihood ratio of a chain fitted to the pilot is the
statistic; fresh runs count (`audit.attacked`).  Records 50 times too large are tried, too.
Two chains are fitted: one has chances of its own in every round, the other the same chances in
rounds 1, 2-3, 4-7, ..., by which a small leak shows that goes on for long.  The pilot chooses.

Streams differ by "replace one record", or "replace one reward" where contexts are public.  Where
the relation is "add or remove one record" a replacement is two steps: the promise for it is
(2 epsilon, (1 + e^epsilon) delta).
"""

import os
import sys
import tempfile
from itertools import product
from typing import NamedTuple

import numpy as np

from companion.accounting import audit
from companion.accounting.privacy import ADD_OR_REMOVE, RELATIONS, REPLACE_REWARD
from companion.audits.neighbours import corners_of
from companion.core import Universe, horizon, one_context
from companion.judge.streams import run, stream_for

LEVEL = 0.999  # of every bound: a promise that holds is refuted with this chance less than 1
ROUNDS = {True: 100, False: 400}  # quick: of the streams that are played, at most
FAR = 50.0  # times the size of the largest record
COMMON = Universe()  # where none is declared: the unit ball, rewards in [-1, 1]
SURE = 2.0  # standard errors below which a term of the statistic is taken for noise


class Effort(NamedTuple):
    """Runs of each of the two inputs: fixed numbers, so that a report is the same everywhere."""

    search: int  # fit the statistic of every pair that is tried, and as many choose the pair
    pilot: int  # fit the statistic of the pair that is chosen
    trials: int  # are counted, half of them to choose the event


PLAIN = {True: Effort(10, 80, 300), False: Effort(30, 250, 1_500)}  # fifty times as slow
COMPILED = {True: Effort(30, 150, 1_000), False: Effort(100, 400, 10_000)}
DRAWN = 10  # times as many trials where a kernel draws many outputs at once


def effort(policy, quick: bool, trials: int | None = None) -> Effort:
    """The `Effort` for a policy; trials >= 4: counted instead of the default."""
    scale = (COMPILED if hasattr(policy.loop, "py_func") else PLAIN)[quick]
    if trials is None:
        return scale
    return Effort(min(scale.search, trials), min(scale.pilot, trials), trials)


def promised(g):
    """(epsilon, delta) that a guarantee promises for one replaced record."""
    if g.neighbours not in RELATIONS:
        raise ValueError(f"neighbours must be one of {RELATIONS}; got {g.neighbours!r}")
    if g.neighbours == ADD_OR_REMOVE:
        return 2.0 * g.epsilon, min((1.0 + np.exp(min(g.epsilon, 700.0))) * g.delta, 0.999)
    return g.epsilon, g.delta


def largest(delta: float, trials: int) -> float:
    """The largest epsilon that so many trials could show, were the two inputs told apart always."""
    n = trials - trials // 2
    tail = ((1.0 - LEVEL) / 2.0) ** (1.0 / n)
    return float(np.log(max(tail - delta, 1.0 - tail) / (1.0 - tail)))


def row(g, one, n: int, seed: int, note: str):
    """One attack, counted: a row of the report."""
    epsilon, delta = promised(g)
    found = audit.attacked(one, delta=delta, trials=n, seed=seed, level=LEVEL)
    said = f"epsilon is at least {found.epsilon:.3g}, {epsilon:.3g} is promised"
    said += " for two steps" if g.neighbours == ADD_OR_REMOVE else ""
    trials = f"{found.trials} trials, which can show {largest(delta, n):.3g}"
    return {"outcome": "refuted" if found.epsilon > epsilon else "not refuted",
            "found": f"{said} ({trials})", "epsilon": found.epsilon, "trials": found.trials,
            "played": f"{note}; {trials}"}  # fmt: skip


def own(subject, quick: bool, trials, seed: int):
    """A `row` for every attack that the policy's audit offers."""
    policy, found = subject.policy, []
    for one in policy.audit.attacks(policy):
        n = effort(policy, quick, trials).trials * (1 if one.runs else DRAWN)
        found.append(row(policy.guarantee, one, n, seed, one.note or one.sees))
    return found


def general(subject, quick: bool, trials, seed: int):
    """The general attack on the example, as a `row`."""
    policy = subject.policy
    n = effort(policy, quick, trials)
    pairs = list(neighbours(policy, policy.universe or COMMON, ROUNDS[quick]))
    best = max((fitted(policy, p, n.search, seed) for p in pairs), key=lambda found: found[0])
    _, statistic, (name, a, b, user) = fitted(policy, best[2], n.pilot, seed + 2)
    one = audit.Attack(audit.playing(policy, user=user), a, b, statistic, "actions")
    note = f"{name}, the best of {len(pairs)} pairs, {len(a[0])} rounds"
    return row(policy.guarantee, one, n.trials, seed + 1, note)


def directions(d: int, world) -> np.ndarray:
    """Three contexts of the universe: a corner, the one that is farthest from it, one across."""
    ways = np.unique(corners_of(world, d)[:, :-1], axis=0)
    along = (ways - ways.mean(axis=0)) @ ways[-1]
    return ways[[-1, along.argmin(), np.abs(along).argmin()]]


def neighbours(policy, world, rounds: int = 80):
    """Yield (name, a, b, user): two streams (X, R) that differ in the record of one user, among
    random or quiet others; among the quiet ones also by records `FAR` times as large."""
    n = min(rounds, horizon(policy) or rounds)
    K, d = getattr(policy.params, "K", 2), getattr(policy.params, "d", 3)
    x, y, z = directions(d, world)
    low, high = max(world.low, -1e6), min(world.high, 1e6)
    records = {
        "the reward changes": ((x, low), (x, high)),
        "the context turns": ((x, high), (y, high)),
        "another coordinate": ((x, high), (z, high)),
    }
    if policy.guarantee.neighbours == REPLACE_REWARD:
        records = {"the reward changes": ((x, low), (x, high))}
    company = {"quiet others": 1.0, "random others": 1.0, f"records {FAR:g} times too large": FAR}
    for (what, (one, two)), user, (others, size) in product(
        records.items(), (0, n // 3), company.items()
    ):
        X, R, _ = stream_for(policy, n, K)
        if others != "random others":  # they ask along the line that tells the two records apart
            X[:, 0::2], X[:, 1::2] = one[0], two[0] if one[0] is not two[0] else y
            R[:] = 0.0 if low <= 0.0 else low  # and pay nothing
            if one_context(policy):
                X[:] = X[:, :1]
        streams = []
        for context, r in (one, two):
            mine, paid = X.copy(), R.copy()
            mine[user], paid[user] = size * context, size * r
            streams.append((mine, paid))
        yield f"{what} in round {user}, {others}", *streams, user


def fitted(policy, pair, pilot, seed: int):
    """(how far apart the statistic sees the two streams, the statistic, the pair)."""
    _, a, b, user = pair
    play, rng = audit.playing(policy, user=user), np.random.default_rng(seed)
    K = a[0].shape[1]
    fit, check = ([play(data, rng, pilot) for data in (a, b)] for _ in range(2))
    found = []
    for pooled in (False, True):
        weights = chain(fit[0], fit[1], K, pooled)
        there, here = (score(weights, arms, K) for arms in check)
        spread = np.sqrt(0.5 * (there.var() + here.var()) + 1.0 / pilot)
        found.append((abs(there.mean() - here.mean()) / spread, weights))
    apart, best = max(found, key=lambda one: one[0])
    return apart, lambda arms: score(best, arms, K), pair


def cells(arms, K: int) -> np.ndarray:
    """Every round's arm and the one before it as one number, (n, T)."""
    before = np.concatenate([np.zeros((len(arms), 1), np.int64), arms[:, :-1]], axis=1)
    return before * K + arms


def chain(a, b: np.ndarray, K: int, pooled: bool = False) -> np.ndarray:
    """(T, K^2) log ratios of the chances of every arm after every arm, by rounds: a over b; pooled:
    the same in rounds 1, 2-3, 4-7, ..."""
    T = a.shape[1]
    part = np.log2(np.arange(1, T + 1)).astype(int) if pooled else np.arange(T)
    counts = []
    for arms in (a, b):
        steps = np.zeros((part[-1] + 1, K * K))
        for t, seen in enumerate(cells(arms, K).T):
            steps[part[t]] += np.bincount(seen, minlength=K * K)
        counts.append(steps.reshape(-1, K, K) + 0.5)
    p, q = (c / c.sum(axis=2, keepdims=True) for c in counts)
    spread = np.sqrt((1 - p) / counts[0] + (1 - q) / counts[1])
    ratio = np.log(p / q)
    ratio[np.abs(ratio) < SURE * spread] = 0.0
    return ratio.reshape(len(ratio), K * K)[part]


def score(weights: np.ndarray, arms: np.ndarray, K: int):
    """The log-likelihood ratio of runs, (n,)."""
    return weights[np.arange(arms.shape[1]), cells(arms, K)].sum(axis=1)


def speaks(subject):
    """The row on what a run of the example says beside its arms: files it opens to write,
    connections, text it prints.  A run before has compiled and imported all that it needs."""
    policy = subject.policy
    X, R, _ = stream_for(policy)
    run(policy, X, R)
    seen, on = [], [True]

    def hook(event, args):
        writes = event == "open" and any(c in str(args[1]) for c in "wax+")
        if on[0] and (writes or event in ("socket.connect", "subprocess.Popen", "os.system")):
            seen.append(f"{event} {args[0]}"[:200])

    with tempfile.TemporaryFile() as log:
        sys.stdout.flush(), sys.stderr.flush()
        saved = [(stream, os.dup(stream.fileno())) for stream in (sys.stdout, sys.stderr)]
        for stream, _ in saved:
            os.dup2(log.fileno(), stream.fileno())
        sys.addaudithook(hook)
        try:
            run(policy, X, R)
        finally:
            on[0] = False
            for stream, back in saved:
                stream.flush()
                os.dup2(back, stream.fileno())
                os.close(back)
        log.seek(0)
        printed = log.read(200).decode("utf8", "replace").splitlines()[:1]
    found = sorted(set(seen)) + [f"prints {line!r}" for line in printed]
    return {"outcome": "speaks" if found else "holds", "found": "; ".join(found)}
