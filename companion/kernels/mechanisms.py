"""Samplers that every private algorithm draws from.

They are exact in law up to floating point and meant for research simulation: nothing here protects
against floating-point or timing attacks.  Every function is a kernel; the noise comes from a
`numpy.random.Generator`.
Source: Dwork and Roth (2014), sections 3.3 and A; Cheu, Joseph, Mao and Peng (2021), the shuffled
vector sum; Bassily, Guzman and Nandi (2021), the generalized Gaussian; Bartlett (1933), the Wishart
matrix.
"""

import math
from typing import Any

import numpy as np

from companion._borrowed import lean
from companion._types import Array, Rng


@lean
def laplace(rng: Rng, scale: Any) -> float:
    """One draw with density exp(-|z|/scale) / (2 scale)."""
    return scale * (rng.standard_exponential() - rng.standard_exponential())


@lean
def add_laplace(rng: Rng, scale: float, out: Array) -> None:
    """out <- out + independent Laplace(scale) noise."""
    for i in range(out.shape[0]):
        out[i] += laplace(rng, scale)


@lean
def gumbel(rng: Rng, scale: float) -> float:
    """One draw with distribution function exp(-exp(-z/scale)); the noisy maximum with this noise is
    the exponential mechanism.
    """
    return -scale * math.log(rng.standard_exponential())


@lean
def generalized_gaussian(rng: Rng, exponent: float, sigma: float, out: Array) -> None:
    """out (d,) <- one draw with density proportional to exp(-||z||^2 / (2 sigma^2)), in the norm of
    l_exponent, exponent > 0.

    In polar form: u with |u_i|^exponent ~ Gamma(1/exponent) and fair signs has the direction (the
    cone measure of the unit sphere), and ||z||^2 ~ Gamma(d/2, scale 2 sigma^2) is independent of
    it.  Exponent 2 is N(0, sigma^2 I), drawn as such.
    """
    d = out.shape[0]
    if exponent == 2.0:
        for i in range(d):
            out[i] = sigma * rng.standard_normal()
        return
    total = 0.0
    for i in range(d):
        w = rng.standard_gamma(1.0 / exponent)
        total += w
        size = math.pow(w, 1.0 / exponent)
        out[i] = size if rng.random() < 0.5 else -size
    radius = sigma * math.sqrt(2.0 * rng.standard_gamma(0.5 * d))
    factor = radius / math.pow(total, 1.0 / exponent)
    for i in range(d):
        out[i] *= factor


@lean
def add_gaussian(rng: Rng, sigma: float, out: Array) -> None:
    """out <- out + N(0, sigma^2 I)."""
    for i in range(out.shape[0]):
        out[i] += sigma * rng.standard_normal()


@lean
def add_symmetric_gaussian(rng: Rng, sigma: float, out: Array) -> None:
    """out (d, d) <- out + symmetric noise, N(0, sigma^2) in every Frobenius direction.

    The diagonal has standard deviation sigma.  An off-diagonal entry stands twice in the norm, so
    it has sigma/sqrt2.
    """
    for i in range(out.shape[0]):
        out[i, i] += sigma * rng.standard_normal()
        for j in range(i):
            z = sigma * np.sqrt(0.5) * rng.standard_normal()
            out[i, j] += z
            out[j, i] += z


@lean
def add_wishart(rng: Rng, degrees: float, scale: float, root: Array, out: Array) -> None:
    """out (d, d) <- out + scale times a Wishart_d(degrees, I) matrix; degrees real >= d; root (d,
    d) is overwritten.

    A negative scale subtracts.
    """
    d = out.shape[0]
    for i in range(d):
        for j in range(i):
            root[i, j] = rng.standard_normal()
        root[i, i] = math.sqrt(
            2.0 * rng.standard_gamma(0.5 * (degrees - i))
        )  # chi-square, degrees - i
    for i in range(d):
        for j in range(i + 1):
            total = 0.0
            for k in range(j + 1):
                total += root[i, k] * root[j, k]
            out[i, j] += scale * total
            if j < i:
                out[j, i] += scale * total


# A symmetric matrix as a vector: its lower triangle, row by row.  With entries off the diagonal
# times sqrt2 (and times sqrt(1/2) on the way back) the vector's norm is the Frobenius norm.


@lean
def add_packed(c: Any, off: float, x: Array, out: Array) -> None:
    """out <- out + c x x', packed; entries off the diagonal times `off`."""
    n = 0
    for i in range(x.shape[0]):
        for j in range(i):
            out[n] += c * off * x[i] * x[j]
            n += 1
        out[n] += c * x[i] * x[i]
        n += 1


@lean
def unpack(c: float, off: float, packed: Array, G: Array) -> None:
    """G (d, d) <- G + c times the symmetric matrix that is packed; entries off the diagonal times
    `off`."""
    n = 0
    for i in range(G.shape[0]):
        for j in range(i):
            G[i, j] += c * off * packed[n]
            G[j, i] = G[i, j]
            n += 1
        G[i, i] += c * packed[n]
        n += 1


