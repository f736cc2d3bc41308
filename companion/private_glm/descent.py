"""Noisy full-batch gradient descent on a sum of canonical losses: the private optimiser.

Source: Lemma U.4 of the paper (noisy projected gradient descent under zCDP).
Privacy: rewards and means lie in [0, 1] and contexts in the unit ball, so one user's gradient has
norm at most 1, and replacing the user moves the sum by at most 2 (the ridge depends on nobody's
data).  Every step is one Gaussian release of sensitivity 2.
Differs: a sum, not an average, so neither noise nor number of steps depends on how many rows there
are (that number is private); steps are preconditioned by a released matrix, start from the last
estimate and are few; the second half of the iterates is averaged.
"""

from typing import NamedTuple

import numpy as np

from companion.jit import jit
from companion.kernels.glm import mean
from companion.kernels.linalg import axpy, dot, inverse, project_ball
from companion.kernels.mechanisms import add_gaussian

SENSITIVITY = 2.0  # of the sum of gradients, to replacing one user


class Descent(NamedTuple):
    """How one estimate is fitted; part of Params."""

    link: int  # number of the link
    radius: float  # of the ball that holds the estimate
    steps: int  # gradient steps
    cutoff: int  # fits over the whole run, at most
    sigma: float  # noise of every coordinate of a gradient
    penalty: float  # ridge
    curvature: float  # the preconditioner is (curvature times the matrix + penalty I)^-1


class Rows(NamedTuple):
    """What every user brought; secret."""

    X: np.ndarray  # (T, d) clipped contexts of the played arms
    y: np.ndarray  # (T,) clipped rewards
    side: np.ndarray  # (T,) which of two estimates a row belongs to


@jit
def release_gradient(q, rows, side, n, theta, rng, g):
    """g (d,) <- sum of the gradients of rows s < n on this side, and N(0, sigma^2)."""
    g[:] = 0.0
    for s in range(n):
        if rows.side[s] == side:
            axpy(mean(q.link, dot(rows.X[s], theta)) - rows.y[s], rows.X[s], g)
    add_gaussian(rng, q.sigma, g)


@jit
def precondition(curvature, penalty, matrix, P, A, B):
    """P (d, d) <- (curvature matrix + penalty I)^-1; A, B (d, d) are overwritten."""
    for i in range(P.shape[0]):
        for j in range(P.shape[1]):
            A[i, j] = curvature * matrix[i, j] + (penalty if i == j else 0.0)
    inverse(A, P, B)


@jit
def step(k, steps, penalty, radius, P, theta, work):
    """Step k < steps of a descent: theta (d,) <- projection of theta - P (g + penalty theta) on the
    ball of this radius; after the last one theta <- average of the second half of the iterates.

    work (3, d): the gradient g of this step, scratch, and the average so far; overwritten.
    """
    g, move, average = work[0], work[1], work[2]
    axpy(penalty, theta, g)
    for i in range(theta.shape[0]):
        move[i] = dot(P[i], g)
    axpy(-1.0, move, theta)
    project_ball(theta, radius)
    if k == 0:
        average[:] = 0.0
    half = steps // 2
    if k >= half:
        axpy(1.0 / (steps - half), theta, average)
    if k == steps - 1:
        for i in range(theta.shape[0]):
            theta[i] = average[i]


@jit
def descend(q, rows, side, n, P, rng, theta, work):
    """theta (d,) <- q.steps noisy steps from where it stands, on rows s < n of this side; P (d, d)
    from `precondition`, work (3, d) is overwritten."""
    for k in range(q.steps):
        release_gradient(q, rows, side, n, theta, rng, work[0])
        step(k, q.steps, q.penalty, q.radius, P, theta, work)
