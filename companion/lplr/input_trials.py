"""The moment estimator from perturbed inputs, Theorem 2's observations: users are drawn one by one.

Source: Theorem 2 of the LPLR paper for what users send; the estimator is ours.
"""

import numpy as np

from companion.jit import jit
from companion.kernels.linalg import add_outer, axpy, dot
from companion.kernels.mechanisms import laplace
from companion.lplr.crowd import law
from companion.lplr.params import MAX_USERS
from companion.lplr.repeat import in_parts
from companion.lplr.ssp_trials import theta_error
from companion.lplr.sufficient_statistics import ssp_clear, ssp_model
from companion.simulate import stream
from companion.validate import need_int, need_positive


@jit
def perturbed_inputs(points, theta, epsilon, n, rng, m):
    """Theorem 2's observations, phi and phi'theta + Lap(1/epsilon), of n users uniform on points.

    Leaves in m the debiased moments: mat, less n (2/epsilon^2) I, and vec.
    """
    ssp_clear(m)
    x, d = m.work[0, 0], points.shape[1]
    for _ in range(n):
        j = rng.integers(0, points.shape[0])
        for i in range(d):
            x[i] = points[j, i] + laplace(rng, 1.0 / epsilon)
        y = dot(points[j], theta) + laplace(rng, 1.0 / epsilon)
        add_outer(1.0, x, m.mat)
        axpy(y, x, m.vec)
    for i in range(d):
        m.mat[i, i] -= n * 2.0 / epsilon**2


def estimate_inputs(design, n: int, seeds, executor=None, *, epsilon: float = 1.0):
    """(mad, mse), each (n_reps,): debiased moments of perturbed inputs, users drawn one by one."""
    if not np.allclose(design.prob, design.prob[0]):
        raise ValueError("design must have equal chances for perturbed inputs")
    n, epsilon = need_int("n", n, 1, MAX_USERS), need_positive("epsilon", epsilon)
    return in_parts(_input_fits, (design, n, epsilon), seeds, executor).T


def _input_fits(design, n, epsilon, seeds):
    rows, model, world = [], ssp_model(design.d), law(design)
    for seed in seeds:
        rng = stream(seed, "perturbed inputs")
        perturbed_inputs(world.points, design.theta, epsilon, n, rng, model)
        rows.append(theta_error(model, world))
    return np.array(rows)
