"""Private selection: which score is largest, which entries are, and nothing else.

A record moves every score by at most s.  `noisy_max` with Laplace noise 2 s/epsilon and
`exponential_mechanism` with scale 2 s/epsilon each choose with epsilon-DP; where all scores move
the same way, half of either scale is enough.  `peel` chooses again and again, and shows the values.
Source: Dwork and Roth (2014), Claim 3.9 (report noisy max) and section 3.4 (exponential mechanism);
McSherry and Talwar (2007); Dwork, Su and Zhang (2021), peeling.
Cost: one draw per score; peeling k picks of n entries k n draws.  Of scores and their opposites,
while noise hides which is largest, O(1) draws ("exponential") and O(log n) ("noisy max").
"""

import math

import numpy as np

from companion._borrowed import lean
from companion._types import Array, Bools, Ints, Rng
from companion.kernels.mechanisms import gumbel, laplace
from companion.kernels.whole import below


@lean
def noisy_largest(rng: Rng, scores: Array, scale: float, extreme: bool) -> int:
    """Index of the largest of scores (n,) with independent noise: Gumbel if extreme, else Laplace.

    The first one wins ties.
    """
    best, at = -np.inf, 0
    for i in range(scores.shape[0]):
        z = scores[i] + (gumbel(rng, scale) if extreme else laplace(rng, scale))
        if z > best:
            best, at = z, i
    return at


@lean
def noisy_max(rng: Rng, scores: Array, scale: float) -> int:
    """Report noisy max: index of the largest of scores (n,) with Laplace(scale) noise."""
    return noisy_largest(rng, scores, scale, False)


@lean
def exponential_mechanism(rng: Rng, scores: Array, scale: float) -> int:
    """Index i of scores (n,) with probability proportional to exp(scores[i]/scale), scale > 0.

    Of n Gumbel variables with these locations, the i-th is the largest with just that probability.
    """
    return noisy_largest(rng, scores, scale, True)


# Of x_0, -x_0, x_1, -x_1, ... the noisily largest, for top = max |x_j|.  A place is 2 j for x_j and
# 2 j + 1 for -x_j.


@lean
def at_place(x: Array, place: int) -> float:
    """x_j for place = 2 j, -x_j for place = 2 j + 1."""
    return x[place >> 1] if place & 1 == 0 else -x[place >> 1]


@lean
def signed_exponential(rng: Rng, x: Array, scale: float, top: float) -> int:
    """Place of `exponential_mechanism` among the x_j and -x_j, for top = max |x_j|, by rejection.

    A place that is drawn at random and kept with chance exp((score - top)/scale) has that law.  One
    that is kept comes soon unless a few scores stand out; after d refusals every score gets its
    Gumbel noise, and the largest has the same law.
    """
    places = 2 * x.shape[0]
    for _ in range(x.shape[0]):
        place = below(rng, places)
        if scale * rng.standard_exponential() >= top - at_place(x, place):
            return place
    best, at = -np.inf, 0
    for place in range(places):
        z = at_place(x, place) + gumbel(rng, scale)
        if z > best:
            best, at = z, place
    return at


@lean
def signed_noisy_max(rng: Rng, x: Array, scale: float, top: float) -> int:
    """Place of `noisy_max` among the x_j and -x_j, for top = max |x_j|, with few draws.

    A score s with Laplace noise exceeds a value `best` >= s with chance exp((s - best)/scale)/2,
    and then by an exponential excess.  So as soon as the best value so far is at least top, the
    next candidate is found by one geometric draw, with the chance of s = top, and kept with chance
    exp((s - top)/scale).
    """
    places, best, at, place = 2 * x.shape[0], -np.inf, 0, 0
    while place < places:
        if best < top:
            z = at_place(x, place) + laplace(rng, scale)
            if z > best:
                best, at = z, place
        else:
            rate = -math.log1p(-0.5 * math.exp((top - best) / scale))
            place += int(min(rng.standard_exponential() / rate, places))
            if place < places and (scale * rng.standard_exponential() >= top - at_place(x, place)):
                best, at = best + scale * rng.standard_exponential(), place
        place += 1
    return at


@lean
def peel(
    rng: Rng, v: Array, sparsity: int, xi: float, out: Array, picks: Ints, taken: Bools
) -> None:
    """FLIPHAT, Algorithm 3: out (d,) <- the noisily largest entries of v, `sparsity` many, with
    noise; picks <- where, in the order picked.

    Laplace(xi) noise; xi = 0 is the exact top.  The lowest index wins ties.  taken (d,) is
    overwritten.
    """
    for j in range(v.shape[0]):
        out[j] = 0.0
        taken[j] = False
    for i in range(sparsity):  # line 2
        best, at = -np.inf, 0
        for j in range(v.shape[0]):
            if not taken[j]:
                z = abs(v[j])
                if xi > 0.0:
                    z += laplace(rng, xi)  # lines 3, 4: fresh noise for every pick
                if z > best:
                    best, at = z, j
        taken[at] = True  # line 5
        picks[i] = at
    for i in range(sparsity):  # lines 7-9; noise off the picks is never seen, so it is not drawn
        out[picks[i]] = v[picks[i]]
        if xi > 0.0:
            out[picks[i]] += laplace(rng, xi)
