"""Repeated estimation runs for experiments, with every argument checked.

Kernels run without the global lock, so calls in threads run in parallel (`each`).
"""

import math
import os
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from companion._jit import jit
from companion.checks import need_int, need_positive
from companion.linalg import dot, norm
from companion.lplr.bins import ACTIVE, COUNT, Tree, interval, matrix_sd, plant, predict, reset
from companion.lplr.environments import SLACK
from companion.lplr.fit import fit_messages, fit_sums, workspace
from companion.lplr.params import MAX_USERS
from companion.lplr.sufficient_statistics import (
    perturbed_inputs,
    ssp_estimate,
    ssp_model,
    ssp_params,
    ssp_sums,
)


class Trials(NamedTuple):
    """Estimation runs, one entry per repetition; expectations are over the design."""

    mad: np.ndarray  # mean absolute error of the plug-in estimate
    mse: np.ndarray  # mean square error of the plug-in estimate
    width: np.ndarray  # mean half-width, ||phi|| where the interval is trivial
    covered: np.ndarray  # 1 if every point's interval holds its mean
    active: np.ndarray  # bins with a model
    tax: np.ndarray  # what the bins should cost, see `bin_tax`


def each(jobs, workers=None):
    """Call every function of `jobs` (no arguments) in a pool of threads; the results in order."""
    with ThreadPoolExecutor(workers or os.cpu_count()) as pool:
        return [f.result() for f in [pool.submit(job) for job in jobs]]


def generator(seed, *key):
    """A random stream named by integers: `seed` and any number of further ones."""
    return np.random.default_rng([need_int("seed", seed, 0), *key])


def users(n):
    """n as an int in [1, MAX_USERS]."""
    return need_int("n", n, 1, MAX_USERS)


@jit
def bin_tax(p, tree, n):
    """Sum over bins with a model of the smaller of share x size and noise, for n users per stage.

    In bin k of layer h, with share psi, predictions have size gamma^-k.  The coefficient's noise
    moves them by about sqrt(2 b_v^2 + (sd of the matrix) gamma^-2k) / (psi sqrt n): times psi, a
    bin costs the same noise whatever its share, but never more than psi gamma^-k, as coefficients
    are clipped.
    """
    total, matrix = 0.0, matrix_sd(p)
    for h in range(p.d):
        for b in range(tree.start[h], tree.start[h + 1]):
            if tree.link[b, ACTIVE] == 1:
                g = p.edge[(b - tree.start[h]) % p.M]
                noise = math.sqrt(2.0 * p.vector_scale[h] ** 2 + (matrix * g) ** 2)
                total += min(tree.stat[b, COUNT] / n * g, noise / math.sqrt(n))
    return total


@jit
def _score(p, tree, points, means, prob, n, residual, out):
    """out <- (mad, mse, width, covered, active, tax) of a tree fitted to n users per stage.

    To the tax of the bins with a model comes the size of what is left where walks stop.
    """
    out[0] = out[1] = out[2] = out[4] = 0.0
    out[5] = bin_tax(p, tree, n)
    out[3] = 1.0
    for j in range(points.shape[0]):
        f, width = predict(p, tree, points[j], residual)
        out[0] += prob[j] * abs(f - means[j])
        out[1] += prob[j] * (f - means[j]) ** 2
        length = norm(points[j])
        if length > 0.0:
            out[5] += prob[j] * norm(residual)
        if width >= length:  # as `tree.interval`
            f, width = 0.0, length
        out[2] += prob[j] * width
        if abs(f - means[j]) > width + 1e-12:
            out[3] = 0.0
    for b in range(tree.start[p.d]):
        out[4] += tree.link[b, ACTIVE]


