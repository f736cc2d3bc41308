"""Continual sums: the binary tree, O(log T) memory, and the square-root factorisation,
less noise.

After round t (counted from 1) the prefix 1..t splits into dyadic blocks, one per one-bit
of t. Every block carries its own noise, drawn when the block is completed and kept until
it merges into a larger one.  The released prefix sum is the exact sum plus the noise of
its live blocks.  Row q keeps the noise of the *whole* prefix that ended with the live
block of 2^q rounds, so the noise of a new prefix is one fresh draw plus one row.  A round
lies in at most `privacy.tree_levels(T)` blocks over the whole run, so with an input of L2
sensitivity Delta the sequence of all node sums has sensitivity Delta sqrt(levels).
The square root releases B (B x + z) with B B = prefix sums: the noise of prefix t is (B
z)_t, and sigma is for the sensitivity Delta times the norm of B's first column, the
longest.
Source: Dwork, Naor, Pitassi and Rothblum (2010); Chan, Shi and Song (2011); the square
root: Fichtenberger, Henzinger and Upadhyay (2023).
"""

import numpy as np
from scipy import fft

from companion.jit import inlined, jit


@jit
def trailing_zeros(t):
    """Number of trailing zero bits of t >= 1: the level of the block that round t
    completes."""
    q = 0
    while t & 1 == 0:
        t >>= 1
        q += 1
    return q


@inlined
def complete(rows, t):
    """Complete round t >= 1, whose new block's own noise stands in row q =
    trailing_zeros(t) of rows (levels, n): row q <- the noise of prefix 1..t.

    The rounds before that block are a prefix, too: that of t without its lowest one-bit.
    Blocks below the new one merge into it; their rows are set to 0, because the noise of
    a later block is added to its row.
    """
    q = trailing_zeros(t)
    rest = t & (t - 1)
    if rest > 0:
        before = trailing_zeros(rest)
        for i in range(rows.shape[1]):
            rows[q, i] += rows[before, i]
    for level in range(q):
        for i in range(rows.shape[1]):
            rows[level, i] = 0.0


@jit
def advance(rows, t, sigma, rng):
    """Row of rows (levels, n) with the noise of prefix 1..t, after N(0, sigma^2) for the
    block that round t >= 1 completes."""
    q = trailing_zeros(t)
    for i in range(rows.shape[1]):
        rows[q, i] = sigma * rng.standard_normal()
    complete(rows, t)
    return q


def root_coefficients(n):
    """(n,) Taylor coefficients f_k = f_(k-1) (2k - 1)/(2k) of (1 - x)^(-1/2): f * f = 1,
    1, ..."""
    k = np.arange(1, n)
    return np.cumprod(np.concatenate([[1.0], (2 * k - 1) / (2 * k)]))


def root_noise(n, d, sigma, rng):
    """(n, d) noise B z of all prefix sums: z ~ N(0, sigma^2 I), B lower triangular, B B =
    sums."""
    size = fft.next_fast_len(2 * n, real=True)
    f = fft.rfft(root_coefficients(n), size)[:, None]
    z = sigma * rng.standard_normal((n, d))
    return np.ascontiguousarray(
        fft.irfft(f * fft.rfft(z, size, axis=0), size, axis=0)[:n]
    )
