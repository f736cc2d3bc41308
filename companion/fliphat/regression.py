"""Private sparse regression: peeling, projection on the l1 ball, noisy iterative hard thresholding.

Source: the FLIPHAT paper, Algorithm 3 (peeling) and Algorithm 1 (N-IHT).
Cost: one N-IHT iteration on n rows takes 2 n (d + sparsity) flops and one peeling.
Differs: besides the paper's gradient, sum x (x'theta - clip(y)), the rows may be clipped inside the
gradient and the residual as a whole may be clipped; with all three bounds infinite but the reward's
this is the paper's algorithm.
"""

from typing import NamedTuple

import numpy as np

from companion.jit import jit
from companion.kernels.linalg import axpy
from companion.kernels.mechanisms import lazy_peel


class Regression(NamedTuple):
    """Settings of one private regression; noise sizes come from `accounting`."""

    sparsity: int  # coordinates that are kept
    iterations: int  # M >= 0
    eta: float  # step size
    l1_radius: float  # C, radius of the l1 ball; inf: no projection
    gradient_clip: float  # contexts are clipped to +- this in the gradient; inf: not
    reward_clip: float  # R
    residual_clip: float  # rho, bound of |y - x'theta| in the gradient; inf: not
    xi_first: float  # Laplace scale of iteration 0
    xi_rest: float  # Laplace scale of the others


class Work(NamedTuple):
    """Work arrays of one regression in dimension d that keeps `sparsity` coordinates; make one
    with `work_for`.
    """

    moment: np.ndarray  # (d,) sum of clipped context times clipped residual
    v: np.ndarray  # (d,) vector handed to peeling
    taken: np.ndarray  # (d,) bool, picked already
    magnitudes: np.ndarray  # (sparsity,) for sorting


def work_for(d: int, sparsity: int) -> Work:
    """Fresh `Work`."""
    return Work(np.zeros(d), np.zeros(d), np.zeros(d, np.bool_), np.zeros(sparsity))


@jit
def clip(z, bound):
    """z moved into [-bound, bound]; bound may be inf."""
    return min(max(z, -bound), bound)


@jit
def l1_project(v, picks, size, radius, magnitudes):
    """v <- its projection on the l1 ball; v is zero off picks[:size]; magnitudes (>= size,) is
    overwritten.
    """
    total = 0.0
    for i in range(size):
        a = abs(v[picks[i]])
        total += a
        k = i
        while k > 0 and magnitudes[k - 1] < a:  # insertion sort, largest first
            magnitudes[k] = magnitudes[k - 1]
            k -= 1
        magnitudes[k] = a
    if total <= radius:
        return
    running, level = 0.0, 0.0
    for k in range(size):
        running += magnitudes[k]
        if magnitudes[k] > (running - radius) / (k + 1):
            level = (running - radius) / (k + 1)
    for i in range(size):
        z = v[picks[i]]
        v[picks[i]] = np.sign(z) * max(abs(z) - level, 0.0)


@jit
def sparse_dot(x, theta, picks, size):
    """x'theta for a theta that is zero off picks[:size]."""
    z = 0.0
    for i in range(size):
        z += x[picks[i]] * theta[picks[i]]
    return z


@jit
def add_moment(q, x, y, theta, picks, size, out):
    """out <- out + clipped context times clipped residual: this row's share of -n/2 times the
    gradient.
    """
    r = clip(clip(y, q.reward_clip) - sparse_dot(x, theta, picks, size), q.residual_clip)
    if q.gradient_clip == np.inf:
        axpy(r, x, out)
    else:
        for j in range(x.shape[0]):
            out[j] += r * clip(x[j], q.gradient_clip)


@jit
def step(q, m, n, rng, theta, picks, size, w):
    """Iteration m from theta, whose rows' moment is in w.moment: overwrites theta and picks,
    returns the new size.
    """
    for j in range(theta.shape[0]):
        w.v[j] = theta[j] + q.eta * 2.0 / n * w.moment[j]  # line 3
    xi = q.xi_first if m == 0 else q.xi_rest
    lazy_peel(rng, w.v, q.sparsity, xi, theta, picks, w.taken)  # line 4
    l1_project(theta, picks, q.sparsity, q.l1_radius, w.magnitudes)  # line 5
    return q.sparsity


@jit
def niht(
    q,
    X,
    y,
    n,
    rng,
    theta,
    picks,
    size,
    w,
):
    """Algorithm 1 on the first n >= 1 rows of X and y; theta (zero off picks[:size]) is the start
    and the result.

    theta, picks (sparsity,) and w are overwritten; returns the number of picks.  The start must not
    depend on these rows.

    Size: 9 arguments; the rows, the start, and the work arrays.
    """
    for m in range(q.iterations):
        w.moment[:] = 0.0
        for i in range(n):
            add_moment(q, X[i], y[i], theta, picks, size, w.moment)
        size = step(q, m, n, rng, theta, picks, size, w)
    return size


@jit
def niht_statistics(
    q,
    G,
    c,
    n,
    rng,
    theta,
    picks,
    size,
    w,
    errors,
    truth,
):
    """Algorithm 1 from the statistics G = X'X, c = X'y of n rows (no clipping): cost free of n.

    errors[m] <- squared distance of theta to truth after iteration m.

    Size: 11 arguments; those of `niht`, and a record.
    """
    for m in range(q.iterations):
        for j in range(theta.shape[0]):
            w.moment[j] = c[j] - sparse_dot(G[j], theta, picks, size)
        size = step(q, m, n, rng, theta, picks, size, w)
        e = 0.0
        for j in range(theta.shape[0]):
            e += (theta[j] - truth[j]) ** 2
        errors[m] = e
    return size