def estimate_lplr(design, p, n, n_reps, rng, *, signs=True):
    """n_reps >= 1 LPLR runs with p (`lplr_params`) on n users from a design, n // (2d) per stage.

    signs: labels are +1 or -1 (else noiseless).  Raises ValueError if n < 2d, n > 1e18 or p has
    another dimension.
    """
    K, d = design.points.shape
    n = need_int("n", n, 2 * d, MAX_USERS)
    if p.d != d:
        raise ValueError(f"p must have the design's dimension d={d}; got d={p.d}")
    out = np.zeros((need_int("n_reps", n_reps, 1), 6))
    zero, plays = np.zeros(K, dtype=np.int64), np.zeros(K, dtype=np.int64)
    forest, work, residual = plant(p, 1), workspace(K, d), np.empty(d)
    tree = Tree(*[a[0] for a in forest])
    law = (design.points, design.means, design.prob)
    for row in out:
        fit_sums(p, forest, *law, zero, n // (2 * d), bool(signs), rng, plays, work)
        _score(p, tree, *law, n // (2 * d), residual, row)
    return Trials(*out.T)


def fit_design(design, p, n, rng, *, signs=True):
    """One tree fitted with p to n users from a design, n // (2d) per stage; arguments as for
    `estimate_lplr`.
    """
    (K, d), n = design.points.shape, need_int("n", n, 2 * p.d, MAX_USERS)
    if p.d != d:
        raise ValueError(f"p must have the design's dimension d={d}; got d={p.d}")
    forest, zero = plant(p, 1), np.zeros(K, dtype=np.int64)
    fit_sums(
        p,
        forest,
        design.points,
        design.means,
        design.prob,
        zero,
        n // (2 * d),
        bool(signs),
        rng,
        np.zeros_like(zero),
        workspace(K, d),
    )
    return Tree(*[a[0] for a in forest])


def fit_users(p, phi, y, rng):
    """A tree fitted by Algorithm 2 to users phi (N, d) and y (N,), message by message, in their
    order.

    Raises ValueError on NaN, ||phi|| > 1, |y| > 1, or fewer than 2d users.
    """
    phi, y = np.array(phi, dtype=float, ndmin=2), np.array(y, dtype=float, ndmin=1)
    if phi.ndim != 2 or phi.shape[1] != p.d or y.shape != phi.shape[:1] or len(y) < 2 * p.d:
        raise ValueError(
            f"phi must have shape (N, {p.d}) and y (N,), N >= {2 * p.d}; "
            f"got {phi.shape} and {y.shape}"
        )
    if not (np.linalg.norm(phi, axis=1) <= 1 + SLACK).all():
        raise ValueError("phi must be finite with norms at most 1; got a larger norm or NaN")
    if not (np.abs(y) <= 1 + SLACK).all():
        raise ValueError("y must be in [-1, 1]; got a value outside or NaN")
    tree = plant(p)
    reset(p, tree)
    fit_messages(p, tree, np.ascontiguousarray(phi), y, rng)
    return tree


def read(p, tree, points):
    """Estimates and half-widths (0 and ||phi|| where trivial), two arrays (K,), of a fitted tree at
    points (K, d).
    """
    points, residual = np.ascontiguousarray(points, dtype=float), np.empty(p.d)
    pairs = [interval(p, tree, x, residual) for x in points]
    return tuple(np.array(a) for a in zip(*pairs, strict=True))


@jit
def _theta_error(model, points, means, prob, out):
    out[0] = out[1] = 0.0
    for j in range(points.shape[0]):
        error = dot(points[j], model.theta) - means[j]
        out[0] += prob[j] * abs(error)
        out[1] += prob[j] * error**2


def estimate_ssp(design, n, n_reps, rng, epsilon=1.0, *, signs=True):
    """(mad, mse), each (n_reps,): perturbed sufficient statistics of n users, least squares in the
    unit ball.
    """
    K, d = design.points.shape
    out = np.zeros((need_int("n_reps", n_reps, 1), 2))
    seen, tail = np.zeros(K, dtype=np.int64), np.empty(K)
    q, model, law = ssp_params(d, epsilon), ssp_model(d), (design.points, design.means, design.prob)
    n, plays = users(n), np.zeros(K, dtype=np.int64)
    for row in out:
        ssp_sums(q, model, *law, n, bool(signs), rng, seen, tail, plays)
        ssp_estimate(model)
        _theta_error(model, *law, row)
    return out.T


def estimate_inputs(design, n, n_reps, rng, epsilon=1.0):
    """(mad, mse), each (n_reps,): debiased moments of perturbed inputs, users drawn one by one (n
    up to 1e7 is sensible).
    """
    if not np.allclose(design.prob, design.prob[0]):
        raise ValueError("design must have equal chances for perturbed inputs")
    out = np.zeros((need_int("n_reps", n_reps, 1), 2))
    epsilon = need_positive("epsilon", epsilon)
    model, n = ssp_model(design.d), users(n)
    for row in out:
        perturbed_inputs(design.points, design.theta, epsilon, n, rng, model)
        ssp_estimate(model)
        _theta_error(model, design.points, design.means, design.prob, row)
    return out.T
