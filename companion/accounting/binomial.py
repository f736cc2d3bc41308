"""Privacy of binomial noise on integer vectors: a bound that holds, not a normal
approximation.

A query moves by s in Z^n, ||s||_2 <= move and |s_i| <= largest; every entry gets its own
X ~ Bin(bits, p).  With F the distribution function of X and z(k) = Phi^-1(F(k)), for
every r > 0

    delta(epsilon) <= Gaussian delta(epsilon) at sigma = 1/r and sensitivity move,
                      + n D(r),
    D(r) = sup over k and 1 <= s <= largest of  F(k) - Phi(z(k - s) + r s)
           and of its mirror image  (1 - F(k)) - Phi(r s - z(k + s)),
           or 0 if that is larger.

Proof.  (1) One entry, shift s.  Write H_c(P, Q) for the sum of (P - c Q)_+.  A binomial
is log-concave, so the likelihood ratio of X and X + s is monotone and H_c(X, X + s) is
the largest F(k) - c F(k - s) over k.  The best test of N(0, 1) against N(r s, 1) at level
a has power Phi(Phi^-1(a) + r s), which is at most c a + H_c(N(0, 1), N(r s, 1)) for every
c.  At a = F(k - s) this gives F(k) - c F(k - s) <= D(r) + H_c(N(0, 1), N(r s, 1)), for
every c >= 0.  The mirror image is the same for H_c(X + s, X).
(2) Products.  H_c(P1 x P2, Q1 x Q2) is the sum over y of P2(y) H_{c Q2(y)/P2(y)}(P1, Q1).
So replacing one factor by the Gaussian that (1) compares it with costs at most D(r) in
all; after n replacements the rest is N(0, I) against N(r s, I) in R^n, where
||r s|| <= r move.
A mixture over s (random rounding with shared randomness) is no worse than its worst s.
(3) Several releases (`Noise`), each of which may depend on the results y of those before
it: queries, and so shifts, are functions of y, but the bounds on moves and entries hold
for every y.
Let P and Q be the laws of all n results under the two inputs and r_k, D_k those
of release k. Condition on y = (y_1, ..., y_{n-1}):  H_c(P, Q) = sum over y of P(y)
H_{c(y)}(P_n(.|y), Q_n(.|y)) with c(y) = c Q(y)/P(y).  By (1) and (2) for the worst shift,
each term is at most D_n + H_{c(y)}(N(0, 1), N(r_n move_n, 1)).  The sum is D_n + H_c of
the first n - 1 results *and an independent normal* that no longer depends on y.  So
release n - 1 can be replaced in the same way, and after n steps what is left is N(0, I)
against N((r_k move_k)_k, I):

    delta(epsilon) <= Gaussian delta(epsilon) at sensitivity sqrt(sum (r_k move_k)^2) +
    sum D_k.

Any r gives a bound; the least over a grid of r is used.  It tends to the exact Gaussian
value as bits grow, and for small bits r pays for the lighter of the binomial's two tails.
Cost: about `NODES` evaluations of F, then one pass over them per r.
Precision: doubles, not interval arithmetic.  F and the probabilities are good to 1e-11 of
themselves up to 1e9 bits (1e-8 at 1e15), so deltas below about 1e-12 are not certified.
"""

import functools
from typing import NamedTuple

import numpy as np
from scipy.ndimage import maximum_filter1d
from scipy.special import ndtr, ndtri
from scipy.stats import binom

from companion.accounting.privacy import beyond, delta_bound, edge, gaussian_scale
from companion.validate import need_float, need_int, need_positive, need_probability

MOST = 2**52  # more bits are treated as so many: further independent noise cannot harm
NODES = 20_000  # beyond so many values of k, they are treated in blocks
REACH = 12.0  # standard deviations on either side; what lies beyond is counted as lost
GRID = 32  # values of r
# below it the search for bits meets rounding errors, and does not end soon
LEAST_DELTA = 1e-20


