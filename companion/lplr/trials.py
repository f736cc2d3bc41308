"""Repeated estimation runs for experiments, with every argument checked, and what a tree says.

Repetitions are spread by `simulate.over`; from the streams of its seed the design, LPLR and its
rivals draw, so that they are paired.
Source: Algorithm 6 and Lemma 3 of the LPLR paper, for estimates and layers of a fitted tree.
"""

import math
from typing import NamedTuple

import numpy as np

from companion._jit import jit
from companion.checks import need_int, need_positive
from companion.linalg import dot, norm
from companion.lplr import bins, sufficient_statistics
from companion.lplr.bins import ACTIVE, COEF, COUNT, PARENT, VALUE, plant, tree_of, walk
from companion.lplr.environments import SLACK, law, need_ball
from companion.lplr.fit import fit_messages, fit_sums, workspace
from companion.lplr.params import MAX_USERS
from companion.lplr.sufficient_statistics import ssp_estimate, ssp_model
from companion.simulate import need_seeds, over, stream


class Trials(NamedTuple):
    """Estimation runs, one entry per repetition; expectations are over the design."""

    mad: np.ndarray  # mean absolute error of the plug-in estimate
    mse: np.ndarray  # mean square error of the plug-in estimate
    width: np.ndarray  # mean half-width, ||phi|| where the interval is trivial
    covered: np.ndarray  # 1 if every point's interval holds its mean
    active: np.ndarray  # bins with a model
    tax: np.ndarray  # what the bins should cost, see `bin_tax`
    told: np.ndarray  # chance of a point whose interval is not trivial


PARTS = 8  # jobs that the repetitions of one call are spread over


@jit
def bin_tax(p, tree, n):
    """Sum over bins with a model of the smaller of share x size and noise, for n users per stage.

    In bin k of layer h, with share psi, predictions have size gamma^-k.  The coefficient's noise
    moves them by about sqrt(2 b_v^2 + (sd of the matrix) gamma^-2k) / (psi sqrt n): times psi, a
    bin costs the same noise whatever its share, but never more than psi gamma^-k, as coefficients
    are clipped.
    """
    total, matrix = 0.0, bins.matrix_sd(p)
    for h in range(p.d):
        for b in range(tree.start[h], tree.start[h + 1]):
            if tree.link[b, ACTIVE] == 1:
                g = p.edge[(b - tree.start[h]) % p.M]
                noise = math.sqrt(2.0 * p.vector_scale[h] ** 2 + (matrix * g) ** 2)
                total += min(tree.stat[b, COUNT] / n * g, noise / math.sqrt(n))
    return total


@jit
def _score(p, tree, law, n, residual, out):
    """out <- the numbers of `Trials`, of a tree fitted to n users per stage.

    To the tax of the bins with a model comes the size of what is left where walks stop.
    """
    for i in range(7):
        out[i] = 0.0
    out[3], out[5] = 1.0, bin_tax(p, tree, n)
    for j in range(law.points.shape[0]):
        f, width = bins.predict(p, tree, law.points[j], residual)
        error, length = abs(f - law.means[j]), norm(law.points[j])
        out[0] += law.prob[j] * error
        out[1] += law.prob[j] * error**2
        out[5] += law.prob[j] * norm(residual)
        if width >= length:  # as `bins.interval`
            error, width = abs(law.means[j]), length
        else:
            out[6] += law.prob[j]
        out[2] += law.prob[j] * width
        if error > width + 1e-12:
            out[3] = 0.0
    for b in range(tree.start[p.d]):
        out[4] += tree.link[b, ACTIVE]


def powers(first, step, last):
    """first, first * step, ... up to last, as integers."""
    out = [first]
    while out[-1] * step <= last:
        out.append(out[-1] * step)
    return out


