"""NoisySGD: n^2 noisy projected gradient steps, each on one random record.  A batch
method.

Source: Bassily, Feldman, Guzman and Talwar (2020), Algorithm 2, used for p >= 2; squared
loss.
Privacy: central; neighbours replace one record.  A step shows one gradient with noise
N(0, sigma^2 I); replacing a record moves it by 2 L <= 2 * 2 (r + Y) in l_2 (q <= 2), if
that record is drawn, which has probability g = 1/n.  All steps compose in Renyi
divergences (`composed`).
Differs: "corrected" is the smallest sigma that this accountant allows; the last iterate
is released, as in the tables of the streaming paper, and not the average of all.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Literal, NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_ndtr

from companion.accounting.privacy import beyond, edge
from companion.baselines.arguments import (
    before_data,
    central_guarantee,
    need_size,
    squares_problem,
)
from companion.core import Optimiser, Release
from companion.jit import borrowed, jit
from companion.kernels.geometry import admit_all, project
from companion.kernels.linalg import axpy, copy, dot
from companion.kernels.mechanisms import random_integer
from companion.validate import need_float, need_positive

# What noisy steps, each on one record of n drawn at random, lose together.


def log_profile(epsilon, g, noise):
    """log delta(epsilon) of one step, epsilon >= 0: g times that of N(0, noise^2) at
    sensitivity 1 and log(1 + (e^epsilon - 1)/g).

    Sampling one record of n = 1/g without replacement, replace-one neighbours: Balle,
    Barthe and Gaboardi (2018), Theorem 9; neighbours are symmetric, so the bound holds in
    both directions.
    """
    inner = np.log1p(np.expm1(epsilon) / g)
    a = 1.0 / noise
    above = log_ndtr(a / 2 - inner / a)
    below = inner + log_ndtr(-a / 2 - inner / a)
    with np.errstate(divide="ignore"):
        return math.log(g) + above + np.log(-np.expm1(np.minimum(below - above, 0.0)))


def renyi(order, g, noise, points=4000):
    """Renyi divergence of one step at `order` > 1, bounded through its profile h:

    exp((a - 1) D_a) <= 1 + a (a - 1) int_0^inf (e^((a - 1) e) + e^(-a e)) h(e) de.
    On each cell the weight is at most its larger end (it is convex), h at most its left
    end.
    """
    # where h ends
    top = math.log1p(g * math.expm1(min(0.5 / noise**2 + 40.0 / noise, 700.0)))
    e = top * np.linspace(0.0, 1.0, points) ** 3  # dense near 0
    weight = np.logaddexp((order - 1.0) * e, -order * e)
    cells = np.maximum(weight[1:], weight[:-1]) + log_profile(e[:-1], g, noise)
    total = float(np.exp(np.minimum(cells, 700.0)) @ np.diff(e))
    return math.log1p(order * (order - 1.0) * total) / (order - 1.0)


LEAST_NOISE = 0.5
ORDERS = 1.0 + np.exp(np.linspace(-1.0, 6.0, 30))


def conversion(a, delta):
    """What epsilon at delta exceeds the Renyi divergence of order a by: Canonne, Kamath
    and Steinke (2020), Proposition 12."""
    return math.log1p(-1.0 / a) - (math.log(delta) + math.log(a)) / (a - 1.0)


def composed(delta, n, noise, steps):
    """epsilon at delta of `steps` steps on n records; noise is sigma over the sensitivity
    2 L."""

    def at(u):
        a = 1.0 + math.exp(u)
        return steps * renyi(a, 1.0 / n, noise) + conversion(a, delta)

    u = np.log(ORDERS - 1.0)
    start = min(range(30), key=lambda i: at(u[i]))
    near = u[[max(start - 1, 0), min(start + 1, 29)]]
    return max(0.0, float(minimize_scalar(at, bounds=near, method="bounded").fun))


@cache
def smallest_noise(epsilon, delta, n, steps):
    """The noise at which `composed` gives epsilon; ValueError where no noise does."""
    least = min(conversion(a, delta) for a in ORDERS)
    if not epsilon > 1.01 * least:
        raise ValueError(
            f"epsilon must be above {1.01 * least:.3g} at delta={delta}, where the "
            f"orders of the accountant end; got {epsilon=}"
        )
    if composed(delta, n, LEAST_NOISE, steps) < epsilon:
        return LEAST_NOISE  # a smaller noise would need orders below those tried

    def enough(noise):
        return composed(delta, n, noise, steps) <= epsilon

    return edge(enough, beyond(enough, 8.0, 2.0), LEAST_NOISE)


class Params(NamedTuple):
    d: int  # dimension
    n: int  # records
    p: float  # the ball is that of l_p
    q: float  # rows are clipped to the unit ball of l_q
    radius: float  # r
    high: float  # labels are clipped to +- this
    steps: int  # n^2
    eta: float  # step
    sigma: float


@jit
def release(p, theta, x, y, rng, out):
    """out (d,) <- the gradient of (y - x'theta)^2 with noise: all that a step shows of a
    record."""
    c = 2.0 * (dot(x, theta) - y)
    for i in range(p.d):
        out[i] = c * x[i] + p.sigma * rng.standard_normal()


@jit
def descend(p, theta, A, b, rng, gradient):
    """theta <- after a step on one random record; gradient <- all that the step shows."""
    j = random_integer(rng, p.n)
    release(p, theta, A[j], b[j], rng, gradient)
    axpy(-p.eta, gradient, theta)
    project(theta, p.p, p.radius)


@jit
def run(p, s, X, Y, rng, out):
    """All steps on the n records X (n, d), Y (n,); the last row of out <- the
    parameter."""
    p = borrowed(p)
    s = borrowed(s)
    A = np.empty(X.shape)
    b = np.empty(Y.shape)
    gradient = np.empty(p.d)
    s.clipped[0] = admit_all(X, Y, p.q, p.high, A, b)
    s.t[0] = X.shape[0]
    for _ in range(p.steps):
        descend(p, s.theta, A, b, rng, gradient)
    copy(s.theta, out[-1])


def noisy_sgd(
    d: int,
    n: int,
    *,
    epsilon: float,
    delta: float | None = None,
    p: float = np.inf,
    radius: float = 1.0,
    label_bound: float = 1.0,
    lipschitz: float | None = None,
    calibration: Literal["corrected", "paper"] = "corrected",
    step_scale: float = 1.0,
) -> Optimiser:
    """NoisySGD over the l_p ball on n records with ||x||_q <= 1, |y| <= label_bound.

    Parameters
    ----------
    d, n : dimension, at least 1; records, at least 2
    epsilon, delta : budget; epsilon in [1e-4, inf] (inf: no noise), delta in (0, 1)
        (None: 1/n); refused where the accountant's orders end (epsilon about
        log(1/delta)/400)
    p : 2 or inf
    radius : of the ball, above 0
    label_bound : labels are clipped to +-label_bound
    lipschitz : L of the noise and of the step (None: the valid 2 (radius + label_bound);
        a smaller one weakens the guarantee, which says so)
    calibration : "paper", sigma^2 = 8 L^2 log(1/delta)/epsilon^2, or "corrected"
    step_scale : above 0

    Returns
    -------
    Optimiser

    Raises
    ------
    ValueError
        on anything else.

    Examples
    --------
    >>> noisy_sgd(3, 60, epsilon=2.0, delta=0.01).params.steps
    3600
    """
    if need_float("p", p, 2.0, allow_inf=True) not in (2.0, np.inf):
        raise ValueError(
            f"p must be 2 or inf, whose balls have a projection in one step; got {p=}"
        )
    c = squares_problem(
        d,
        n,
        p,
        radius,
        label_bound,
        epsilon,
        delta,
        calibration,
        least=2,
    )
    valid = c.lipschitz
    steps = c.n * c.n
    L = valid if lipschitz is None else need_size("lipschitz", lipschitz)
    limit = math.sqrt(c.d * math.log(1.0 / c.delta)) / c.epsilon  # 0 without noise
    eta = need_positive("step_scale", step_scale) * c.radius / L
    eta /= c.n * max(math.sqrt(c.n), limit)
    sigma = 0.0
    true = np.inf
    if c.epsilon < np.inf:
        sigma = math.sqrt(8.0 * math.log(1.0 / c.delta)) * L / c.epsilon
        if calibration == "corrected":
            sigma = 2.0 * valid * smallest_noise(c.epsilon, c.delta, c.n, steps)
        true = composed(c.delta, c.n, sigma / (2.0 * valid), steps)
    params = Params(
        d=c.d,
        n=c.n,
        p=c.p,
        q=c.q,
        radius=c.radius,
        high=c.high,
        steps=steps,
        eta=eta,
        sigma=sigma,
    )
    guarantee = central_guarantee(c, true, calibration)
    return Optimiser(
        name="NoisySGD",
        params=params,
        init=before_data,
        step=None,
        run=run,
        guarantee=guarantee,
        releases=(Release(release, "out", "sampled"),),
        private=("clipped",),
    )
