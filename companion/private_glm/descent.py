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

from companion._jit import jit
from companion.glm import mean
from companion.linalg import axpy, dot, inverse, project_ball
from companion.mechanisms import add_gaussian

SENSITIVITY = 2.0  # of the sum of gradients, to replacing one user


class Descent(NamedTuple):
    """How one estimate is fitted; part of Params."""

    steps: int  # gradient steps
    cutoff: int  # fits over the whole run, at most
    sigma: float  # noise of every coordinate of a gradient
    penalty: float  # ridge
    curvature: float  # the preconditioner is (curvature times the matrix + penalty I)^-1


@jit
def release_gradient(link, X, y, side, wanted, n, theta, sigma, rng, g):
    """g (d,) <- sum of the gradients of rows s < n with side[s] == wanted, and N(0, sigma^2)."""
    for i in range(g.shape[0]):
        g[i] = 0.0
    for s in range(n):
        if side[s] == wanted:
            axpy(mean(link, dot(X[s], theta)) - y[s], X[s], g)
    add_gaussian(rng, sigma, g)


@jit
def precondition(q, matrix, P, A, B):
    """P (d, d) <- (curvature matrix + penalty I)^-1; A, B (d, d) are overwritten."""
    for i in range(P.shape[0]):
        for j in range(P.shape[1]):
            A[i, j] = q.curvature * matrix[i, j] + (q.penalty if i == j else 0.0)
    inverse(A, P, B)


@jit
def step(q, radius, P, theta, g, move):
    """theta <- projection of theta - P (g + penalty theta) on the ball of this radius."""
    d = theta.shape[0]
    axpy(q.penalty, theta, g)
    for i in range(d):
        move[i] = dot(P[i], g)
    for i in range(d):
        theta[i] -= move[i]
    project_ball(theta, radius)


@jit
def descend(q, link, radius, X, y, side, wanted, n, P, rng, theta, work):
    """theta (d,) <- average of the second half of q.steps iterates, started from theta.

    Rows s < n of X (., d), y with side[s] == wanted; work (3, d) is overwritten.
    """
    g, move, mean_iterate = work[0], work[1], work[2]
    d, half = theta.shape[0], q.steps // 2
    for i in range(d):
        mean_iterate[i] = 0.0
    for k in range(q.steps):
        release_gradient(link, X, y, side, wanted, n, theta, q.sigma, rng, g)
        step(q, radius, P, theta, g, move)
        if k >= half:
            axpy(1.0 / (q.steps - half), theta, mean_iterate)
    for i in range(d):
        theta[i] = mean_iterate[i]
