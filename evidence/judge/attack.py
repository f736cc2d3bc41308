"""Attacks on a policy: its own, and a general one that needs nothing but the protocol.

The general attack plays two streams that differ in one user, and shows the arms of all
others, as joint, shuffle and local privacy allow.  A search over records, places and
other users takes the pair that a pilot tells apart best; the log-likelihood ratio of a
chain fitted to the pilot is the statistic; fresh runs count (`audit.attacked`).  Records
50 times too large are tried, too. Two chains are fitted: one has chances of its own in
every round, the other the same chances in rounds 1, 2-3, 4-7, ..., by which a small leak
shows that goes on for long.  The pilot chooses.

Streams differ by "replace one record", or "replace one reward" where contexts are public.
 Where the relation is "add or remove one record" a replacement is two steps: the promise
 for it is
(2 epsilon, (1 + e^epsilon) delta).
"""

import os
import sys
from itertools import product

import numpy as np

from companion.accounting.privacy import ADD_OR_REMOVE, RELATIONS, REPLACE_REWARD
from companion.contract import horizon, one_context
from companion.core import Universe
from companion.stats import at_least
from companion.validate import need_choice
from evidence.attacks import audit
from evidence.judge.checks import run, stream_for
from evidence.measure.replay import corners_of

# of every bound: a promise that holds is refuted with this chance less than 1
LEVEL = 0.999
ROUNDS = {True: 100, False: 400}  # quick: of the streams that are played, at most
FAR = 50.0  # times the size of the largest record
SURE = 2.0  # standard errors below which a term of the statistic is taken for noise
# plain Python: quick, or not; compiled
TRIALS = {True: (300, 1_500), False: (1_000, 10_000)}
DRAWN = 10  # times as many trials where a kernel draws many outputs at once


def n_trials(policy, quick: bool, trials: int | None = None) -> int:
    """Runs of each input that are counted: fixed numbers, so that reports are alike
    everywhere."""
    return trials or TRIALS[not hasattr(policy.loop, "py_func")][not quick]


def row(g, one, n: int, seed: int, note: str):
    """One attack, counted: a row of the report, with the largest epsilon that so many
    trials could show, were the two inputs told apart always."""
    need_choice("neighbours", g.neighbours, RELATIONS)
    epsilon = g.epsilon
    delta = g.delta
    if g.neighbours == ADD_OR_REMOVE:  # a replaced record is two steps
        epsilon, delta = (
            2.0 * epsilon,
            min((1.0 + np.exp(min(epsilon, 700.0))) * delta, 0.999),
        )
    found = audit.attacked(one, delta=delta, trials=n, seed=seed, level=LEVEL)
    tail = ((1.0 - LEVEL) / 2.0) ** (1.0 / found.trials)
    largest = np.log(max(tail - delta, 1.0 - tail) / (1.0 - tail))
    said = f"epsilon is at least {at_least(found.epsilon)}, {epsilon:.3g} is promised"
    said += " for two steps" if g.neighbours == ADD_OR_REMOVE else ""
    said += f" ({found.trials} trials, which can show {largest:.3g})"
    outcome = "refuted" if found.epsilon > epsilon else "not refuted"
    return {"outcome": outcome, "found": said, "epsilon": found.epsilon, "played": note}


def own(subject, quick: bool, trials, seed: int):
    """A `row` for every known attack: of the package's table, or of the file's
    `attacks`."""
    policy = subject.policy
    found = []
    for one in subject.spec.attacks(policy):
        n = n_trials(policy, quick, trials) * (1 if one.runs else DRAWN)
        found.append(row(policy.guarantee, one, n, seed, one.note or one.sees))
    return found


