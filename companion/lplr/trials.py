"""Repeated estimation runs for experiments, with every argument checked.

Kernels run without the global lock, so calls in threads run in parallel (`simulate.over`).
"""

import math
from typing import NamedTuple

import numpy as np

from companion._jit import jit
from companion.checks import need_int, need_positive
from companion.linalg import dot, norm
from companion.lplr.bins import (
    ACTIVE,
    COUNT,
    interval,
    matrix_sd,
    plant,
    predict,
    reset,
    tree_of,
)
from companion.lplr.environments import SLACK, law
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
def _score(p, tree, law, n, residual, out):
    """out <- (mad, mse, width, covered, active, tax) of a tree fitted to n users per stage.

    To the tax of the bins with a model comes the size of what is left where walks stop.
    """
    out[0] = out[1] = out[2] = out[4] = 0.0
    out[5] = bin_tax(p, tree, n)
    out[3] = 1.0
    for j in range(law.points.shape[0]):
        f, width = predict(p, tree, law.points[j], residual)
        error, length = abs(f - law.means[j]), norm(law.points[j])
        out[0] += law.prob[j] * error
        out[1] += law.prob[j] * error**2
        out[5] += law.prob[j] * norm(residual)
        if width >= length:  # as `bins.interval`
            error, width = abs(law.means[j]), length
        out[2] += law.prob[j] * width
        if error > width + 1e-12:
            out[3] = 0.0
    for b in range(tree.start[p.d]):
        out[4] += tree.link[b, ACTIVE]


def _ready(design, p, n, signs):
    """(law, forest, users per stage, plays, work) of a fit, checked."""
    (K, d), n = design.points.shape, need_int("n", n, 2 * p.d, MAX_USERS)
    if p.d != d:
        raise ValueError(f"p must have the design's dimension d={d}; got d={p.d}")
    plays = np.zeros(K, dtype=np.int64)
    return law(design, signs), plant(p, 1), n // (2 * d), plays, workspace(K, d)


def estimate_lplr(design, p, n, n_reps, rng, *, signs=True):
    """n_reps >= 1 LPLR runs with p (`lplr_params`) on n users from a design, n // (2d) per stage.

    signs: labels are +1 or -1 (else noiseless).  Raises ValueError if n < 2d, n > 1e18 or p has
    another dimension.
    """
    world, forest, per_stage, plays, work = _ready(design, p, n, signs)
    out, tree = np.zeros((need_int("n_reps", n_reps, 1), 6)), tree_of(forest, 0)
    for row in out:
        fit_sums(p, forest, world, per_stage, rng, plays, work)
        _score(p, tree, world, per_stage, work[0], row)
    return Trials(*out.T)


def fit_design(design, p, n, rng, *, signs=True):
    """One tree fitted with p to n users from a design; arguments as for `estimate_lplr`."""
    world, forest, per_stage, plays, work = _ready(design, p, n, signs)
    fit_sums(p, forest, world, per_stage, rng, plays, work)
    return tree_of(forest, 0)


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
def _theta_error(model, law, out):
    out[0] = out[1] = 0.0
    for j in range(law.points.shape[0]):
        error = dot(law.points[j], model.theta) - law.means[j]
        out[0] += law.prob[j] * abs(error)
        out[1] += law.prob[j] * error**2


def estimate_ssp(design, n, n_reps, rng, epsilon=1.0, *, signs=True):
    """(mad, mse), each (n_reps,): perturbed sufficient statistics of n users, least squares in the
    unit ball.
    """
    K, d = design.points.shape
    out = np.zeros((need_int("n_reps", n_reps, 1), 2))
    q, model, world, n = ssp_params(d, epsilon), ssp_model(d), law(design, signs), users(n)
    plays, work = np.zeros(K, dtype=np.int64), workspace(K, d)
    for row in out:
        ssp_sums(q, model, world, n, rng, plays, work)
        ssp_estimate(model)
        _theta_error(model, world, row)
    return out.T


def estimate_inputs(design, n, n_reps, rng, epsilon=1.0):
    """(mad, mse), each (n_reps,): debiased moments of perturbed inputs, users drawn one by one (n
    up to 1e7 is sensible).
    """
    if not np.allclose(design.prob, design.prob[0]):
        raise ValueError("design must have equal chances for perturbed inputs")
    out = np.zeros((need_int("n_reps", n_reps, 1), 2))
    epsilon = need_positive("epsilon", epsilon)
    model, world, n = ssp_model(design.d), law(design), users(n)
    for row in out:
        perturbed_inputs(design.points, design.theta, epsilon, n, rng, model)
        ssp_estimate(model)
        _theta_error(model, world, row)
    return out.T