def in_parts(task, args, seeds, executor):
    """Rows of task(*args, part) over parts of the seeds (one per repetition), in their order."""
    seeds = need_seeds(seeds)
    size = -(-len(seeds) // PARTS)
    parts = [seeds[i : i + size] for i in range(0, len(seeds), size)]
    return np.concatenate(over(task, [(*args, part) for part in parts], executor))


def _drawn(design, seed):
    """The design of one repetition, which a function draws from its environment's stream."""
    return design(stream(seed, "environment")) if callable(design) else design


def estimate_lplr(design, p, n, seeds, executor=None, *, signs=True):
    """LPLR runs with p (`lplr_params`) on n users from a design, n // (2d) per stage: `Trials`.

    design: a `Design`, or a function of a generator that draws one for every repetition; seeds and
    executor as for `simulate`; signs: labels are +1 or -1 (else noiseless).  Raises ValueError if n
    < 2d, n > 1e18 or p has another dimension.
    """
    n = need_int("n", n, 2 * p.d, MAX_USERS)
    return Trials(*in_parts(_fits, (design, p, n // (2 * p.d), bool(signs)), seeds, executor).T)


def _fits(design, p, n, signs, seeds):
    out, forest = np.zeros((len(seeds), 7)), plant(p, 1)
    for row, seed in zip(out, seeds, strict=True):
        world, residual = _fit(design, p, n, signs, seed, forest)
        _score(p, tree_of(forest, 0), world, n, residual, row)
    return out


def _fit(design, p, n, signs, seed, forest):
    """(law, scratch) of one repetition, whose tree is left in the forest."""
    world = law(_drawn(design, seed), signs)
    if world.points.shape[1] != p.d:
        raise ValueError(f"design must have dimension d={p.d}; got d={world.points.shape[1]}")
    work, plays = workspace(*world.points.shape), np.zeros(len(world.prob), dtype=np.int64)
    fit_sums(p, forest, world, n, stream(seed, "LPLR"), plays, work)
    return world, work[0]


def fit_design(design, p, n, seed, *, signs=True):
    """The tree of one repetition of `estimate_lplr`; seed: an integer or a SeedSequence."""
    n, (seed,), forest = need_int("n", n, 2 * p.d, MAX_USERS), need_seeds([seed]), plant(p, 1)
    _fit(design, p, n // (2 * p.d), signs, seed, forest)
    return tree_of(forest, 0)


def fit_users(p, phi, y, rng):
    """A tree fitted by Algorithm 2 to users phi (N, d), y (N,), message by message, in their order.

    Raises ValueError on NaN, ||phi|| > 1, |y| > 1, or fewer than 2d users.
    """
    phi, y = np.array(phi, dtype=float, ndmin=2), np.array(y, dtype=float, ndmin=1)
    if phi.ndim != 2 or phi.shape[1] != p.d or y.shape != phi.shape[:1] or len(y) < 2 * p.d:
        sizes = f"(N, {p.d}) and y (N,), N >= {2 * p.d}; got {phi.shape} and {y.shape}"
        raise ValueError(f"phi must have shape {sizes}")
    need_ball("phi", phi)
    if not (np.abs(y) <= 1 + SLACK).all():
        raise ValueError("y must be in [-1, 1]; got a value outside or NaN")
    tree = plant(p)
    fit_messages(p, tree, np.ascontiguousarray(phi), y, rng)
    return tree


def read(p, tree, points):
    """Estimates and half-widths (0 and ||phi|| where trivial), each (K,), at points (K, d)."""
    points, residual = np.ascontiguousarray(points, dtype=float), np.empty(p.d)
    pairs = [bins.interval(p, tree, x, residual) for x in points]
    return tuple(np.array(a) for a in zip(*pairs, strict=True))


def layer_widths(p, tree, design):
    """Lemma 3's E_h = sum over bins B of layer h of psi_B sqrt(E_B[eta_B^2]), for every layer (d,).

    Points that stop on a layer count there, with the half-width they stop with.
    """
    squares, residual = [{} for _ in range(p.d)], np.empty(p.d)
    for phi, chance in zip(design.points, design.prob, strict=True):
        path = ()
        for h in range(p.d):
            b, _, eta = walk(p, tree, h, phi, residual)
            on, path = b >= 0 and tree.link[b, ACTIVE] == 1, (*path, b)
            left = norm(residual)
            eta = walk(p, tree, h + 1, phi, residual)[2] if on else eta + left
            share, total = squares[h].get(path, (0.0, 0.0))
            squares[h][path] = share + chance, total + chance * min(eta, p.cap) ** 2
            if not on:
                break
    return np.array([sum(math.sqrt(s * t) for s, t in layer.values()) for layer in squares])


def tree_rows(p, tree, n):
    """A fitted tree as rows for a table, one dict per tracked bin; n users were in a stage.

    A bin of layer 1 is called B and its index k; a deeper one its parent's name and its own k.
    """
    rows, names = [], {tree.link.shape[0] - 1: "root"}
    for h in range(p.d):
        for b in range(tree.start[h], tree.start[h + 1]):
            k, up = (b - tree.start[h]) % p.M, names[tree.link[b, PARENT]]
            names[b] = f"B{k}" if h == 0 else f"{up}{k}"
            row = {"bin": names[b], "layer": h + 1, "parent": up}
            row |= {"noisy_share": tree.stat[b, COUNT] / n, "active": tree.link[b, ACTIVE] == 1}
            row |= {"eigenvalue": tree.stat[b, VALUE], "coefficient": tree.stat[b, COEF]}
            rows.append(row | {f"u{i + 1}": u for i, u in enumerate(tree.frame[b, h])})
    return rows


@jit
def _theta_error(model, law, out):
    """out <- (mad, mse) of least squares from the statistics in model."""
    ssp_estimate(model)
    out[0] = out[1] = 0.0
    for j in range(law.points.shape[0]):
        error = dot(law.points[j], model.theta) - law.means[j]
        out[0] += law.prob[j] * abs(error)
        out[1] += law.prob[j] * error**2


def estimate_ssp(design, n, seeds, executor=None, *, epsilon=1.0, signs=True):
    """(mad, mse), each (n_reps,): perturbed sufficient statistics of n users, least squares in the
    unit ball.  Arguments as for `estimate_lplr`.
    """
    n, epsilon = need_int("n", n, 1, MAX_USERS), need_positive("epsilon", epsilon, allow_inf=True)
    return in_parts(_ssp_fits, (design, n, epsilon, bool(signs)), seeds, executor).T


def _ssp_fits(design, n, epsilon, signs, seeds):
    out = np.zeros((len(seeds), 2))
    for row, seed in zip(out, seeds, strict=True):
        world = law(_drawn(design, seed), signs)
        K, d = world.points.shape
        q, model, work = sufficient_statistics.ssp_params(d, epsilon), ssp_model(d), workspace(K, d)
        rng, plays = stream(seed, "SSP"), np.zeros(K, dtype=np.int64)
        sufficient_statistics.ssp_sums(q, model, world, n, rng, plays, work)
        _theta_error(model, world, row)
    return out


def estimate_inputs(design, n, seeds, executor=None, *, epsilon=1.0):
    """(mad, mse), each (n_reps,): debiased moments of perturbed inputs, users drawn one by one."""
    if not np.allclose(design.prob, design.prob[0]):
        raise ValueError("design must have equal chances for perturbed inputs")
    n, epsilon = need_int("n", n, 1, MAX_USERS), need_positive("epsilon", epsilon)
    return in_parts(_input_fits, (design, n, epsilon), seeds, executor).T


def _input_fits(design, n, epsilon, seeds):
    out, model, world = np.zeros((len(seeds), 2)), ssp_model(design.d), law(design)
    for row, seed in zip(out, seeds, strict=True):
        rng = stream(seed, "perturbed inputs")
        sufficient_statistics.perturbed_inputs(world.points, design.theta, epsilon, n, rng, model)
        _theta_error(model, world, row)
    return out
