"""Lower bounds on the privacy lost in ONE run, from many coins that are tossed inside it.

Each of m canaries is one of two records, by a fair coin of its own.  Whoever sees the
output guesses coins: all of them, or a number of guesses that was fixed beforehand.
Privacy makes right guesses rare, so many right ones refute it.

Let W be the number of right guesses among g.  Choose a canary at random, and for k <= g
let
    r_k = P(it is guessed, rightly, and W >= k),  h_k = P(it is guessed, wrongly, and W >=
    k).
Were its coin the other way, the same output would hold one right guess less.  So r_(k+1)
<= B(h_k), where B(x) = 1 - f(x) for the trade-off curve f (B is concave).  With tails q_k
= P(W >= k) and F_k = sum over j >= k of P(W = j)(j - k):
    m r_k = F_k + k q_k,  m h_k = (g - k) q_k - F_k,  F_k = F_(k+1) + q_(k+1).
If q_c >= tau, all F_k and q_k with k < c are at least what the recursion in `_tail`
gives, step by step; so q_c >= tau is refuted where q_0 would exceed 1.
`pure_epsilon` and `gaussian_mu` have the curves of differential privacy and of normal
noise. Source: Steinke, Nasr and Jagielski (2023) (one run); Mahloujifar, Melis and
Chaudhuri (2025) (trade-off curves).
"""

from math import exp
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

from companion.accounting.privacy import gaussian_epsilon, tree_levels
from companion.kernels.mechanisms import pack_statistics
from companion.validate import (
    need_array,
    need_float,
    need_indices,
    need_int,
    need_probability,
)
from evidence.attacks.audit import runs_of

# outputs of each input by which an auditor finds the middle of the scores, beforehand
PILOT = 400
LARGEST = 60.0  # no bound is looked for above this epsilon or mu


class OneRun(NamedTuple):
    """With confidence `level`, each of the two bounds: any mechanism loses `epsilon` at
    delta, one with a Gaussian trade-off curve has mu >= `mu`, and so loses `gaussian` at
    delta.
    """

    right: int
    guesses: int
    canaries: int
    epsilon: float
    mu: float
    gaussian: float


def audit(
    scores: np.ndarray,
    coins: np.ndarray,
    *,
    delta: float,
    guesses: int,
    level: float = 0.95,
) -> OneRun:
    """`OneRun` of scores (m,), large where the coin of a canary seems to be 1, and coins
    (m,).

    The `guesses` canaries with the largest |score| are guessed, 1 where the score is
    positive:
    scores must be about 0 for want of information.  delta in [0, 1), level in (0, 1),
    guesses in [1, m], fixed before the scores were seen.  Raises ValueError on anything
    else.
    """
    scores, m = need_array("scores", scores, ("m",)), len(scores)
    coins = need_indices("coins", coins, (m,), 2)
    g = need_int("guesses", guesses, 1, m)
    chosen = np.argsort(-np.abs(scores), kind="stable")[:g]
    right = int(((scores[chosen] > 0) == (coins[chosen] == 1)).sum())
    mu = gaussian_mu(right, g, m, level)
    gaussian = 0.0 if mu == 0.0 or delta == 0.0 else gaussian_epsilon(delta, 1.0, mu)
    return OneRun(
        right=right,
        guesses=g,
        canaries=m,
        epsilon=pure_epsilon(right, g, m, delta, level),
        mu=mu,
        gaussian=gaussian,
    )


def pure_epsilon(
    right: int,
    guesses: int,
    canaries: int,
    delta: float,
    level: float = 0.95,
) -> float:
    """Largest epsilon that so many right guesses refute at delta >= 0, by the trade-off
    curve of all (epsilon, delta)-private mechanisms."""
    delta = need_float("delta", delta, 0.0, 1.0, open_high=True)

    # of B(x) = min(delta + e^epsilon x, 1 - e^-epsilon (1 - delta - x))
    def inverse(r, epsilon):
        return max(
            0.0,
            (r - delta) * exp(-epsilon),
            1.0 - delta - (1.0 - r) * exp(epsilon),
        )

    return _largest(right, guesses, canaries, level, inverse)


