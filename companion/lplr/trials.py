"""Repeated estimation runs for experiments, with every argument checked, and what a tree says.

Repetitions are spread by `simulate.over`; from the streams of its seed the design, LPLR and its
rivals draw, so that they are paired.
Source: Algorithm 6 and Lemma 3 of the LPLR paper, for estimates and layers of a fitted tree.
"""

import math
from typing import NamedTuple

import numpy as np

from companion._jit import jit
from companion.checks import need_array, need_int, need_positive
from companion.linalg import dot, norm
from companion.lplr import bins, sufficient_statistics
from companion.lplr.bins import ACTIVE, COEF, PARENT, plant, tree_of, walk
from companion.lplr.environments import SLACK, law, need_ball
from companion.lplr.fit import fit_messages, fit_sums, workspace
from companion.lplr.params import MAX_USERS, lplr_params
from companion.lplr.sufficient_statistics import ssp_estimate, ssp_model
from companion.simulate import need_seeds, over, stream


class Trials(NamedTuple):
    """Estimation runs, one entry per repetition; expectations are over the design."""

    mad: np.ndarray  # mean absolute error of the plug-in estimate
    mse: np.ndarray  # mean square error of the plug-in estimate
    width: np.ndarray  # mean half-width, ||phi|| where the interval is trivial
    covered: np.ndarray  # 1 if every point's interval holds its mean
    active: np.ndarray  # bins with a model
    tax: np.ndarray  # what the bins should cost, see `bins.bin_tax`
    told: np.ndarray  # chance of a point whose interval is not trivial


@jit
def _score(p, tree, law, n, residual, out):
    """out <- the numbers of `Trials`; the tax includes the size of what is left by walks."""
    for i in range(7):
        out[i] = 0.0
    out[3], out[5] = 1.0, bins.bin_tax(p, tree, n)
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
    return [first, *(powers(first * step, step, last) if first * step <= last else [])]


def in_parts(task, args, seeds, executor):
    """Rows of task(*args, part) over parts of the seeds (one per repetition), in their order."""
    seeds = need_seeds(seeds)
    size = -(-len(seeds) // 8)  # eight jobs at most
    parts = [seeds[i : i + size] for i in range(0, len(seeds), size)]
    return np.concatenate(over(task, [(*args, part) for part in parts], executor))


def _drawn(design, seed, signs):
    """The law of one repetition: a function draws its design from the environment's stream."""
    return law(design(stream(seed, "environment")) if callable(design) else design, signs)


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
    world = _drawn(design, seed, signs)
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
    phi = need_array("phi", phi, ("N", p.d))
    y = need_array("y", y, (need_int("rows of phi", len(phi), 2 * p.d),))
    need_ball("phi", phi)
    if not np.abs(y).max() <= 1 + SLACK:
        raise ValueError(f"y must be in [-1, 1]; got {y[np.abs(y).argmax()]:.6g}")
    tree = plant(p)
    fit_messages(p, tree, phi, y, rng)
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
            on, (count, _, value, coef) = tree.link[b, ACTIVE] == 1, tree.stat[b, : COEF + 1]
            row = {"bin": names[b], "layer": h + 1, "parent": up, "noisy_share": count / n}
            row |= {"active": on, "eigenvalue": value, "coefficient": coef}
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
    """(mad, mse) (2, n_reps) of perturbed sufficient statistics, least squares in the unit ball.

    Arguments as for `estimate_lplr`.
    """
    n, epsilon = need_int("n", n, 1, MAX_USERS), need_positive("epsilon", epsilon, allow_inf=True)
    return in_parts(_ssp_fits, (design, n, epsilon, bool(signs)), seeds, executor).T


def _ssp_fits(design, n, epsilon, signs, seeds):
    out = np.zeros((len(seeds), 2))
    for row, seed in zip(out, seeds, strict=True):
        world = _drawn(design, seed, signs)
        K, d = world.points.shape
        q, model, work = sufficient_statistics.ssp_params(d, epsilon), ssp_model(d), workspace(K, d)
        rng, plays = stream(seed, "SSP"), np.zeros(K, dtype=np.int64)
        sufficient_statistics.ssp_sums(q, model, world, n, rng, plays, work)
        _theta_error(model, world, row)
    return out


def both(design, d, n, seeds, epsilon, signs=True):
    """(`Trials` of LPLR, (mad, mse) of its rival), in the same repetitions on a design in R^d."""
    ours = estimate_lplr(design, lplr_params(d, n, epsilon), n, seeds, signs=signs)
    return ours, estimate_ssp(design, n, seeds, epsilon=epsilon, signs=signs)


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