@lean
def statistics_size(d: int) -> int:
    """Length of (x x', x y) as one vector: d(d+1)/2 + d."""
    return d * (d + 1) // 2 + d


@lean
def pack_statistics(x: Array, y: float, out: Array) -> None:
    """out <- the vector with the joint norm of (x x', x y): x_i^2 and sqrt2 x_i x_j, then x_i y."""
    d = x.shape[0]
    out[:] = 0.0
    add_packed(1.0, math.sqrt(2.0), x, out)
    for i in range(d):
        out[out.shape[0] - d + i] = x[i] * y


@lean
def add_unpacked(c: float, packed: Array, G: Array, b: Array) -> None:
    """G (d, d) <- G + c times the matrix part of packed, b (d,) <- b + c times its vector part."""
    d = b.shape[0]
    unpack(c, math.sqrt(0.5), packed, G)
    for i in range(d):
        b[i] += c * packed[packed.shape[0] - d + i]


@lean
def clip_to_ball(x: Array, y: float, out: Array) -> tuple[float, int]:
    """out <- x scaled into the unit ball; (y in [-1, 1], 1 if anything was clipped else 0)."""
    s = 0.0
    for i in range(x.shape[0]):
        s += x[i] * x[i]
    c = 1.0 if s <= 1.0 + 1e-9 else 1.0 / np.sqrt(s)
    for i in range(x.shape[0]):
        out[i] = c * x[i]
    z = min(max(y, -1.0), 1.0)
    return z, (1 if c != 1.0 or z != y else 0)


@lean
def clip_to_offset_sphere(x: Array, y: float, out: Array) -> tuple[float, int]:
    """out <- (u, 1/sqrt2), ||u|| <= 1/sqrt2; (y in [0, 1], 1 if anything was clipped else 0)."""
    d = x.shape[0]
    s = 0.0
    for i in range(d - 1):
        s += x[i] * x[i]
    c = 1.0 if s <= 0.5 + 1e-9 else np.sqrt(0.5 / s)
    for i in range(d - 1):
        out[i] = c * x[i]
    out[d - 1] = np.sqrt(0.5)
    z = min(max(y, 0.0), 1.0)
    return z, (1 if c != 1.0 or z != y or abs(x[d - 1] - out[d - 1]) > 1e-9 else 0)


@lean
def clip_record(offset: bool, x: Array, y: float, out: Array) -> tuple[float, int]:
    """Clip one user's (x, y) into a universe of `privacy.UNIVERSES`: offset sphere or ball."""
    if offset:
        return clip_to_offset_sphere(x, y, out)
    return clip_to_ball(x, y, out)


# The shuffled vector sum.  A user holds v in [-L, L]^n.  Entry i is shifted to [0, 2L], scaled by
# g/L, rounded at random to an integer without bias, and sent as that many ones, hidden among
# Bin(b, p) further ones.  A shuffler mixes the bits of a batch of B users, so the analyser sees
# nothing but their number, entry by entry.


@lean
def round_at_random(rng: Rng, w: float) -> int:
    """An integer with mean w >= 0: floor(w), or one more with the probability of the remainder."""
    low = np.floor(w)
    return int(low) + (1 if rng.random() < w - low else 0)


@lean
def shuffle_messages(rng: Rng, v: Array, L: float, g: float, b: int, p: float, out: Array) -> None:
    """Message level: out (n, 2g' + b) <- the bits that one user sends for each entry of v.

    g' = ceil(g); entries of out are 0 or 1.  The first 2g' columns carry the value, the last b the
    noise.
    """
    top = out.shape[1] - b
    for i in range(v.shape[0]):
        k = round_at_random(rng, (v[i] + L) * g / L)
        for j in range(top):
            out[i, j] = 1 if j < k else 0
        for j in range(b):
            out[i, top + j] = 1 if rng.random() < p else 0


@lean
def shuffle_add(rng: Rng, v: Array, L: float, g: float, counts: Array) -> None:
    """Aggregated law, one user: counts (n,) += rounded values; the noise comes with the batch."""
    for i in range(v.shape[0]):
        counts[i] += round_at_random(rng, (v[i] + L) * g / L)


@lean
def shuffle_analyse(
    rng: Rng, counts: Array, B: int, L: float, g: float, b: int, p: float, out: Array
) -> None:
    """Aggregated law, one batch: out <- estimate of the sum of B users' vectors from counts.

    B independent Bin(b, p) sum to one Bin(bB, p), so this has exactly the law of counting the
    messages.
    """
    for i in range(counts.shape[0]):
        noise = rng.binomial(b * B, p) - p * b * B
        out[i] = L / g * (counts[i] + noise) - B * L
