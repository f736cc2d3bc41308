"""Private selection: which score is largest, which entries are, and nothing else.

A record moves every score by at most s.  `noisy_max` with Laplace noise 2 s/epsilon and
`exponential_mechanism` with scale 2 s/epsilon each choose with epsilon-DP; where all scores move
the same way, half of either scale is enough.  `peel` chooses again and again, and shows the values.
Source: Dwork and Roth (2014), Claim 3.9 (report noisy max) and section 3.4 (exponential mechanism);
McSherry and Talwar (2007); Dwork, Su and Zhang (2021), peeling.
Cost: one draw per score; peeling k picks of n entries k n draws.
"""

import numpy as np

from companion._jit import jit
from companion._types import Array, Bools, Ints, Rng
from companion.kernels.mechanisms import gumbel, laplace


@jit
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


@jit
def noisy_max(rng: Rng, scores: Array, scale: float) -> int:
    """Report noisy max: index of the largest of scores (n,) with Laplace(scale) noise."""
    return noisy_largest(rng, scores, scale, False)


@jit
def exponential_mechanism(rng: Rng, scores: Array, scale: float) -> int:
    """Index i of scores (n,) with probability proportional to exp(scores[i]/scale), scale > 0.

    Of n Gumbel variables with these locations, the i-th is the largest with just that probability.
    """
    return noisy_largest(rng, scores, scale, True)


@jit
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
