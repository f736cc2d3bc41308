"""A matrix sum released after every round: binary tree, ridge, and a floor under its eigenvalues.

A leaf c x x' is packed with off-diagonal entries times sqrt2 (`mechanisms`), so that Euclidean
noise on the packed vector is symmetric noise that is isotropic in Frobenius norm: (Z + Z')/2 for Z
with independent entries (Section J.3 of the paper; its Appendix Q prints the same with /sqrt2,
twice the variance).
"""

import math
from typing import NamedTuple

import numpy as np

from companion.jit import inlined, jit
from companion.kernels import tree
from companion.kernels.linalg import add_outer, cholesky, copy, inverse, jacobi, set_identity
from companion.kernels.mechanisms import add_packed, unpack


class Continual(NamedTuple):
    """One continual release; `exact` is secret, everything else is what others may see."""

    nodes: np.ndarray  # (levels, n) noise of the prefix up to each live block
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


def start(d: int, levels: int, ridge: float) -> Continual:
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
    add_packed(c, math.sqrt(2.0), x, out)


@jit
def release(c, t, sigma, rng):
    """c.release <- the sum after round t >= 1 with the noise of the tree's live blocks; at sigma 0
    nothing is drawn."""
    if sigma == 0.0:
        copy(c.exact, c.release)
        return
    row = tree.advance(c.nodes, t, sigma, rng)
    for i in range(c.release.shape[0]):
        c.release[i] = c.exact[i] + c.nodes[row, i]


@jit
def dominant(A):
    """Whether a symmetric A, of which the lower triangle is read, is surely positive definite.

    In every row the diagonal entry exceeds the others together by a part in 1e9.  So A, scaled to a
    diagonal of ones, has eigenvalues far above rounding, and `cholesky` would succeed.
    """
    for i in range(A.shape[0]):
        rest = 0.0
        for j in range(i):
            rest += abs(A[i, j])
        for j in range(i + 1, A.shape[0]):
            rest += abs(A[j, i])
        if not A[i, i] > (1.0 + 1e-9) * rest:
            return False
    return True


@inlined
def above(A, B, c, w):
    """Whether c A - B is positive definite."""
    for i in range(A.shape[0]):
        for j in range(i + 1):
            w.A[i, j] = c * A[i, j] - B[i, j]
    return dominant(w.A) or cholesky(w.A, w.B)


@jit
def raise_floor(value, least, w):
    """value (d, d) <- the same with eigenvalues raised to at least `least`; whether any was."""
    d = value.shape[0]
    copy(value, w.A)
    for i in range(d):
        w.A[i, i] -= least
    if dominant(w.A) or cholesky(w.A, w.B):
        return False
    copy(value, w.A)
    value[:] = 0.0
    jacobi(w.A, w.B)
    for k in range(d):
        add_outer(max(w.A[k, k], least), w.B[k], value)
    return True


@inlined
def publish(c, t, ridge, floor, sigma, rng, w):
    """Release the sum after round t >= 1: tree noise, ridge, eigenvalues raised to the floor."""
    release(c, t, sigma, rng)
    set_identity(ridge, c.value)
    unpack(1.0, math.sqrt(0.5), c.release, c.value)
    if raise_floor(c.value, floor, w):
        c.floored[0] += 1


@inlined
def invert(c, w):
    """c.inverse <- inverse of the value."""
    inverse(c.value, c.inverse, w.A)


@inlined
def outgrown(c, growth, w):
    """Whether the value is not below growth times the last one, in the order of matrices."""
    return not above(c.last, c.value, growth, w)


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
    copy(c.value, c.last)
