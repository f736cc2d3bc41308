"""The noise of one user's message, and the sum of n such noises drawn at once.

Two matrix noises.  The paper's is one-sided, W - (d+1)c I with W ~ Wishart_d(d+1, cI); its support
moves with the data, so it is not differentially private.  The repair is the difference of two
independent Wishart matrices.
Sums: n Laplace variables are the difference of two Gamma(n) variables; n Wishart matrices with d+1
degrees of freedom are one with n(d+1), drawn by Bartlett's decomposition.  Message level and sums
are compared in law by tests.
Numerical limit: differences of Gamma(n) lose 1e-16 n absolutely, 1e-7 of a standard deviation at n
= 1e18.
Source: Algorithm 3 (LPLR-UPDATE), lines 3 to 5; Bartlett (1933).
"""

import numpy as np

from companion._jit import jit
from companion.mechanisms import add_wishart, laplace


@jit
def laplace_sum(rng, n, scale):
    """Sum of n independent Laplace variables of this scale."""
    if n == 1:
        return laplace(rng, scale)
    return scale * (rng.standard_gamma(float(n)) - rng.standard_gamma(float(n)))


@jit
def add_matrix_noise(rng, n, scale, one_sided, factor, root, out):
    """out (d, d) <- out + factor times the sum of the matrix noises of n users; root (d, d) is
    overwritten.

    scale is c of Wishart_d(d+1, cI); factor is gamma^(-2k), which fits the noise to the bin.
    """
    d = out.shape[0]
    degrees = float(n) * (d + 1)
    add_wishart(rng, degrees, scale * factor, root, out)
    if one_sided:
        for i in range(d):
            out[i, i] -= scale * factor * degrees
    else:
        add_wishart(rng, degrees, -scale * factor, root, out)


@jit
def multinomial(rng, n, prob, out):
    """out (K,) <- how many of n users fall on each of K points with chances prob; the rest of them
    fall on none.

    The chance of none, 1 - sum(prob), is taken for 0 where it can be rounding.
    """
    total, tail = 0.0, np.empty(prob.shape[0])  # tail: chance of a point or a later one, or of none
    for j in range(prob.shape[0]):
        total += prob[j]
    rest = 1.0 - total if 1.0 - total >= 1e-12 else 0.0
    for j in range(prob.shape[0] - 1, -1, -1):
        rest += prob[j]
        tail[j] = rest
    left = n
    for j in range(prob.shape[0]):
        out[j] = 0
        if left > 0 and prob[j] > 0.0:
            share = prob[j] / tail[j]
            out[j] = left if share >= 1.0 else rng.binomial(left, share)
            left -= out[j]


@jit
def sign_sum(rng, n, mean):
    """Sum of n labels that are +1 or -1 with this mean."""
    if n <= 0:
        return 0.0
    chance = min(max(0.5 + 0.5 * mean, 0.0), 1.0)
    return 2.0 * float(rng.binomial(n, chance)) - float(n)
