"""Generalized linear models: links, losses, their minimiser by damped Newton, and the
steps of a private descent on released matrices.

The mean of a reward at the linear score z = x'theta; a link is a number, so that it fits
into Params, and `LINKS` names them.
    linear    z                  logistic  1/(1 + e^-z)           probit  Phi(z)
    slope     1                            m (1 - m)                      phi(z)
    bend      0                            m (1 - m) (1 - 2m)             -z phi(z)
The loss of a reward r in [0, 1] is that of a Bernoulli reward, its negative
log-likelihood
-r log mean(z) - (1 - r) log(1 - mean(z)).  For the logistic link its derivative is
mean(z) - r.
Source: McCullagh and Nelder (1989), sections 2.5 and 4.3.
"""

import math

import numpy as np

from companion.jit import jit
from companion.kernels import linalg
from companion.validate import need_choice

LINKS = ("linear", "logistic", "probit")
LINEAR, LOGISTIC, PROBIT = range(3)
STEPS = 60  # damped Newton needs a handful; 60 is a stop against nonsense


def need_link(name, value):
    """The number of the link called `value`; raises ValueError unless `LINKS` has it."""
    return LINKS.index(need_choice(name, value, LINKS))


@jit
def mean(link, z):
    """Mean at score z; both tails are exact, neither overflows."""
    if link == LINEAR:
        return z
    if link == PROBIT:
        return 0.5 * math.erfc(-z * math.sqrt(0.5))
    if z >= 0.0:
        return 1.0 / (1.0 + math.exp(-z))
    e = math.exp(z)
    return e / (1.0 + e)


@jit
def slope(link, z):
    """First derivative of the mean at score z."""
    if link == LINEAR:
        return 1.0
    if link == PROBIT:
        return math.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi)
    e = math.exp(-abs(z))
    return e / ((1.0 + e) * (1.0 + e))


@jit
def bend(link, z):
    """Second derivative of the mean at score z."""
    if link == LINEAR:
        return 0.0
    if link == PROBIT:
        return -z * slope(link, z)
    return slope(link, z) * (1.0 - 2.0 * mean(link, z))


@jit
def mills(z):
    """phi(z) / Phi(z), also far in the left tail, where it is -z (1 + 1/z^2 - 2/z^4 +
    ...)."""
    if z < -30.0:
        return -z - 1.0 / z + 2.0 / (z * z * z)
    return slope(PROBIT, z) / mean(PROBIT, z)


@jit
def mills_slope(z):
    """mills(z) (mills(z) + z), also far in the left tail, where it is 1 - 1/z^2 + 6/z^4 -
    ..."""
    m = mills(z)
    return m * (m + z) if z >= -30.0 else 1.0 - (1.0 - 6.0 / (z * z)) / (z * z)


@jit
def log_mean(link, z):
    """log mean(z) of the logistic or the probit link, without underflow."""
    if link == LOGISTIC:
        return min(z, 0.0) - math.log1p(math.exp(-abs(z)))
    if z < -30.0:
        return -0.5 * z * z - 0.5 * math.log(2.0 * math.pi) - math.log(mills(z))
    return math.log(mean(link, z))


@jit
def true_loss(link, z, r):
    """Negative log-likelihood of a Bernoulli reward r; of r in [0, 1] the mixture of the
    two."""
    return -r * log_mean(link, z) - (1.0 - r) * log_mean(link, -z)


@jit
def true_derivatives(link, z, r):
    """(first, second) derivative in z of `true_loss`; the second is positive."""
    if link == LOGISTIC:  # mean - r and slope, with one exponential
        e = math.exp(-abs(z))
        return (1.0 if z >= 0.0 else e) / (1.0 + e) - r, e / ((1.0 + e) * (1.0 + e))
    first = second = 0.0
    if r > 0.0:
        first = -r * mills(z)
        second = r * mills_slope(z)
    if r < 1.0:
        first += (1.0 - r) * mills(-z)
        second += (1.0 - r) * mills_slope(-z)
    return first, second


@jit
def objective(link, X, y, n, penalty, theta):
    """Sum of `true_loss` over the first n rows of X (., d), y, plus penalty
    ||theta||^2."""
    total = penalty * linalg.dot(theta, theta)
    for i in range(n):
        total += true_loss(link, linalg.dot(X[i], theta), y[i])
    return total


