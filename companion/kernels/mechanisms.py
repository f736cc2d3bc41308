"""Samplers that private algorithms draw from.

They are exact in law up to floating point and meant for research simulation: nothing here
protects against floating-point or timing attacks.  Every function is a kernel; the noise
comes from a `numpy.random.Generator`.  Sections: noise; symmetric matrices as vectors;
clipping; the shuffled vector sum; private selection; peeling.
Source: Dwork and Roth (2014), sections 3.3, 3.4 and A, Claim 3.9 (report noisy max);
McSherry and Talwar (2007); Dwork, Su and Zhang (2021), peeling; Cheu, Joseph, Mao and
Peng (2021), the shuffled vector sum; Bassily, Guzman and Nandi (2021), the generalized
Gaussian; Bartlett (1933), the Wishart matrix.
"""

import math

import numpy as np

from companion.jit import jit
from companion.kernels.geometry import admit


@jit
def random_integer(rng, n):
    """A uniform integer in 0, ..., n - 1."""
    return int(rng.integers(0, n))


@jit
def laplace(rng, scale):
    """One draw with density exp(-|z|/scale) / (2 scale)."""
    return scale * (rng.standard_exponential() - rng.standard_exponential())


@jit
def add_laplace(rng, scale, out):
    """out <- out + independent Laplace(scale) noise."""
    for i in range(out.shape[0]):
        out[i] += laplace(rng, scale)


@jit
def gumbel(rng, scale):
    """One draw with distribution function exp(-exp(-z/scale)); the noisy maximum with
    this noise is the exponential mechanism.
    """
    return -scale * math.log(rng.standard_exponential())


@jit
def generalized_gaussian(rng, exponent, sigma, out):
    """out (d,) <- one draw with density proportional to exp(-||z||^2 / (2 sigma^2)), in
    the norm of l_exponent, exponent > 0.

    In polar form: u with |u_i|^exponent ~ Gamma(1/exponent) and fair signs has the
    direction (the cone measure of the unit sphere), and ||z||^2 ~ Gamma(d/2, scale 2
    sigma^2) is independent of it.  Exponent 2 is N(0, sigma^2 I), drawn as such.
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


@jit
def add_gaussian(rng, sigma, out):
    """out <- out + N(0, sigma^2 I)."""
    for i in range(out.shape[0]):
        out[i] += sigma * rng.standard_normal()


@jit
def add_symmetric_gaussian(rng, sigma, out):
    """out (d, d) <- out + symmetric noise, N(0, sigma^2) in every Frobenius direction.

    The diagonal has standard deviation sigma.  An off-diagonal entry stands twice in the
    norm, so it has sigma/sqrt2.
    """
    for i in range(out.shape[0]):
        out[i, i] += sigma * rng.standard_normal()
        for j in range(i):
            z = sigma * np.sqrt(0.5) * rng.standard_normal()
            out[i, j] += z
            out[j, i] += z


@jit
def add_wishart(rng, degrees, scale, root, out):
    """out (d, d) <- out + scale times a Wishart_d(degrees, I) matrix; degrees real >= d;
    root (d, d) is overwritten.

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


# A symmetric matrix as a vector: its lower triangle, row by row.  With entries off the
# diagonal times sqrt2 (and times sqrt(1/2) on the way back) the vector's norm is the
# Frobenius norm.


@jit
def add_packed(c, off, x, out):
    """out <- out + c x x', packed; entries off the diagonal times `off`."""
    n = 0
    for i in range(x.shape[0]):
        for j in range(i):
            out[n] += c * off * x[i] * x[j]
            n += 1
        out[n] += c * x[i] * x[i]
        n += 1


@jit
def unpack(c, off, packed, G):
    """G (d, d) <- G + c times the symmetric matrix that is packed; entries off the
    diagonal times `off`."""
    n = 0
    for i in range(G.shape[0]):
        for j in range(i):
            G[i, j] += c * off * packed[n]
            G[j, i] = G[i, j]
            n += 1
        G[i, i] += c * packed[n]
        n += 1


@jit
def statistics_size(d):
    """Length of (x x', x y) as one vector: d(d+1)/2 + d."""
    return d * (d + 1) // 2 + d


@jit
def pack_statistics(x, y, out):
    """out <- the vector with the joint norm of (x x', x y): the lower triangle of x x'
    row by row, with sqrt2 off the diagonal, then x y."""
    d = x.shape[0]
    out[:] = 0.0
    add_packed(1.0, math.sqrt(2.0), x, out)
    for i in range(d):
        out[out.shape[0] - d + i] = x[i] * y


@jit
def add_unpacked(c, packed, G, b):
    """G (d, d) <- G + c times the matrix part of packed, b (d,) <- b + c times its vector
    part."""
    d = b.shape[0]
    unpack(c, math.sqrt(0.5), packed, G)
    for i in range(d):
        b[i] += c * packed[packed.shape[0] - d + i]


@jit
def clip_to_ball(x, y, out):
    """out <- x scaled into the unit ball; (y in [-1, 1], 1 if anything was clipped else
    0)."""
    return admit(x, y, 2.0, -1.0, 1.0, out)


@jit
def clip_record(offset, x, y, out):
    """Clip one user's (x, y) into a universe of `privacy.UNIVERSES`: the ball, as
    `clip_to_ball` does, or, if offset, out <- (u, 1/sqrt2), ||u|| <= 1/sqrt2, and y in
    [0, 1]."""
    if not offset:
        return clip_to_ball(x, y, out)
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


