"""Linear losses, all slopes at once: the first coordinate of what is public, on shared draws.

A leaf of the loss <x, theta> is x, whatever was published before.  So the sums of all coordinates
but the first are alike for all slopes, and so is their noise, which the slow runs draw from the
same stream.  The excess risk needs theta_1 alone; a vertex shows it by the first entry of d_t and
the l_q norm of all others.  With noisy scores ("gumbel") the vertex has the law of the exponential
mechanism: chances proportional to exp(score/b), of which those of +-r e_1 and their sum over the
others are enough, and one uniform number chooses.
Every slope has the law of `excess_risk` with `Functional`; with the tree, the square root or
without noise it has the same numbers up to rounding (both tested).
Cost: O(d) time per record, and O(1) for every slope.
"""

import math
from typing import NamedTuple

import numpy as np

from companion.jit import jit
from companion.kernels.geometry import lq_norm, vertex
from companion.kernels.linalg import copy
from companion.simulate import need_grid, need_seeds, over, stream
from companion.streaming_sco.environments import Functional
from companion.streaming_sco.learner import (
    GUMBEL,
    INNER,
    SQRT,
    leaf,
    memory,
    noise_scale,
    release,
)


class Lines(NamedTuple):
    """The records of one repetition for m slopes, as far as they are drawn before the run."""

    slopes: np.ndarray  # (m,)
    u: np.ndarray  # (n,) the first entry is -size if u < (1 + slope)/2, else size
    size: float  # of the entries of a leaf


@jit
def add_leaf(w, t, records, total, lead):
    """Add leaf t >= 1: its first entry to lead (m,), all others to total (d,), whose first entry
    stays; records draws the signs in the order of `Functional.records`."""
    for i in range(total.shape[0]):
        entry = w.size if records.random() < 0.5 else -w.size
        total[i] += entry if i > 0 else 0.0
    for k in range(w.slopes.shape[0]):
        lead[k] += -w.size if w.u[t - 1] < 0.5 * (1.0 + w.slopes[k]) else w.size


@jit
def by_release(p, w, grid, records, rng, noise, out):
    """out (m, places) <- theta_1 of m slopes at every t of the grid, where d_t is released.

    w, records as in `add_leaf`; noise as in `learner.Memory`.
    """
    total, gradient, pair, v = np.zeros(p.d), np.zeros(p.d), np.zeros(2), np.zeros(2)
    lead, theta, at = np.zeros(w.slopes.shape[0]), np.zeros(w.slopes.shape[0]), 0
    for t in range(1, grid[-1] + 1):
        add_leaf(w, t, records, total, lead)
        release(p, t, total, noise, gradient, rng)
        pair[1], weight = lq_norm(gradient[1:], p.q), 1.0 / (t + 1.0)
        for k in range(lead.shape[0]):
            pair[0] = gradient[0] + weight * lead[k]  # rounded like the others: ties stay ties
            vertex(pair, p.p, p.radius, v)
            theta[k] += p.step * weight * (v[0] - theta[k])
        if t == grid[at]:
            copy(theta, out[:, at])
            at += 1


@jit
def by_choice(p, w, grid, records, rng, out):
    """out (m, places) <- theta_1 of m slopes at every t of the grid, where +-r e_j is chosen with
    chance proportional to exp(score/b); w, records as in `add_leaf`."""
    total, lead = np.zeros(p.d), np.zeros(w.slopes.shape[0])
    theta, at = np.zeros(lead.shape[0]), 0
    for t in range(1, grid[-1] + 1):
        add_leaf(w, t, records, total, lead)
        unit = p.radius / ((t + 1.0) * noise_scale(p, t))  # of scores, over b
        top, others, first = 0.0, 0.0, rng.random()
        for i in range(1, p.d):
            top = max(top, unit * abs(total[i]))
        for i in range(1, p.d):
            size = unit * abs(total[i])
            others += math.exp(size - top) + math.exp(-size - top)
        for k in range(lead.shape[0]):
            score = -unit * lead[k]
            shift = max(top, abs(score))
            plus, minus = math.exp(score - shift), math.exp(-score - shift)
            place = first * (plus + minus + others * math.exp(top - shift))
            v = p.radius if place < plus else (-p.radius if place < plus + minus else 0.0)
            theta[k] += p.step / (t + 1.0) * (v - theta[k])
        if t == grid[at]:
            copy(theta, out[:, at])
            at += 1


def excesses(
    optimiser,
    slopes,
    n: int,
    seeds,
    grid: np.ndarray,
    executor=None,
) -> np.ndarray:
    """Excess risk (slopes, n_reps, n_grid) of linear losses at every t of the increasing grid.

    slopes: of `Functional`, in (0, 1); executor as in `simulate`; optimiser: `streaming_fw`, or
    `vertex_fw` with the selector "gumbel", for the loss "inner product" and at least two
    coordinates.  Raises ValueError on others.
    """
    p, grid = optimiser.params, need_grid(grid, n)[: len(grid)]
    noisy = getattr(p, "scale", 0.0) > 0.0
    if getattr(p, "loss", None) != INNER or p.d < 2 or (noisy and p.method != GUMBEL):
        raise ValueError("optimiser must be Algorithm 1, or 2 with Gumbel noise, for the loss"
                         f" 'inner product' and d >= 2; got {optimiser}")  # fmt: skip
    jobs = [(p, optimiser.name, np.array(slopes), n, seed, grid) for seed in need_seeds(seeds)]
    theta = np.stack(over(_repetition, jobs, executor), axis=1)
    worlds = [Functional(p.d, g, p.p) for g in slopes]
    return np.array([w.excess(y[..., None]) for w, y in zip(worlds, theta, strict=True)])


def _repetition(p, name, slopes, n, seed, grid):
    records, later = (stream(seed, "environment") for _ in range(2))
    later.bit_generator.advance(n * p.d)  # the signs come first
    x, still = np.full(p.d, Functional(p.d, slopes[0], p.p).size), np.zeros(p.d)
    leaves = x[0] * leaf(p, 1, x, 0.0, still, still)  # of one length, all are clipped alike
    w, rng = Lines(slopes, later.random(n), leaves), stream(seed, name)
    out = np.empty((len(slopes), len(grid)))
    if p.method > SQRT and p.scale > 0.0:
        by_choice(p, w, grid, records, rng, out)
    else:
        by_release(p, w, grid, records, rng, memory(p, rng).noise, out)
    return out
