"""Attacks on a policy: its own, and a general one that needs nothing but the protocol.

The general attack plays two streams that differ in one user, and shows the arms of all others,
as joint, shuffle and local privacy allow.  A search over records, places and other users takes the
pair that a pilot tells apart best; the log-likelihood ratio of a chain fitted to the pilot is the
statistic; fresh runs count (`audit.attacked`).  Far records are tried, too: 50 times as large.
Two chains are fitted: one has chances of its own in every round, the other the same chances in
rounds 1, 2-3, 4-7, ..., by which a small leak shows that goes on for long.  The pilot chooses.
"""

import os
import sys
import tempfile
from itertools import product

import numpy as np

from companion.accounting import audit
from companion.core import Universe, horizon, one_context
from companion.judge.effort import DRAWN, effort
from companion.judge.guarantee import number
from companion.judge.streams import run, stream_for

LEVEL = 0.999  # of every bound: a promise that holds is refuted with this chance less than 1
ROUNDS = 80  # of the streams that are played: a leak in every round shows more in longer ones
FAR = 50.0  # times the size of the largest record
COMMON = Universe(low=0.0, offset=True)  # lies in every universe of the package
SURE = 2.0  # standard errors below which a term of the statistic is taken for noise


def row(name: str, g, sees: str, found, note: str = ""):
    """One attack as plain data."""
    refuted = bool(found.epsilon > g.epsilon)
    said = f"epsilon is at least {found.epsilon:.3g}, {g.epsilon:.3g} is promised"
    return {"attack": name, "sees": sees, "epsilon": number(found.epsilon), "level": found.level,
            "delta": number(g.delta), "promise": number(g.epsilon), "trials": found.trials,
            "hits": list(found.hits), "refuted": refuted, "said": said, "note": note}  # fmt: skip


def count(subject) -> int:
    """How many attacks the module offers."""
    g = subject.policy.guarantee
    return len(subject.policy.audit.attacks(subject.policy)) if g.model != "none" else 0


def own(subject, which, quick: bool, trials, seed: int):
    """The attack of this number that the module offers, as a `row`."""
    policy = subject.policy
    one = policy.audit.attacks(policy)[which]
    n = effort(policy, quick, trials).trials * (1 if one.runs else DRAWN)
    g = policy.guarantee
    found = audit.attacked(one, delta=g.delta, trials=n, seed=seed, level=LEVEL)
    return row(f"its own (number {which + 1})", g, one.sees, found, one.note)


def general(subject, quick: bool, trials, seed: int, far: bool = False):
    """The general attack on the example, as a `row`; far: with records outside the universe.

    quick, trials: see `effort.effort`.
    """
    policy = subject.policy
    n = effort(policy, quick, trials)
    pairs = list(neighbours(policy, universe(subject), far))
    best = max((fitted(policy, p, n.search, seed) for p in pairs), key=lambda found: found[0])
    _, statistic, (name, a, b, user) = fitted(policy, best[2], n.pilot, seed + 2)
    g = policy.guarantee
    one = audit.Attack(audit.playing(policy, user=user), a, b, statistic, "actions")
    found = audit.attacked(one, delta=g.delta, trials=n.trials, seed=seed + 1, level=LEVEL)
    large = f"records {FAR:g} times too large, " if far else ""
    where = f"{large}{name}, the best of {len(pairs)} pairs"
    return row("general", g, "the arms of all other users", found, where)


def universe(subject):
    """What the module says it takes without clipping, or what every universe holds."""
    return subject.policy.universe or COMMON


def directions(d: int, world) -> np.ndarray:
    """Three contexts of the universe, as far apart as it allows, (3, d)."""
    ways = np.eye(max(d, 2))[:2, :d]
    ways = np.array([ways[0], -ways[0], ways[1] if d > 2 or not world.offset else -ways[0]])
    if world.offset:
        ways = np.sqrt(0.5) * ways
        ways[:, -1] = np.sqrt(0.5)
        return ways
    return world.radius * ways


def neighbours(policy, world, far):
    """Yield (name, a, b, user): two streams (X, R) that differ in the record of one user; far: by
    `FAR` times as much, among quiet others alone."""
    n = min(ROUNDS, horizon(policy) or ROUNDS)
    K, d = getattr(policy.params, "K", 2), getattr(policy.params, "d", 3)
    x, y, z = directions(d, world)
    low, high = max(world.low, -1e6), min(world.high, 1e6)
    size = FAR if far else 1.0
    records = {
        "the reward changes": ((x, low), (x, high)),
        "the context turns": ((x, high), (y, high)),
        "another coordinate": ((x, high), (z, high)),
    }
    company = (True,) if far else (True, False)
    for (what, (one, two)), user, quiet in product(records.items(), (0, n // 3), company):
        X, R, _ = stream_for(policy._replace(params=policy.params), n, K)
        if quiet:  # the others ask along the line that tells the two records apart, and pay nothing
            X[:, 0::2], X[:, 1::2] = one[0], two[0] if one[0] is not two[0] else y
            R[:] = 0.0 if low <= 0.0 else low
            if one_context(policy):
                X[:] = X[:, :1]
        streams = []
        for context, r in (one, two):
            mine, paid = X.copy(), R.copy()
            mine[user], paid[user] = size * context, size * r
            streams.append((mine, paid))
        others = "quiet" if quiet else "random"
        yield f"{what} in round {user}, {others} others", *streams, user


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
    """What a run of the example says beside its arms: files it opens to write, connections, text it
    prints.  A run before has compiled and imported all that it needs."""
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
    return sorted(set(seen)) + [f"prints {line!r}" for line in printed]