def general(subject, quick: bool, trials, seed: int):
    """The general attack on the example, as a `row`: a fortieth of the trials fits the
    statistic of every pair, a fifth that of the pair that is chosen."""
    policy = subject.policy
    n = n_trials(policy, quick, trials)
    pairs = list(neighbours(policy, policy.universe or Universe(), ROUNDS[quick]))
    tried = [fitted(policy, pair, max(n // 40, 8), seed) for pair in pairs]
    best = max(tried, key=lambda found: found[0])[2]
    _, statistic, (name, a, b, user) = fitted(policy, best, max(n // 5, 8), seed + 2)
    one = audit.Attack(
        mechanism=audit.playing(policy, user=user),
        a=a,
        b=b,
        statistic=statistic,
        sees="actions",
    )
    note = f"{name}, the best of {len(pairs)} pairs, {len(a[0])} rounds"
    return row(policy.guarantee, one, n, seed + 1, note)


def neighbours(policy, world, rounds: int = 80):
    """Yield (name, a, b, user): two streams (X, R) that differ in the record of one user,
    among random or quiet others; among the quiet ones also by records `FAR` times as
    large."""
    n = min(rounds, horizon(policy) or rounds)
    K = getattr(policy.params, "K", 2)
    d = getattr(policy.params, "d", 3)
    ways = np.unique(corners_of(world, d)[:, :-1], axis=0)
    along = (ways - ways.mean(axis=0)) @ ways[-1]
    # a corner, the farthest, across
    x, y, z = ways[[-1, along.argmin(), np.abs(along).argmin()]]
    low = max(world.low, -1e6)
    high = min(world.high, 1e6)
    records = {"the reward changes": ((x, low), (x, high))}
    if policy.guarantee.neighbours != REPLACE_REWARD:
        records["the context turns"] = (x, high), (y, high)
        records["another coordinate"] = (x, high), (z, high)
    company = {
        "quiet others": 1.0,
        "random others": 1.0,
        f"records {FAR:g} times too large": FAR,
    }
    tried = product(records.items(), (0, n // 3), company.items())
    for (what, (one, two)), user, (others, size) in tried:
        X, R, _ = stream_for(policy, n, K)
        # they ask along the line that tells the two records apart
        if others != "random others":
            X[:, 0::2], X[:, 1::2] = one[0], two[0] if one[0] is not two[0] else y
            R[:] = 0.0 if low <= 0.0 else low  # and pay nothing
            if one_context(policy):
                X[:] = X[:, :1]
        streams = (X.copy(), R.copy()), (X.copy(), R.copy())
        for (mine, paid), (context, r) in zip(streams, (one, two), strict=True):
            mine[user], paid[user] = size * context, size * r
        yield f"{what} in round {user}, {others}", *streams, user


def fitted(policy, pair, pilot, seed: int):
    """(how far apart the statistic sees the two streams, the statistic, the pair)."""
    _, a, b, user = pair
    play = audit.playing(policy, user=user)
    rng = np.random.default_rng(seed)
    K = a[0].shape[1]
    fit, check = ([play(data, rng, pilot) for data in (a, b)] for _ in range(2))
    found = []
    for pooled in (False, True):
        weights = chain(*fit, K, pooled)
        there, here = (score(weights, arms, K) for arms in check)
        spread = np.sqrt(0.5 * (there.var() + here.var()) + 1.0 / pilot)
        found.append((abs(there.mean() - here.mean()) / spread, weights))
    apart, best = max(found, key=lambda one: one[0])
    return apart, lambda arms: score(best, arms, K), pair


def cells(arms, K: int) -> np.ndarray:
    """Every round's arm and the one before it as one number, (n, T)."""
    return np.pad(arms, ((0, 0), (1, 0)))[:, :-1] * K + arms


def chain(a, b: np.ndarray, K: int, pooled: bool = False) -> np.ndarray:
    """(T, K^2) log ratios of the chances of every arm after every arm, by rounds: a over
    b; pooled:
    the same in rounds 1, 2-3, 4-7, ..."""
    T = a.shape[1]
    part = np.log2(np.arange(1, T + 1)).astype(int) if pooled else np.arange(T)
    steps = np.full((2, part[-1] + 1, K * K), 0.5)
    for counts, arms in zip(steps, (a, b), strict=True):
        np.add.at(counts, (part, cells(arms, K)), 1.0)
    steps = steps.reshape(2, -1, K, K)
    (p, q) = chances = steps / steps.sum(axis=3, keepdims=True)
    ratio = np.log(p / q)
    ratio[np.abs(ratio) < SURE * np.sqrt(((1.0 - chances) / steps).sum(axis=0))] = 0.0
    return ratio.reshape(-1, K * K)[part]


def score(weights: np.ndarray, arms: np.ndarray, K: int):
    """The log-likelihood ratio of runs, (n,)."""
    return weights[np.arange(arms.shape[1]), cells(arms, K)].sum(axis=1)


def speaks(subject):
    """The row on what a run of the example says beside its arms: files it opens to write,
    connections, and text it prints, which goes into the child's file.  The first of two
    runs compiles and imports all that is needed, and is not looked at."""
    policy = subject.policy
    seen = set()
    X, R, _ = stream_for(policy)

    def hook(event, args):
        writes = event == "open" and any(c in str(args[1]) for c in "wax+")
        if writes or event in ("socket.connect", "subprocess.Popen", "os.system"):
            seen.add(f"{event} {args[0]}"[:200])

    sys.addaudithook(hook)
    for _ in range(2):
        seen.clear()
        before = os.fstat(1).st_size
        run(policy, X, R)
        sys.stdout.flush()
    printed = os.pread(1, 200, before).decode("utf8", "replace").splitlines()[:1]
    found = sorted(seen) + [f"prints {line!r}" for line in printed]
    said = "; ".join(found)
    if not found:
        return {"outcome": "holds", "found": ""}
    advice = "others may read it: take it out of the kernels"
    return {
        "outcome": "broken",
        "found": f"a run says more than its arms: {said} -> {advice}",
    }
