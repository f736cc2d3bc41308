"""Links of generalized linear models: the mean of a reward at the linear score z = x'theta.

A link is a number, so that it fits into Params; `LINKS` names them.
    linear    z                  logistic  1/(1 + e^-z)           probit  Phi(z)
    slope     1                            m (1 - m)                      phi(z)
    bend      0                            m (1 - m) (1 - 2m)             -z phi(z)
Source: McCullagh and Nelder (1989), section 4.3.

Losses of generalized linear models, and their minimiser by warm-started damped Newton.

Two losses of a reward r in [0, 1] at the score z.  The *canonical* one, whose derivative is mean(z)
- r, is the likelihood of the exponential family with that mean; the *true* one is the likelihood of
a Bernoulli reward, -r log mean(z) - (1 - r) log(1 - mean(z)).  For the logistic link they are the
same up to a constant; for the probit link they are not, and only the second is a likelihood.
Source: McCullagh and Nelder (1989), section 2.5.
Cost of `fit`: O(n d^2) per Newton step, and one or two steps from a good start.

The minimiser of a likelihood whose rows come one by one, without a pass over all of them.

The sums of the first three derivatives of `likelihood.objective` are kept at an *anchor*, where a
new row enters them in O(d^3).  The minimiser of the cubic model that they make is that of the
objective but for the fourth derivatives, whose share has a bound; where it is above what is
tolerated, a fit over all rows moves the anchor.
With C3 and C4 times the second derivative above the third and the fourth one, m = max |x'move| and
|move|_H^2 = move'H move, the gradient at anchor + move is at most

    C4 exp(2 C3 m) m^2 |move|_H / 6     in the norm of H^-1,

and half its square bounds what the objective has left to fall.
Source: Taylor's theorem; the constants are tested in `tests/kernels/test_anchor.py`.
Cost: O(d^3) per row; the anchor moves less and less often as rows come in.
"""

import math
from typing import NamedTuple

import numpy as np

from companion.jit import jit
from companion.kernels.linalg import (
    add_outer,
    axpy,
    cholesky,
    cholesky_solve,
    copy,
    dot,
    norm,
    quad,
)
from companion.validate import need_choice

LINKS = ("linear", "logistic", "probit")
LINEAR, LOGISTIC, PROBIT = range(3)


def need_link(name: str, value) -> int:
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


STEPS = 60  # damped Newton needs a handful; 60 is a stop against nonsense


@jit
def canonical(link, z, r):
    """Integral of the mean from 0 to z, minus r z."""
    if link == LOGISTIC:
        return max(z, 0.0) + math.log1p(math.exp(-abs(z))) - math.log(2.0) - r * z
    if link == PROBIT:
        return z * mean(link, z) + slope(link, z) - slope(link, 0.0) - r * z
    return 0.5 * z * z - r * z


@jit
def mills(z):
    """phi(z) / Phi(z), also far in the left tail, where it is -z (1 + 1/z^2 - 2/z^4 + ...)."""
    if z < -30.0:
        return -z - 1.0 / z + 2.0 / (z * z * z)
    return slope(PROBIT, z) / mean(PROBIT, z)


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
    """Negative log-likelihood of a Bernoulli reward r; of r in [0, 1] the mixture of the two."""
    return -r * log_mean(link, z) - (1.0 - r) * log_mean(link, -z)


@jit
def true_derivatives(link, z, r):
    """(first, second) derivative in z of `true_loss`; the second is positive."""
    if link == LOGISTIC:  # mean - r and slope, bit for bit, with one exponential
        e = math.exp(-abs(z))
        return (1.0 if z >= 0.0 else e) / (1.0 + e) - r, e / ((1.0 + e) * (1.0 + e))
    up = mills(z) if r > 0.0 else 0.0
    down = mills(-z) if r < 1.0 else 0.0
    first = (1.0 - r) * down - r * up
    return first, r * up * (up + z) + (1.0 - r) * down * (down - z)


@jit
def objective(link, X, y, n, penalty, theta):
    """Sum of `true_loss` over the first n rows of X (., d), y, plus penalty ||theta||^2."""
    total = penalty * dot(theta, theta)
    for i in range(n):
        total += true_loss(link, dot(X[i], theta), y[i])
    return total


@jit
def newton_system(link, X, y, n, penalty, theta, g, H):
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


@jit
def falls_surely(link, X, n, theta, step):
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


@jit
def fit(
    link,
    X,
    y,
    n,
    penalty,
    tolerance,
    theta,
    work,
):
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


def work_for(d: int) -> np.ndarray:
    """Scratch of `fit` in dimension d."""
    return np.zeros((d + 3, d))


MOST = 30  # steps to the minimiser of a model
FAR = 0.5  # of C3 m: no model is asked beyond


