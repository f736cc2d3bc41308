"""The attack on a policy that needs nothing but the protocol.

It plays two streams that differ in one user, and shows the arms of all
others, as joint, shuffle and local privacy allow.  A search over records, places and
other users takes the pair that a pilot tells apart best; the log-likelihood ratio of a
chain fitted to the pilot is the statistic; fresh runs count (`audit.attacked`).  Records
50 times too large are tried, too. Two chains are fitted: one has chances of its own in
every round, the other the same chances in rounds 1, 2-3, 4-7, ..., by which a small leak
shows that goes on for long.  The pilot chooses.

Streams differ by "replace one record", or "replace one reward" where contexts are public.
Where the relation is "add or remove one record" a replacement is two steps: the promise
for it is (2 epsilon, (1 + e^epsilon) delta).
"""

from itertools import product

import numpy as np

from companion.accounting.privacy import ADD_OR_REMOVE, REPLACE_REWARD
from companion.contract import horizon, one_context
from companion.core import Universe
from companion.stats import at_least
from evidence.attacks import audit
from evidence.judge.checks import stream_for
from evidence.measure.replay import corners_of, extreme_rewards

# of every bound: a promise that holds is refuted with this chance less than 1
LEVEL = 0.999
ROUNDS = {True: 100, False: 400}  # quick: of the streams that are played, at most
FAR = 50.0  # times the size of the largest record
SURE = 2.0  # standard errors below which a term of the statistic is taken for noise
# quick, or not: runs of each input that are counted, of plain Python and compiled; fixed,
# so that reports are alike everywhere
PLAIN = {True: 300, False: 1_500}
COMPILED = {True: 1_000, False: 10_000}