def quantiles(bits: int, p: float, largest: int) -> tuple[np.ndarray, np.ndarray, int]:
    """(z, rise, h): z(k) on nodes h apart, and a bound on the rise of z per step between
    them.

    h = 1 where NODES suffice, and `rise` is exact.  Otherwise a step is at most the
    largest probability in its block over the least normal density there; both are
    unimodal, so this is read off the block's ends, and the mode in the block that has it.
    """
    mean = bits * p
    deviation = np.sqrt(bits * p * (1 - p))
    low = max(0, int(mean - REACH * deviation) - largest)
    high = min(bits - 1, int(np.ceil(mean + REACH * deviation)) + largest)
    h = max(1, -((low - high) // NODES))
    k = low + h * np.arange((high - low) // h + 1)
    left = k < mean
    z = np.concatenate(
        [ndtri(binom.cdf(k[left], bits, p)), -ndtri(binom.sf(k[~left], bits, p))]
    )
    # without those whose tail underflows
    k = k[np.isfinite(z)]
    z = z[np.isfinite(z)]
    if h == 1 or len(k) < 2:
        return z, np.diff(z), h
    mass = np.maximum(binom.pmf(k[:-1], bits, p), binom.pmf(k[1:], bits, p))
    mode = int((bits + 1) * p)
    mass[(k[:-1] <= mode) & (mode <= k[1:])] = binom.pmf(mode, bits, p)
    far = np.maximum(np.abs(z[:-1]), np.abs(z[1:]))
    with np.errstate(over="ignore"):  # inf bounds a rise in the farthest tail, too
        return z, mass * np.sqrt(2.0 * np.pi) * np.exp(far * far / 2.0), h


def shortfall(z: np.ndarray, rise: np.ndarray, h: int, r: float, largest: int) -> float:
    """Bound on the first of the two suprema of D(r).

    It is the largest Phi(z) - Phi(z - e) over the nodes, where e bounds
    z(k) - z(k - s) - r s over 1 <= s <= largest.  At h = 1 e is exact, by a running
    maximum.  For blocks it is the sum of the positive parts of rise - r from `largest`
    below to the end of the block, and z is the worst in the block.  A node with nothing
    `largest` below it loses all its F.
    """
    back = -(-largest // h)
    if len(z) < back + 2:
        return 1.0
    if h == 1:
        drop = np.arange(len(z)) * r - z
        # With this origin the filter ends at its own place, so it is read one place
        # earlier.
        before = maximum_filter1d(drop, back, origin=(back - 1) // 2, mode="nearest")
        e = before[back - 1 : -1] - drop[back:]
        at = z[back:]
    else:
        total = np.concatenate([[0.0], np.cumsum(np.maximum(rise - r, 0.0) * h)])
        e = total[back + 1 :] - total[: -back - 1]
        at = np.clip(e / 2.0, z[back:-1], z[back + 1 :])
    e, at = e[e > 0.0], at[e > 0.0]
    return float(np.max(ndtr(at) - ndtr(at - e), initial=ndtr(z[back])))


@functools.lru_cache(maxsize=256)
def trade_offs(
    bits: int,
    p: float,
    entries: int,
    largest: int,
) -> tuple[np.ndarray, np.ndarray]:
    """(r, entries times D(r)) on a grid of r: the largest rise of z within c normal
    deviations of the centre, for c from 0 to 9.
    """
    z, rise, h = quantiles(bits, p, largest)
    if len(z) < 2:
        return np.array([np.inf]), np.array([1.0])
    far = np.minimum(np.abs(z[:-1]), np.abs(z[1:]))
    r = np.unique(
        [rise[far <= max(c, far.min())].max() for c in np.linspace(0.0, 9.0, GRID)]
    )
    mirror = -z[::-1], rise[::-1]
    lost = [
        max(shortfall(*side, h, x, largest) for side in ((z, rise), mirror)) for x in r
    ]
    return r, entries * np.array(lost)


def need_searchable(delta: float) -> float:
    """delta in [`LEAST_DELTA`, 1), for which noise is searched; ValueError on anything
    else."""
    if not need_probability("delta", delta) >= LEAST_DELTA:
        raise ValueError(
            f"delta must be at least {LEAST_DELTA:g} for binomial noise, whose tails "
            f"are hidden by rounding errors below; got delta={delta}"
        )
    return float(delta)


class Noise(NamedTuple):
    """`times` releases with Bin(bits, p) noise on each of `entries` integers.

    move bounds the L2 norm of the change of the query, the integer largest every entry of
    it.
    """

    bits: int
    p: float
    move: float
    entries: int
    largest: int
    times: int = 1


def need_noise(release: Noise) -> Noise:
    """The same `Noise`, checked; raises ValueError by name."""
    return Noise(
        bits=need_int("bits", release.bits, 1),
        p=need_probability("p", release.p),
        move=need_positive("move", release.move),
        entries=need_int("entries", release.entries, 1),
        largest=need_int("largest", release.largest, 1),
        times=need_int("times", release.times, 0),
    )


def frontier(releases) -> tuple[np.ndarray, np.ndarray]:
    """(shift, lost): for every useful choice of one r per `Noise`, sqrt(sum (r_k
    move_k)^2) and the sum of the D_k.  Choices that another beats in both are dropped."""
    squares = np.zeros(1)
    lost = np.zeros(1)
    for release in releases:
        n = need_noise(release)
        r, loss = trade_offs(min(n.bits, MOST), n.p, n.entries, n.largest)
        squares = np.add.outer(squares, n.times * (r * n.move) ** 2).ravel()
        lost = np.add.outer(lost, n.times * loss).ravel()
        order = np.lexsort((lost, squares))
        squares = squares[order]
        lost = lost[order]
        best = np.concatenate([[np.inf], np.minimum.accumulate(lost)[:-1]])
        squares = squares[lost < best]
        lost = lost[lost < best]
    return np.sqrt(squares), lost


def releases_delta(epsilon: float, releases) -> float:
    """Upper bound on delta at epsilon >= 0 of several adaptive releases, a list of
    `Noise`."""
    return frontier_delta(need_float("epsilon", epsilon, 0.0), *frontier(releases))


def frontier_delta(epsilon: float, a: np.ndarray, lost: np.ndarray) -> float:
    """`releases_delta` from what `frontier` returns: shifts a, and what is lost beside
    them."""
    gaussian = np.where(a > 0.0, delta_bound(epsilon, np.where(a > 0.0, a, 1.0)), 0.0)
    # a list without releases loses nothing
    return float(min(1.0, np.min(gaussian + lost)))


def releases_epsilon(delta: float, releases) -> float:
    """Upper bound on epsilon at delta of the same releases; inf where no bound is
    proved."""
    delta = need_probability("delta", delta)
    found = frontier(releases)
    if frontier_delta(0.0, *found) <= delta:
        return 0.0
    high = beyond(lambda e: e > 1e4 or frontier_delta(e, *found) <= delta, 1.0, 2.0)
    if high > 1e4:
        return np.inf

    def enough(epsilon):
        return frontier_delta(epsilon, *found) <= delta

    return edge(enough, high, beyond(lambda e: e < 1e-300 or not enough(e), high, 0.1))


def binomial_epsilon(
    delta: float,
    bits: int,
    p: float,
    move: float,
    entries: int,
    largest: int,
) -> float:
    """Upper bound on epsilon at delta of Bin(bits, p) noise on every entry of a query in
    Z^n, as `Noise` has it; inf where no bound is proved."""
    return releases_epsilon(
        delta,
        [
            Noise(
                bits=bits,
                p=p,
                move=move,
                entries=entries,
                largest=largest,
            )
        ],
    )


def binomial_bits(
    epsilon: float,
    delta: float,
    users: int,
    p: float,
    move: float,
    entries: int,
    largest: int,
) -> tuple[int, float]:
    """(b, epsilon proved): the least b whose Bin(b, p) noise from each of `users` is
    proved to be (epsilon, delta)-DP.

    Least up to a thousandth.  The search starts at the normal approximation; more bits
    always do, down to the deltas that rounding errors hide, where it raises ValueError:
    at once below `LEAST_DELTA`.
    """
    epsilon = need_positive("epsilon", epsilon)
    delta = need_searchable(delta)
    one = need_noise(
        Noise(
            bits=1,
            p=p,
            move=move,
            entries=entries,
            largest=largest,
        )
    )
    return _bits(epsilon, delta, need_int("users", users, 1), one)


@functools.lru_cache(maxsize=256)
def _bits(epsilon, delta, users, one):
    """`binomial_bits` of checked arguments: policies ask for the same budgets again."""

    def suffices(b):
        return releases_delta(epsilon, [one._replace(bits=b * users)]) <= delta

    normal = gaussian_scale(epsilon, delta, one.move)
    wanted = np.ceil(normal**2 / (users * one.p * (1 - one.p)))
    if not max(wanted, 1.0) * users <= MOST:
        raise ValueError(
            f"users, epsilon, delta, p and move need more than {MOST} bits; got "
            f"{users=}, {epsilon=}, {delta=}, p={one.p}, move={one.move}"
        )
    low = 0
    high = max(1, int(wanted))
    step = max(1, high // 100)
    while not suffices(high):
        low = high
        high = high + step
        step = 2 * step
        if high * users > MOST:
            raise ValueError(
                f"delta is too small, or largest too large, for doubles; got {delta=}, "
                f"largest={one.largest}"
            )
    while high - low > max(1, high // 1000):
        middle = (low + high) // 2
        low, high = (low, middle) if suffices(middle) else (middle, high)
    return high, releases_epsilon(delta, [one._replace(bits=high * users)])