def gaussian_mu(right: int, guesses: int, canaries: int, level: float = 0.95) -> float:
    """Largest mu at which so many right guesses refute the trade-off of N(0, 1) and N(mu,
    1)."""
    return _largest(
        right,
        guesses,
        canaries,
        level,
        lambda r, mu: float(ndtr(ndtri(r) - mu)),
    )


def _largest(right, guesses, canaries, level, inverse):
    """The largest value in [0, LARGEST] that is refuted, by bisection; 0.0 if none is;
    inverse: of B, increasing in its first argument, at the value that is its second."""
    m = need_int("canaries", canaries, 1)
    g = need_int("guesses", guesses, 1, m)
    right = need_int("right", right, 0, g)
    tau = 1.0 - need_probability("level", level)
    low = 0.0
    high = LARGEST
    while high - low > 1e-4:
        middle = 0.5 * (low + high)
        refuted = _tail(right, g, m, tau, lambda r, at=middle: inverse(r, at)) > 1.0
        low, high = (middle, high) if refuted else (low, middle)
    return low


def _tail(right, g, m, tau, inverse):
    """What P(W >= 0) would at least be if P(W >= right) were tau."""
    # F_k and q_k
    excess = 0.0
    tail = tau
    for k in range(right - 1, -1, -1):
        r = min(1.0, (excess + (k + 1) * tail) / m)  # r_(k+1)
        excess += tail
        tail = max(tail, (m * inverse(r) + excess) / (g - k))
        if tail > 1.0:
            break
    return tail


# --- streams with many canaries: each function plays ONE stream, in which every canary
# has one of two records, by a coin of its own, and returns (scores, coins), as `audit`
# takes them


def single(attack, canaries: int, rng: np.random.Generator):
    """Every canary has an output of its own, which depends on nobody else: a message, a
    batch. Scores are about the middle of the medians of `PILOT` outputs of each input."""

    def seen(data, n):
        return attack.statistic(attack.mechanism(data, rng, n))

    coins = rng.integers(0, 2, canaries)
    wrong = seen(attack.b, canaries)
    right = seen(attack.a, canaries)
    middle = np.mean([np.median(seen(data, PILOT)) for data in (attack.a, attack.b)])
    return np.where(coins == 1, right, wrong) - middle, coins


def nodes(policy, gap: int, records, move, rng: np.random.Generator):
    """Tree releases: every gap-th user, from the first on, is a canary with the first of
    two records (x, r) for coin 1; the others send nothing.  Seen is the sum of <move,
    node> over the nodes that hold one canary and nobody else's record, which are
    differences of released sums.  policy: a JDP-LinUCB; gap: a power of two."""
    T = policy.params.T
    d = policy.params.d
    coins = rng.integers(0, 2, T // gap)
    X = np.zeros((T, 2, d))
    R = np.zeros((T, 2))
    for i, coin in enumerate(coins):
        x, r = records[1 - coin]
        X[i * gap] = x
        R[i * gap] = r
    play = runs_of(policy, lambda s: s.release)
    _, (released,) = play((X, R), rng, 1, np.arange(1, T + 1))
    released = np.concatenate([np.zeros((1, len(move))), released])
    starts = np.arange(len(coins))[:, None] * gap
    ends = starts + (1 << np.arange(tree_levels(gap) - 1))
    sums = (released[ends] - released[ends - (ends & -ends)]) @ move
    both = np.zeros((2, len(move)))
    for row, (x, r) in zip(both, records, strict=True):
        pack_statistics(x, r, row)
    middle = both.mean(axis=0) @ move
    return (sums - middle).sum(axis=1), coins


def rates(
    attack,
    canaries: int,
    guesses: int,
    delta: float,
    promised: float,
    repeats: int,
    seed: int,
):
    """(share of right guesses (repeats,), bounds at level 0.95 (repeats,), alarms): of
    `single` runs again and again; an alarm is a bound above what is promised."""
    shares = np.empty(repeats)
    bounds = np.empty(repeats)
    for i, child in enumerate(np.random.SeedSequence(seed).spawn(repeats)):
        rng = np.random.default_rng(child)
        found = audit(*single(attack, canaries, rng), delta=delta, guesses=guesses)
        shares[i], bounds[i] = found.right / guesses, max(found.epsilon, found.gaussian)
    return shares, bounds, int((bounds > promised).sum())