class Anchor(NamedTuple):
    """Sums over all rows at one point, penalty included, and where the minimiser is from there."""

    at: np.ndarray  # (d,)
    g: np.ndarray  # (d,) gradient
    H: np.ndarray  # (d, d) Hessian
    third: np.ndarray  # (d, d, d) third derivatives; lower triangles of the last two axes
    most: np.ndarray  # (2,) largest norm of a row, largest |score| at the anchor
    move: np.ndarray  # (d,) minimiser of the model less the anchor
    L: np.ndarray  # (d, d) scratch
    work: np.ndarray  # (2, d) scratch


def anchor_for(d: int, penalty: float) -> Anchor:
    """`Anchor` at 0, before the first row."""
    matrices = 2.0 * penalty * np.eye(d), np.zeros((d, d, d)), np.zeros(2)
    return Anchor(
        np.zeros(d), np.zeros(d), *matrices, np.zeros(d), np.zeros((d, d)), np.zeros((2, d))
    )


@jit
def third_of_log(z):
    """Third derivative of -log Phi at z."""
    h = mills(z)
    s = h * (h + z)
    return h * (1.0 - s) - s * (h + z)


@jit
def true_third(link, z, r):
    """Third derivative in z of `likelihood.true_loss`."""
    if link == LOGISTIC:
        e = math.exp(-abs(z))
        bend = e * (1.0 - e) / ((1.0 + e) * (1.0 + e) * (1.0 + e))
        return -bend if z >= 0.0 else bend
    up = third_of_log(z) if r > 0.0 else 0.0
    down = third_of_log(-z) if r < 1.0 else 0.0
    return r * up - (1.0 - r) * down


@jit
def add(link, x, y, anchor):
    """A new row x (d,), y enters the sums of the anchor."""
    z = dot(x, anchor.at)
    first, second = true_derivatives(link, z, y)
    third = true_third(link, z, y)
    anchor.most[0], anchor.most[1] = max(anchor.most[0], norm(x)), max(anchor.most[1], abs(z))
    axpy(first, x, anchor.g)
    add_outer(second, x, anchor.H)
    for i in range(x.shape[0]):
        for j in range(x.shape[0]):
            c = third * x[i] * x[j]
            for k in range(j + 1):
                anchor.third[i, j, k] += c * x[k]


@jit
def put(link, X, y, n, penalty, theta, anchor):
    """The anchor moves to theta (d,): sums over the first n rows of X (., d), y."""
    copy(theta, anchor.at)
    anchor.most[0], anchor.most[1] = 0.0, 0.0
    for i in range(theta.shape[0]):
        anchor.move[i], anchor.g[i] = 0.0, 2.0 * penalty * theta[i]
        for j in range(theta.shape[0]):
            anchor.H[i, j] = 2.0 * penalty if i == j else 0.0
            for k in range(j + 1):
                anchor.third[i, j, k] = 0.0
    for s in range(n):
        add(link, X[s], y[s], anchor)


@jit
def reach(link, anchor):
    """(m, C3, C4) of the module's docstring at the present move of the anchor."""
    m = anchor.most[0] * norm(anchor.move)
    z = anchor.most[1] + m
    return (m, 1.0, 1.0) if link == LOGISTIC else (m, z + 0.5, z * z + 0.5)


@jit
def model_gradient(anchor, out):
    """out (d,) <- gradient of the cubic model of the anchor at its move."""
    for i in range(out.shape[0]):
        out[i] = (
            anchor.g[i] + dot(anchor.H[i], anchor.move) + 0.5 * quad(anchor.third[i], anchor.move)
        )


@jit
def follow(link, tolerance, anchor, theta):
    """theta (d,) <- the minimiser of the anchor's model, if it is not far; whether the objective is
    surely within the tolerance of its minimum there."""
    g, step, left = anchor.work[0], anchor.work[1], math.inf
    sure = cholesky(anchor.H, anchor.L)
    m, c, c4 = reach(link, anchor)
    for _ in range(MOST if sure else 0):
        model_gradient(anchor, g)
        cholesky_solve(anchor.L, g, step)
        left = max(dot(g, step), 0.0)
        axpy(-1.0, step, anchor.move)
        m, c, c4 = reach(link, anchor)
        if not c * m <= FAR or left <= 0.02 * tolerance:
            break
    if not (sure and c * m <= FAR):
        return False
    for i in range(theta.shape[0]):
        theta[i] = anchor.at[i] + anchor.move[i]
    rest = (
        c4 * math.exp(2.0 * c * m) * m * m * math.sqrt(max(quad(anchor.H, anchor.move), 0.0)) / 6.0
    )
    return 0.5 * (rest + math.sqrt(left)) ** 2 <= tolerance
