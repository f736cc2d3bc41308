"""Streams with many random canary users: what one run of an algorithm says about its privacy.

Each function plays ONE stream in which every canary has one of two records, by a coin of its own,
and returns (scores, coins), as `one_run.audit` takes them.
"""

import numpy as np

from companion.accounting.privacy import tree_levels
from companion.audits import one_run

PILOT = 400  # outputs of each input by which an auditor finds the middle of the scores, beforehand


def single(attack, canaries: int, rng: np.random.Generator):
    """Every canary has an output of its own, which depends on nobody else: a message, a batch."""
    coins = rng.integers(0, 2, canaries)
    both = [attack.statistic(attack.mechanism(d, rng, canaries)) for d in (attack.b, attack.a)]
    return np.where(coins == 1, both[1], both[0]) - middle(attack, rng), coins


def middle(attack, rng: np.random.Generator) -> float:
    """Halfway between the medians of the statistic under a and under b."""
    return np.mean([
        np.median(attack.statistic(attack.mechanism(d, rng, PILOT))) for d in (attack.a, attack.b)
    ])  # fmt: skip


def stream(policy, gap: int, direction, records, rng: np.random.Generator):
    """Rounds (X (T, 2, d), R (T, 2)) and coins: every gap-th user, from the first on, is a canary
    with the first of two records (x, r) for coin 1; the others have the contexts +-direction and
    no reward."""
    T, d = policy.params.T, policy.params.d
    coins = rng.integers(0, 2, T // gap)
    X, R = np.zeros((T, 2, d)), np.zeros((T, 2))
    X[:, 0], X[:, 1] = direction, -np.asarray(direction)
    for i, coin in enumerate(coins):
        X[i * gap], R[i * gap] = records[1 - coin]
    return X, R, coins


def nodes(policy, gap: int, records, move, rng: np.random.Generator):
    """Tree releases: the sum of <move, node> over the nodes that hold one canary and nobody else's
    record, which are differences of released sums.  policy: a JDP-LinUCB; gap: a power of two."""
    X, R, coins = stream(policy, gap, np.zeros(policy.params.d), records, rng)
    p, arms = policy.params, np.empty(1, np.int64)
    s, released = policy.init(p), np.zeros((len(X) + 1, len(move)))
    for t in range(len(X)):
        s = policy.loop(p, s, X[t : t + 1], R[t : t + 1], rng, arms) or s
        released[t + 1] = s.release
    ends = np.arange(len(coins))[:, None] * gap + (1 << np.arange(tree_levels(gap) - 1))
    sizes = ends & -ends
    sums = (released[ends] - released[ends - sizes]) @ move
    return sums.sum(axis=1) - _between(records, move) * ends.shape[1], coins


def _between(records, move):
    """<move, mean of the two records' statistics>."""
    from companion.kernels.mechanisms import pack_statistics

    both = np.empty((2, len(move)))
    for row, (x, r) in zip(both, records, strict=True):
        pack_statistics(x, r, row)
    return float(both.mean(axis=0) @ move)


def actions(policy, gap: int, rng: np.random.Generator):
    """Arms of others: how often users are told e_1 rather than -e_1 between a canary with e_1 and
    reward +-1 and the next, less the same before it."""
    first = np.eye(policy.params.d)[0]
    X, R, coins = stream(policy, gap, first, ((first, 1.0), (first, -1.0)), rng)
    arms = np.empty(len(X), np.int64)
    policy.loop(policy.params, policy.init(policy.params), X, R, rng, arms)
    told = (arms == 0).reshape(len(coins), gap)[:, 1:].mean(axis=1)
    return np.diff(told, prepend=0.5), coins


def rates(
    attack,
    canaries: int,
    guesses: int,
    delta: float,
    promised: float,
    repeats: int,
    seed: int,
) -> tuple[np.ndarray, np.ndarray, int]:
    """(share of right guesses (repeats,), bounds at level 0.95 (repeats,), alarms): of `single`
    runs again and again; an alarm is a bound above what is promised."""
    shares, bounds = np.empty(repeats), np.empty(repeats)
    for i, child in enumerate(np.random.SeedSequence(seed).spawn(repeats)):
        rng = np.random.default_rng(child)
        found = one_run.audit(*single(attack, canaries, rng), delta=delta, guesses=guesses)
        shares[i], bounds[i] = found.right / guesses, max(found.epsilon, found.gaussian)
    return shares, bounds, int((bounds > promised).sum())