@jit
def newton_system(link, X, y, n, penalty, theta, g, H):
    """g (d,), lower triangle of H (d, d) <- gradient and Hessian of `objective` at
    theta."""
    d = theta.shape[0]
    for i in range(d):
        g[i] = 2.0 * penalty * theta[i]
        for j in range(i + 1):
            H[i, j] = 2.0 * penalty if i == j else 0.0
    for s in range(n):
        x = X[s]
        first, second = true_derivatives(link, linalg.dot(x, theta), y[s])
        for i in range(d):
            g[i] += first * x[i]
            c = second * x[i]
            for j in range(i + 1):
                H[i, j] += c * x[j]


@jit
def fit(link, X, y, n, penalty, tolerance, theta, work):
    """theta <- argmin of `objective`, started from theta; returns the number of Newton
    steps.

    work (d + 3, d) is overwritten.  A step is halved until the objective falls by a
    quarter of what its decrement promises; small steps (decrement below 1e-2) are taken
    whole.  Ends when half the squared decrement, which bounds the error of the objective
    after the step up to higher order, is below tolerance; returns STEPS + 1 if it does
    not.
    """
    d = theta.shape[0]
    H = work[:d]
    g = work[d]
    step = work[d + 1]
    trial = work[d + 2]
    for k in range(STEPS):
        newton_system(link, X, y, n, penalty, theta, g, H)
        # contexts so long that the penalty is lost beside them
        if not linalg.cholesky(H, H):
            return STEPS + 1
        linalg.cholesky_solve(H, g, step)
        decrement = linalg.dot(g, step)
        size = 1.0
        if decrement > 1e-2:
            before = objective(link, X, y, n, penalty, theta)
            while size > 1e-6:
                for i in range(d):
                    trial[i] = theta[i] - size * step[i]
                after = objective(link, X, y, n, penalty, trial)
                if after <= before - 0.25 * size * decrement:
                    break
                size *= 0.5
        for i in range(d):
            theta[i] -= size * step[i]
        if 0.5 * decrement <= tolerance:
            return k + 1
    return STEPS + 1


def work_for(d):
    """Scratch of `fit` in dimension d."""
    return np.zeros((d + 3, d))


@jit
def clipped_reward(r):
    """The reward in [0, 1]."""
    return min(max(r, 0.0), 1.0)


# Private estimates: noisy gradients, preconditioned by a released matrix (Rakhlin, Shamir
# and Sridharan 2012 for the average of the last iterates).


@jit
def clip_eigenvalues(M, least, A, B):
    """M (d, d) <- the same with eigenvalues raised to at least `least`; A, B are
    overwritten."""
    linalg.copy(M, A)
    for i in range(M.shape[0]):
        A[i, i] -= least
    if linalg.cholesky(A, B):
        return
    linalg.copy(M, A)
    linalg.jacobi(A, B)
    M[:] = 0.0
    for k in range(M.shape[0]):
        linalg.add_outer(max(A[k, k], least), B[k], M)


@jit
def preconditioner(curvature, penalty, M, P, A, B):
    """P (d, d) <- (curvature M + penalty I)^-1; A, B (d, d) are overwritten."""
    for i in range(P.shape[0]):
        for j in range(P.shape[1]):
            A[i, j] = curvature * M[i, j] + (penalty if i == j else 0.0)
    linalg.inverse(A, P, B)


@jit
def projected_step(k, steps, penalty, radius, P, theta, work):
    """Step k < steps of a descent: theta (d,) <- projection of theta - P (gradient +
    penalty theta) on the ball of this radius; after the last one theta <- average of the
    second half of the iterates.

    work (3, d): the gradient of this step, scratch, and the average so far; overwritten.
    """
    gradient = work[0]
    move = work[1]
    average = work[2]
    linalg.axpy(penalty, theta, gradient)
    linalg.matvec(P, gradient, move)
    linalg.axpy(-1.0, move, theta)
    linalg.project_ball(theta, radius)
    if k == 0:
        average[:] = 0.0
    half = steps // 2
    if k >= half:
        linalg.axpy(1.0 / (steps - half), theta, average)
    if k == steps - 1:
        linalg.copy(average, theta)
