"""A matrix sum released after every round: binary tree, ridge, and a floor under its eigenvalues.

A leaf c x x' is packed with off-diagonal entries times sqrt2, so that Euclidean noise on the packed
vector is symmetric noise that is isotropic in Frobenius norm: (Z + Z')/2 for Z with independent
entries (Section J.3 of the paper; its Appendix Q prints the same with /sqrt2, twice the variance).
"""

import math
from typing import NamedTuple

import numpy as np

from companion import tree
from companion._jit import jit
from companion.eigen import jacobi
from companion.linalg import cholesky, inverse


class Continual(NamedTuple):
    """One continual release; `exact` is secret, everything else is what others may see."""

    nodes: np.ndarray  # (levels, n) noise of the live blocks
    exact: np.ndarray  # (n,) packed exact sum
    release: np.ndarray  # (n,) packed noisy sum: all that others learn
    value: np.ndarray  # (d, d) ridge I + sum + noise, eigenvalues at least ridge/2
    inverse: np.ndarray  # (d, d) of value, as of the last `invert`
    last: np.ndarray  # (d, d) value at the last fit that it triggered
    floored: np.ndarray  # (1,) rounds in which the floor was needed


class Scratch(NamedTuple):
    """What the kernels overwrite."""

    A: np.ndarray  # (d, d)
    B: np.ndarray  # (d, d)


def start(d, levels, ridge):
    """`Continual` before the first round: ridge I."""
    n = d * (d + 1) // 2
    eye = np.eye(d)
    return Continual(
        np.zeros((levels, n)), np.zeros(n), np.zeros(n), ridge * eye, eye / ridge, ridge * eye,
        np.zeros(1, np.int64),
    )  # fmt: skip


@jit
def add_leaf(c, x, out):
    """out (n,) <- out + c x x', packed: x_i^2 and sqrt2 x_i x_j; Frobenius norm is preserved."""
    n = 0
    for i in range(x.shape[0]):
        for j in range(i):
            out[n] += c * math.sqrt(2.0) * x[i] * x[j]
            n += 1
        out[n] += c * x[i] * x[i]
        n += 1


@jit
def release(c, t, sigma, rng):
    """c.release <- the sum after round t >= 1 with the noise of the tree's live blocks."""
    tree.advance(c.nodes, t, sigma, rng)
    tree.noise(c.nodes, c.release)
    for i in range(c.release.shape[0]):
        c.release[i] += c.exact[i]


@jit
def unpack(packed, ridge, out):
    """out (d, d) <- ridge I + the symmetric matrix that is packed."""
    n = 0
    for i in range(out.shape[0]):
        for j in range(i):
            out[i, j] = math.sqrt(0.5) * packed[n]
            out[j, i] = out[i, j]
            n += 1
        out[i, i] = ridge + packed[n]
        n += 1


@jit
def above(A, B, c, shift, w):
    """Whether c A - B - shift I is positive definite."""
    for i in range(A.shape[0]):
        for j in range(i + 1):
            w.A[i, j] = c * A[i, j] - B[i, j]
        w.A[i, i] -= shift
    return cholesky(w.A, w.B)


@jit
def raise_floor(value, least, w):
    """value (d, d) <- the same with eigenvalues raised to at least `least`; whether any was."""
    d = value.shape[0]
    for i in range(d):
        for j in range(d):
            w.A[i, j] = value[i, j] - (least if i == j else 0.0)
    if cholesky(w.A, w.B):
        return False
    for i in range(d):
        for j in range(d):
            w.A[i, j] = value[i, j]
            value[i, j] = 0.0
    jacobi(w.A, w.B)
    for k in range(d):
        size = max(w.A[k, k], least)
        for i in range(d):
            for j in range(d):
                value[i, j] += size * w.B[k, i] * w.B[k, j]
    return True


@jit
def publish(c, t, ridge, sigma, rng, w):
    """Release the sum after round t >= 1: tree noise, ridge, floor at ridge/2."""
    release(c, t, sigma, rng)
    unpack(c.release, ridge, c.value)
    if raise_floor(c.value, 0.5 * ridge, w):
        c.floored[0] += 1


@jit
def invert(c, w):
    """c.inverse <- inverse of the value."""
    inverse(c.value, c.inverse, w.A)


@jit
def outgrown(c, growth, w):
    """Whether the value is not below growth times the last one, in the order of matrices."""
    return not above(c.last, c.value, growth, 0.0, w)


@jit
def trace_gain(c):
    """Trace of the value less that of the last one."""
    gain = 0.0
    for i in range(c.value.shape[0]):
        gain += c.value[i, i] - c.last[i, i]
    return gain


@jit
def remember(c):
    """last <- value."""
    for i in range(c.value.shape[0]):
        for j in range(c.value.shape[1]):
            c.last[i, j] = c.value[i, j]