def general(subject, quick: bool, trials, seed: int):
    """The row of the general attack on the example, with the largest epsilon that so many
    trials could show, were the two inputs told apart always.

    A fortieth of the trials fits the statistic of every pair, a fifth that of the pair
    that is chosen.
    """
    policy = subject.policy
    usual = COMPILED if hasattr(policy.loop, "py_func") else PLAIN
    n = trials or usual[quick]
    pairs = neighbours(policy, policy.universe or Universe(), ROUNDS[quick])
    apart = [fitted(pair, max(n // 40, 8), seed)[0] for pair in pairs]
    best = pairs[int(np.argmax(apart))]
    _, statistic = fitted(best, max(n // 5, 8), seed + 2)
    one = best._replace(statistic=statistic)
    epsilon = policy.guarantee.epsilon
    delta = policy.guarantee.delta
    steps = ""
    if policy.guarantee.neighbours == ADD_OR_REMOVE:  # a replaced record is two steps
        delta = min((1.0 + np.exp(min(epsilon, 700.0))) * delta, 0.999)
        epsilon = 2.0 * epsilon
        steps = " for two steps"
    found = audit.attacked(one, delta=delta, trials=n, seed=seed + 1, level=LEVEL)
    least = found.epsilon
    tail = ((1.0 - LEVEL) / 2.0) ** (1.0 / found.trials)
    largest = np.log(max(tail - delta, 1.0 - tail) / (1.0 - tail))
    rounds = len(best.a[0])
    return {
        "outcome": "refuted" if least > epsilon else "not refuted",
        "found": f"epsilon is at least {at_least(least)}, {epsilon:.3g} is promised"
        f"{steps} ({found.trials} counted runs could show at most {largest:.3g}; "
        "judge(trials=...) sets how many)",
        "epsilon": least,
        "played": f"{best.note}, the best of {len(pairs)} pairs, {rounds} rounds",
    }


def neighbours(policy, world, rounds: int = 80):
    """Attacks without a statistic, by streams that differ in the record of one user,
    among random or quiet others; among the quiet ones also by records `FAR` times as
    large."""
    n = min(rounds, horizon(policy) or rounds)
    d = getattr(policy.params, "d", 3)
    corners = corners_of(world, d)
    ways = np.unique(corners[:, :-1], axis=0)
    x = ways[-1]  # a corner, the farthest from it, and one across
    along = (ways - ways.mean(axis=0)) @ x
    y = ways[along.argmin()]
    z = ways[np.abs(along).argmin()]
    low, high = extreme_rewards(world)
    records = {"the reward changes": ((x, low), (x, high))}
    if policy.guarantee.neighbours != REPLACE_REWARD:
        records["the context turns"] = ((x, high), (y, high))
        records["another coordinate"] = ((x, high), (z, high))
    company = {
        "quiet others": 1.0,
        "random others": 1.0,
        f"records {FAR:g} times too large": FAR,
    }
    pairs = []
    for what, user, others in product(records, (0, n // 3), company):
        one, two = records[what]
        X, R = stream_for(policy, n, K=2)
        # they ask along the line that tells the two records apart
        if others != "random others":
            X[:, 0::2] = one[0]
            X[:, 1::2] = y if one[0] is two[0] else two[0]
            R[:] = max(low, 0.0)  # and pay nothing
            if one_context(policy):
                X[:] = X[:, :1]
        size = company[others]
        pair = audit.Attack(
            mechanism=audit.playing(policy, user=user),
            a=replaced(X, R, user, one, size),
            b=replaced(X, R, user, two, size),
            statistic=None,
            sees="actions",
            note=f"{what} in round {user}, {others}",
        )
        pairs.append(pair)
    return pairs


def replaced(X, R, user: int, record, size: float):
    """The stream (X, R) with this record, so many times as large, in the user's round."""
    X = X.copy()
    R = R.copy()
    X[user] = size * record[0]
    R[user] = size * record[1]
    return X, R


def fitted(pair, pilot: int, seed: int):
    """(how far apart the statistic sees the two streams, the statistic)."""
    play = pair.mechanism
    rng = np.random.default_rng(seed)
    K = pair.a[0].shape[1]
    fit_a = play(pair.a, rng, pilot)
    fit_b = play(pair.b, rng, pilot)
    check_a = play(pair.a, rng, pilot)
    check_b = play(pair.b, rng, pilot)
    best = -1.0
    for pooled in (False, True):
        weights = chain(fit_a, fit_b, K, pooled)
        there = score(weights, check_a, K)
        here = score(weights, check_b, K)
        variance = 0.5 * (there.var() + here.var())
        spread = np.sqrt(variance + 1.0 / pilot)
        apart = abs(there.mean() - here.mean()) / spread
        if apart > best:
            best = apart
            chosen = weights
    return best, lambda arms: score(chosen, arms, K)


def cells(arms, K: int) -> np.ndarray:
    """Every round's arm and the one before it as one number, (n, T)."""
    return np.pad(arms, ((0, 0), (1, 0)))[:, :-1] * K + arms


def chain(a, b: np.ndarray, K: int, pooled: bool = False) -> np.ndarray:
    """(T, K^2) log ratios of the chances of every arm after every arm, by rounds: a over
    b; pooled:
    the same in rounds 1, 2-3, 4-7, ..."""
    part = np.arange(a.shape[1])
    if pooled:
        part = np.log2(part + 1).astype(int)
    logs = []
    errors = []
    for arms in (a, b):
        counts = np.full((part[-1] + 1, K * K), 0.5)
        np.add.at(counts, (part, cells(arms, K)), 1.0)
        counts = counts.reshape(-1, K, K)
        chances = counts / counts.sum(axis=2, keepdims=True)
        logs.append(np.log(chances))
        errors.append((1.0 - chances) / counts)
    ratio = logs[0] - logs[1]
    error = np.sqrt(errors[0] + errors[1])
    ratio[np.abs(ratio) < SURE * error] = 0.0
    return ratio.reshape(-1, K * K)[part]


def score(weights: np.ndarray, arms: np.ndarray, K: int):
    """The log-likelihood ratio of runs, (n,)."""
    return weights[np.arange(arms.shape[1]), cells(arms, K)].sum(axis=1)