# The shuffled vector sum.  A user holds v in [-L, L]^n.  Entry i is shifted to [0, 2L],
# scaled by g/L, rounded at random to an integer without bias, and sent as that many ones,
# hidden among Bin(b, p) further ones.  A shuffler mixes the bits of a batch of B users,
# so the analyser sees nothing but their number, entry by entry.


@jit
def round_at_random(rng, w):
    """An integer with mean w >= 0: floor(w), or one more with the probability of the
    remainder."""
    low = np.floor(w)
    return int(low) + (1 if rng.random() < w - low else 0)


@jit
def shuffle_add(rng, v, L, g, counts):
    """One user: v (n,) is moved to [0, 2 g], rounded at random to whole numbers, and
    added to counts (n,); the noise is drawn once a batch, by `shuffle_analyse`."""
    for i in range(v.shape[0]):
        counts[i] += round_at_random(rng, (v[i] + L) * g / L)


@jit
def shuffle_analyse(rng, counts, users, L, g, bits, chance, out):
    """One batch: out <- estimate of the sum of its users' vectors from counts.

    As many independent Bin(bits, chance) sum to one Bin(users bits, chance), so this has
    exactly the law of counting the messages.
    """
    for i in range(counts.shape[0]):
        noise = rng.binomial(bits * users, chance) - chance * bits * users
        out[i] = L / g * (counts[i] + noise) - users * L


# Private selection: which score is largest, and nothing else.  A record moves every score
# by at most s.  `noisy_max` with Laplace noise 2 s/epsilon and `exponential_mechanism`
# with scale 2 s/epsilon each choose with epsilon-DP; where all scores move the same way,
# half of either scale is enough.


@jit
def noisy_largest(rng, scores, scale, extreme):
    """Index of the largest of scores (n,) with independent noise: Gumbel if extreme, else
    Laplace.

    The first one wins ties.
    """
    best = -np.inf
    at = 0
    for i in range(scores.shape[0]):
        z = scores[i] + (gumbel(rng, scale) if extreme else laplace(rng, scale))
        if z > best:
            best = z
            at = i
    return at


@jit
def noisy_max(rng, scores, scale):
    """Report noisy max: index of the largest of scores (n,) with Laplace(scale) noise."""
    return noisy_largest(rng, scores, scale, False)


@jit
def exponential_mechanism(rng, scores, scale):
    """Index i of scores (n,) with probability proportional to exp(scores[i]/scale), scale
    > 0.

    Of n Gumbel variables with these locations, the i-th is the largest with just that
    probability.
    """
    return noisy_largest(rng, scores, scale, True)


# Of x_0, -x_0, x_1, -x_1, ... the noisily largest, for top = max |x_j|.  A place is 2 j
# for x_j and 2 j + 1 for -x_j.


@jit
def at_place(x, place):
    """x_j for place = 2 j, -x_j for place = 2 j + 1."""
    return x[place >> 1] if place & 1 == 0 else -x[place >> 1]


@jit
def signed_exponential(rng, x, scale, top):
    """Place of `exponential_mechanism` among the x_j and -x_j, for top = max |x_j|, by
    rejection.

    A place that is drawn at random and kept with chance exp((score - top)/scale) has that
    law.  One that is kept comes soon unless a few scores stand out; after d refusals
    every score gets its Gumbel noise, and the largest has the same law.
    """
    places = 2 * x.shape[0]
    for _ in range(x.shape[0]):
        place = random_integer(rng, places)
        if scale * rng.standard_exponential() >= top - at_place(x, place):
            return place
    best = -np.inf
    at = 0
    for place in range(places):
        z = at_place(x, place) + gumbel(rng, scale)
        if z > best:
            best = z
            at = place
    return at


@jit
def signed_noisy_max(rng, x, scale, top):
    """Place of `noisy_max` among the x_j and -x_j, for top = max |x_j|, with few draws.

    A score s with Laplace noise exceeds a value `best` >= s with chance exp((s -
    best)/scale)/2, and then by an exponential excess.  So as soon as the best value so
    far is at least top, the next candidate is found by one geometric draw, with the
    chance of s = top, and kept with chance exp((s - top)/scale).
    """
    places = 2 * x.shape[0]
    best = -np.inf
    at = 0
    place = 0
    while place < places:
        if best < top:
            z = at_place(x, place) + laplace(rng, scale)
            if z > best:
                best = z
                at = place
        else:
            rate = -math.log1p(-0.5 * math.exp((top - best) / scale))
            place += int(min(rng.standard_exponential() / rate, places))
            if place < places and (
                scale * rng.standard_exponential() >= top - at_place(x, place)
            ):
                best = best + scale * rng.standard_exponential()
                at = place
        place += 1
    return at


@jit
def peel(rng, v, sparsity, xi, out, picks, taken):
    """FLIPHAT, Algorithm 3: out (d,) <- the noisily largest entries of v, `sparsity`
    many, with noise; picks <- where, in the order picked.

    Laplace(xi) noise; xi = 0 is the exact top.  The lowest index wins ties.  taken (d,)
    is overwritten.
    """
    for j in range(v.shape[0]):
        out[j] = 0.0
        taken[j] = False
    for i in range(sparsity):  # line 2
        best = -np.inf
        at = 0
        for j in range(v.shape[0]):
            if not taken[j]:
                z = abs(v[j])
                if xi > 0.0:
                    z += laplace(rng, xi)  # lines 3, 4: fresh noise for every pick
                if z > best:
                    best = z
                    at = j
        taken[at] = True  # line 5
        picks[i] = at
    # lines 7-9; noise off the picks is never seen, so it is not drawn
    for i in range(sparsity):
        out[picks[i]] = v[picks[i]]
        if xi > 0.0:
            out[picks[i]] += laplace(rng, xi)
