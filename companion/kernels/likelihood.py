"""Losses of generalized linear models, and their minimiser by warm-started damped Newton.

Two losses of a reward r in [0, 1] at the score z.  The *canonical* one, whose derivative is mean(z)
- r, is the likelihood of the exponential family with that mean; the *true* one is the likelihood of
a Bernoulli reward, -r log mean(z) - (1 - r) log(1 - mean(z)).  For the logistic link they are the
same up to a constant; for the probit link they are not, and only the second is a likelihood.
Source: McCullagh and Nelder (1989), section 2.5.
Cost of `fit`: O(n d^2) per Newton step, and one or two steps from a good start.
"""

import math

import numpy as np

from companion._borrowed import lean
from companion._types import Array
from companion.kernels.glm import LOGISTIC, PROBIT, mean, slope
from companion.kernels.linalg import cholesky, cholesky_solve, dot

STEPS = 60  # damped Newton needs a handful; 60 is a stop against nonsense


@lean
def canonical(link: int, z: float, r: float) -> float:
    """Integral of the mean from 0 to z, minus r z."""
    if link == LOGISTIC:
        return max(z, 0.0) + math.log1p(math.exp(-abs(z))) - math.log(2.0) - r * z
    if link == PROBIT:
        return z * mean(link, z) + slope(link, z) - slope(link, 0.0) - r * z
    return 0.5 * z * z - r * z


@lean
def mills(z: float) -> float:
    """phi(z) / Phi(z), also far in the left tail, where it is -z (1 + 1/z^2 - 2/z^4 + ...)."""
    if z < -30.0:
        return -z - 1.0 / z + 2.0 / (z * z * z)
    return slope(PROBIT, z) / mean(PROBIT, z)


@lean
def log_mean(link: int, z: float) -> float:
    """log mean(z) of the logistic or the probit link, without underflow."""
    if link == LOGISTIC:
        return min(z, 0.0) - math.log1p(math.exp(-abs(z)))
    if z < -30.0:
        return -0.5 * z * z - 0.5 * math.log(2.0 * math.pi) - math.log(mills(z))
    return math.log(mean(link, z))


@lean
def true_loss(link: int, z: float, r: float) -> float:
    """Negative log-likelihood of a Bernoulli reward r; of r in [0, 1] the mixture of the two."""
    return -r * log_mean(link, z) - (1.0 - r) * log_mean(link, -z)


@lean
def true_derivatives(link: int, z: float, r: float) -> tuple[float, float]:
    """(first, second) derivative in z of `true_loss`; the second is positive."""
    if link == LOGISTIC:  # mean - r and slope, bit for bit, with one exponential
        e = math.exp(-abs(z))
        return (1.0 if z >= 0.0 else e) / (1.0 + e) - r, e / ((1.0 + e) * (1.0 + e))
    up = mills(z) if r > 0.0 else 0.0
    down = mills(-z) if r < 1.0 else 0.0
    first = (1.0 - r) * down - r * up
    return first, r * up * (up + z) + (1.0 - r) * down * (down - z)


@lean
def objective(link: int, X: Array, y: Array, n: int, penalty: float, theta: Array) -> float:
    """Sum of `true_loss` over the first n rows of X (., d), y, plus penalty ||theta||^2."""
    total = penalty * dot(theta, theta)
    for i in range(n):
        total += true_loss(link, dot(X[i], theta), y[i])
    return total


@lean
def newton_system(
    link: int, X: Array, y: Array, n: int, penalty: float, theta: Array, g: Array, H: Array
) -> None:
    """g (d,), lower triangle of H (d, d) <- gradient and Hessian of `objective` at theta."""
    d = theta.shape[0]
    for i in range(d):
        g[i] = 2.0 * penalty * theta[i]
        for j in range(i + 1):
            H[i, j] = 2.0 * penalty if i == j else 0.0
    for s in range(n):
        x = X[s]
        first, second = true_derivatives(link, dot(x, theta), y[s])
        for i in range(d):
            g[i] += first * x[i]
            c = second * x[i]
            for j in range(i + 1):
                H[i, j] += c * x[j]


@lean
def falls_surely(link: int, X: Array, n: int, theta: Array, step: Array) -> bool:
    """Whether a full step surely lets the objective fall by a quarter of its decrement.

    Where |third derivative| <= c times the second, the second grows by at most e^(c h) over a
    change h of the score, so the objective falls by 1 - (e^m - m - 1)/m^2 of the decrement at
    least, for m = c max h: by 0.28 of it up to m = 1.  c is 1 for the logistic link, and at most
    |z| + 1/2 at the score z for the probit link.
    """
    far, top = 0.0, 0.0
    for s in range(n):
        move = abs(dot(X[s], step))
        if not move < math.inf:
            return False
        far = max(far, move)
        if link == PROBIT:
            top = max(top, abs(dot(X[s], theta)))
    c = 1.0 if link == LOGISTIC else top + far + 0.5
    return c * far <= 1.0


@lean
def fit(
    link: int,
    X: Array,
    y: Array,
    n: int,
    penalty: float,
    tolerance: float,
    theta: Array,
    work: Array,
) -> int:
    """theta <- argmin of `objective`, started from theta; returns the number of Newton steps.

    work (d + 3, d) is overwritten.  A step is halved until the objective falls by a quarter of what
    its decrement promises; small steps (decrement below 1e-4), and those that fall so far for sure,
    are taken whole.  Ends when half the
    squared decrement, which bounds the error of the objective after the step up to higher order,
    is below tolerance; returns STEPS + 1 if it does not.
    """
    d = theta.shape[0]
    H, g, step, trial = work[:d], work[d], work[d + 1], work[d + 2]
    for k in range(STEPS):
        newton_system(link, X, y, n, penalty, theta, g, H)
        cholesky(H, H)
        cholesky_solve(H, g, step)
        decrement = dot(g, step)
        size = 1.0
        if decrement > 1e-4 and not falls_surely(link, X, n, theta, step):
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


def work_for(d: int) -> Array:
    """Scratch of `fit` in dimension d."""
    return np.zeros((d + 3, d))
