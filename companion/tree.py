"""Continual sums: the binary tree, O(log T) memory, and the square-root factorisation, less noise.

After round t (counted from 1) the prefix 1..t splits into dyadic blocks, one per one-bit of t.
Every block carries its own Gaussian noise, drawn when the block is completed and kept until it
merges into a larger one.  The released prefix sum is the exact sum plus the noise of its live
blocks.  A round lies in at most `privacy.tree_levels(T)` blocks over the whole run, so with an
input of L2 sensitivity Delta the sequence of all node sums has sensitivity Delta sqrt(levels).
The square root releases B (B x + z) with B B = prefix sums: the noise of prefix t is (B z)_t, and
sigma is for the sensitivity Delta times the norm of B's first column, the longest.
Source: Dwork, Naor, Pitassi and Rothblum (2010); Chan, Shi and Song (2011); the square root:
Fichtenberger, Henzinger and Upadhyay (2023).
Cost: tree: O(1) nodes are drawn per round, O(log T) numbers per coordinate are kept; square root:
the whole path at once, O(T log T) time and T numbers per coordinate.
"""

import numpy as np
from scipy import fft

from companion._jit import jit


@jit
def trailing_zeros(t):
    """Number of trailing zero bits of t >= 1: the level of the block that round t completes."""
    q = 0
    while t & 1 == 0:
        t >>= 1
        q += 1
    return q


@jit
def advance(nodes, t, sigma, rng):
    """Complete round t >= 1: nodes (levels, n) <- noise of the live blocks of 1..t.

    Row q is the block of 2^q rounds.  Blocks below the new one merge into it, so their noise is
    discarded (set to 0).  Rows of absent blocks are 0.
    """
    q = trailing_zeros(t)
    for i in range(nodes.shape[1]):
        for level in range(q):
            nodes[level, i] = 0.0
        nodes[q, i] = sigma * rng.standard_normal()


@jit
def noise(nodes, out):
    """out (n,) <- the noise of the released prefix sum: exactly the sum over the live blocks."""
    for i in range(nodes.shape[1]):
        s = 0.0
        for level in range(nodes.shape[0]):
            s += nodes[level, i]
        out[i] = s


@jit
def extended(t):
    """Level of the block before the one that round t >= 1 completes, or -1 if there is none.

    The prefix 1..t is the prefix of the rounds before that block, whose own last block has this
    level, and the block.  So with row q of an array the noise of the *whole* prefix that ended with
    the last block of level q, the noise of prefix t is one fresh draw plus one row: O(n) per round
    where `advance` and `noise` take O(n log T).
    """
    rest = t & (t - 1)  # t without its lowest one-bit
    return -1 if rest == 0 else trailing_zeros(rest)


def root_coefficients(n):
    """(n,) Taylor coefficients f_k = f_(k-1) (2k - 1)/(2k) of (1 - x)^(-1/2): f * f = 1, 1, ..."""
    k = np.arange(1, n)
    return np.cumprod(np.concatenate([[1.0], (2 * k - 1) / (2 * k)]))


def root_noise(n, d, sigma, rng):
    """(n, d) noise B z of all prefix sums: z ~ N(0, sigma^2 I), B lower triangular, B B = sums."""
    size = fft.next_fast_len(2 * n, real=True)
    f = fft.rfft(root_coefficients(n), size)[:, None]
    z = sigma * rng.standard_normal((n, d))
    return np.ascontiguousarray(fft.irfft(f * fft.rfft(z, size, axis=0), size, axis=0)[:n])
