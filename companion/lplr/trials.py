"""Repeated estimation runs of LPLR, with every argument checked.

Repetitions are spread by `simulate.over`; from the streams of its seed the design, LPLR and its
rivals (`ssp_trials`, `input_trials`) draw, so that they are paired.
"""

from typing import NamedTuple

import numpy as np

from companion.jit import jit
from companion.kernels.linalg import norm
from companion.lplr.bins import ACTIVE, bin_tax, plant, predict, tree_of
from companion.lplr.crowd import crowd
from companion.lplr.fit import fit_sums
from companion.lplr.params import MAX_USERS
from companion.lplr.repeat import drawn, in_parts
from companion.simulate import need_seeds, stream
from companion.validate import need_int


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
def _score(p, tree, law, n, residual):
    """The `Trials` of one tree, as numbers; the tax includes the size of what is left by walks."""
    mad, mse, width, covered, told = 0.0, 0.0, 0.0, 1.0, 0.0
    tax = bin_tax(p, tree, n)
    for j in range(law.points.shape[0]):
        f, half = predict(p, tree, law.points[j], residual)
        error, length = abs(f - law.means[j]), norm(law.points[j])
        mad += law.prob[j] * error
        mse += law.prob[j] * error**2
        tax += law.prob[j] * norm(residual)
        if half >= length:  # as `bins.interval`
            error, half = abs(law.means[j]), length
        else:
            told += law.prob[j]
        width += law.prob[j] * half
        if error > half + 1e-12:
            covered = 0.0
    active = 0
    for b in range(tree.start[p.d]):
        active += tree.link[b, ACTIVE]
    return Trials(mad, mse, width, covered, active, tax, told)


def estimate_lplr(
    design,
    p,
    n: int,
    seeds,
    executor=None,
    *,
    signs: bool = True,
) -> Trials:
    """LPLR runs with p (`lplr_params`) on n users from a design, n // (2d) per stage: `Trials`.

    design: a `Design`, or a function of a generator that draws one for every repetition; seeds and
    executor as for `simulate`; signs: labels are +1 or -1 (else noiseless).  Raises ValueError if n
    < 2d, n > 1e18 or p has another dimension.
    """
    n = need_int("n", n, 2 * p.d, MAX_USERS)
    return Trials(*in_parts(_fits, (design, p, n // (2 * p.d), bool(signs)), seeds, executor).T)


def _fits(design, p, n, signs, seeds):
    forest, rows = plant(p, 1), []
    for seed in seeds:
        world, residual = _fit(design, p, n, signs, seed, forest)
        rows.append(_score(p, tree_of(forest, 0), world, n, residual))
    return np.array(rows, dtype=float)


def _fit(design, p, n, signs, seed, forest):
    """(law, scratch) of one repetition, whose tree is left in the forest."""
    world = drawn(design, seed, signs)
    if world.points.shape[1] != p.d:
        raise ValueError(f"design must have dimension d={p.d}; got d={world.points.shape[1]}")
    users = crowd(*world.points.shape)
    fit_sums(p, forest, world, n, stream(seed, "LPLR"), users)
    return world, users.residual


def fit_design(design, p, n: int, seed: int, *, signs: bool = True):
    """The tree of one repetition of `estimate_lplr`; seed: an integer or a SeedSequence."""
    n, (seed,), forest = need_int("n", n, 2 * p.d, MAX_USERS), need_seeds([seed]), plant(p, 1)
    _fit(design, p, n // (2 * p.d), signs, seed, forest)
    return tree_of(forest, 0)
