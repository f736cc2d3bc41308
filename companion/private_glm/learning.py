"""What the analyser of ShuffleGLM does at the end of a batch: matrix, then gradients.

Source: Algorithms 5 to 7 of the paper.  Every sum is a shuffled vector sum with Bin(b, 1/4) noise
per user and coordinate; bits = 0 stands for exact sums (no privacy).
"""

from typing import NamedTuple

import numpy as np

from companion.jit import jit
from companion.kernels.glm import mean, slope
from companion.kernels.linalg import axpy, dot, inverse, set_identity
from companion.kernels.mechanisms import add_packed, shuffle_add, shuffle_analyse, unpack
from companion.private_glm.continual import Scratch, raise_floor
from companion.private_glm.descent import precondition, step

P = 0.25  # chance of a further one


class Params(NamedTuple):
    """What does not change during a run of ShuffleGLM; one entry per batch but the last."""

    d: int  # dimension of a context
    K: int  # arms
    T: int  # horizon
    link: int  # number of the link
    theta_bound: float  # S
    ends: np.ndarray  # (M,) rounds after which batches end
    g: np.ndarray  # levels per L
    bits_matrix: np.ndarray  # b of the matrix sum
    bits_gradient: np.ndarray  # b of a gradient sum
    ridge: np.ndarray  # lambda
    caps: np.ndarray  # (M,) Delta: largest weight of x x'
    widths: np.ndarray  # gamma sqrt(kappa), then gamma
    steps: int  # gradients per batch
    penalty: float  # ridge of the fits
    tolerance: float  # of the designs


class Batch(NamedTuple):
    """Users of the batch that is under way, and what is made of their messages."""

    X: np.ndarray  # (n, d) clipped contexts (each stays with its user)
    y: np.ndarray  # (n,)
    size: np.ndarray  # (1,) users so far
    counts: np.ndarray  # (d(d+1)/2,) sum of the rounded values (or of the exact ones) of the matrix
    sums: np.ndarray  # (d,) the same for a gradient
    triangle: np.ndarray  # (d(d+1)/2,) one user's, then the analyser's
    work: np.ndarray  # (3, d) of `descent.step`; its first row is one user's gradient, then the sum
    x: np.ndarray  # (d,) clipped context of this round


def batch_for(p: Params) -> Batch:
    """An empty `Batch` for the longest batch whose data are read."""
    n, d, m = int(np.diff(p.ends[:-1], prepend=0).max()), p.d, p.d * (p.d + 1) // 2
    rows = np.zeros((n, d)), np.zeros(n), np.zeros(1, np.int64)
    return Batch(*rows, np.zeros(m), np.zeros(d), np.zeros(m), np.zeros((3, d)), np.zeros(d))


@jit
def send(rng, v, L, g, bits, sums):
    """sums <- with one user's vector v in [-L, L]^n: rounded, or exact if bits is 0."""
    if bits > 0:
        shuffle_add(rng, v, L, g, sums)
    else:
        axpy(1.0, v, sums)


@jit
def analyse(rng, sums, n, L, g, bits, out):
    """out <- estimate of the sum of n users' vectors; sums is emptied."""
    if bits > 0:
        shuffle_analyse(rng, sums, n, L, g, bits, P, out)
    for i in range(sums.shape[0]):
        if bits == 0:
            out[i] = sums[i]
        sums[i] = 0.0


@jit
def add_user(p, b, k, weight, y, rng):
    """The user of this round, with clipped context b.x, joins batch k."""
    n = b.size[0]
    b.y[n] = y
    for i in range(p.d):
        b.X[n, i] = b.x[i]
    b.triangle[:] = 0.0
    add_packed(weight, 1.0, b.x, b.triangle)
    send(rng, b.triangle, p.caps[k], p.g[k], p.bits_matrix[k], b.counts)
    b.size[0] = n + 1


@jit
def release_matrix(p, b, k, rng, V, V_inv, w):
    """V, V_inv <- ridge I + the batch's weighted sum of x x', eigenvalues at least ridge/2; w is
    scratch."""
    analyse(rng, b.counts, b.size[0], p.caps[k], p.g[k], p.bits_matrix[k], b.triangle)
    set_identity(p.ridge[k], V)
    unpack(1.0, 1.0, b.triangle, V)
    raise_floor(V, 0.5 * p.ridge[k], w)
    inverse(V, V_inv, w.A)


@jit
def gradient_message(p, x, y, theta, out):
    """out <- one user's gradient (mean - y) x, of norm at most 1."""
    c = mean(p.link, dot(x, theta)) - y
    for i in range(p.d):
        out[i] = c * x[i]


@jit
def release_gradient(p, b, k, theta, rng, g):
    """g (d,) <- the batch's sum of gradients at theta, from messages."""
    for s in range(b.size[0]):
        gradient_message(p, b.X[s], b.y[s], theta, g)
        send(rng, g, 1.0, p.g[k], p.bits_gradient[k], b.sums)
    analyse(rng, b.sums, b.size[0], 1.0, p.g[k], p.bits_gradient[k], g)


@jit
def learn(p, b, k, V, V_inv, theta, work, rng):
    """Release batch k: V, V_inv, then theta (d,) by p.steps gradients from where it stands; work:
    that of `design.work_for`, overwritten."""
    w, P = Scratch(work.M, work.M_inv), work.B
    release_matrix(p, b, k, rng, V, V_inv, w)
    precondition(slope(p.link, 0.0) if k == 0 else 1.5, p.penalty, V, P, w.A, w.B)
    for it in range(p.steps):
        release_gradient(p, b, k, theta, rng, b.work[0])
        step(it, p.steps, p.penalty, p.theta_bound, P, theta, b.work)
    b.size[0] = 0
