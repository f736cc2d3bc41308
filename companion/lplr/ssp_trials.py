"""Repeated estimation runs of perturbed sufficient statistics, alone or paired with LPLR's."""

import numpy as np

from companion.jit import jit
from companion.kernels.linalg import dot
from companion.lplr.crowd import crowd
from companion.lplr.params import MAX_USERS, lplr_params
from companion.lplr.repeat import drawn, in_parts
from companion.lplr.sufficient_statistics import ssp_estimate, ssp_model, ssp_params, ssp_sums
from companion.lplr.trials import estimate_lplr
from companion.simulate import stream
from companion.validate import need_int, need_positive


@jit
def theta_error(model, law):
    """(mad, mse) of least squares from the statistics in model."""
    ssp_estimate(model)
    mad, mse = 0.0, 0.0
    for j in range(law.points.shape[0]):
        error = dot(law.points[j], model.theta) - law.means[j]
        mad += law.prob[j] * abs(error)
        mse += law.prob[j] * error**2
    return mad, mse


def estimate_ssp(
    design,
    n: int,
    seeds,
    executor=None,
    *,
    epsilon: float = 1.0,
    signs: bool = True,
):
    """(mad, mse) (2, n_reps) of perturbed sufficient statistics, least squares in the unit ball.

    Arguments as for `estimate_lplr`.
    """
    n, epsilon = need_int("n", n, 1, MAX_USERS), need_positive("epsilon", epsilon, allow_inf=True)
    return in_parts(_ssp_fits, (design, n, epsilon, bool(signs)), seeds, executor).T


def _ssp_fits(design, n, epsilon, signs, seeds):
    rows = []
    for seed in seeds:
        world = drawn(design, seed, signs)
        K, d = world.points.shape
        p, model = ssp_params(d, epsilon), ssp_model(d)
        ssp_sums(p, model, world, n, stream(seed, "SSP"), crowd(K, d))
        rows.append(theta_error(model, world))
    return np.array(rows)


def both(design, d: int, n: int, seeds, epsilon: float, signs: bool = True):
    """(`Trials` of LPLR, (mad, mse) of its rival), in the same repetitions on a design in R^d."""
    ours = estimate_lplr(design, lplr_params(d, n, epsilon), n, seeds, signs=signs)
    return ours, estimate_ssp(design, n, seeds, epsilon=epsilon, signs=signs)
