"""NoisySFW: variance-reduced Frank-Wolfe with a large first batch and noise on every
gradient.

It reads a stream, but releases nothing before half of it.
Source: Bassily, Guzman and Nandi (2021), Algorithm 3, for 1 < p < 2; squared loss.
Privacy: central; neighbours replace one record, which enters one release.  The first
averages n // 2 gradients at 0 and moves by 2 L/(n // 2) in l_q; a later one averages b
differences of gradients at points c D eta apart and moves by 2 beta eta D/b, with D = 2
r, beta = 2, L = 2 (r + Y) for f = (y - x'theta)^2.
Differs: "corrected" is the exact Gaussian; b is the whole number floor(sqrt n / 2), at
least 1.
"""

import math
from typing import Literal, NamedTuple

import numpy as np

from companion.accounting.privacy import gaussian_epsilon, gaussian_mu, zcdp_epsilon
from companion.baselines.arguments import central_guarantee, squares_problem
from companion.core import Optimiser, Release
from companion.jit import borrowed, inlined, jit
from companion.kernels.geometry import admit, euclidean_factor, smooth_exponent, vertex
from companion.kernels.linalg import axpy, copy, dot
from companion.kernels.mechanisms import generalized_gaussian
from companion.validate import need_float, need_positive

BETA = 2.0  # smoothness of the squared loss


class Params(NamedTuple):
    d: int  # dimension
    n: int  # records
    p: float  # the ball is that of l_p
    q: float  # rows are clipped to the unit ball of l_q
    radius: float  # r
    high: float  # labels are clipped to +- this
    half: int  # records of the first release
    batch: int  # b, records of a later one
    steps: int  # number of later ones
    eta: float  # step
    exponent: float = 2.0  # of the noise's norm
    sigma_first: float = 0.0
    sigma: float = 0.0


class State(NamedTuple):
    t: np.ndarray  # (1,) records read
    clipped: np.ndarray  # (1,) records outside the universe
    theta: np.ndarray  # (d,) public parameter
    old: np.ndarray  # (d,) the parameter before
    gradient: np.ndarray  # (d,) released gradient
    total: np.ndarray  # (d,) exact sum over the batch (secret)
    v: np.ndarray  # (d,) vertex
    x: np.ndarray  # (d,) clipped context
    released: np.ndarray  # (d,) what the last batch showed: its mean, with noise


def init(p, rng) -> State:
    """State before the first record."""
    return State(
        t=np.zeros(1, np.int64),
        clipped=np.zeros(1, np.int64),
        theta=np.zeros(p.d),
        old=np.zeros(p.d),
        gradient=np.zeros(p.d),
        total=np.zeros(p.d),
        v=np.zeros(p.d),
        x=np.zeros(p.d),
        released=np.zeros(p.d),
    )


@inlined
def gather(p, s, x, y):
    """Add a record to the sum of its batch."""
    y, clipped = admit(x, y, p.q, -p.high, p.high, s.x)
    c = -2.0 * y  # of the gradient at 0
    if s.t[0] >= p.half:
        c = 2.0 * (dot(s.x, s.theta) - dot(s.x, s.old))
    axpy(c, s.x, s.total)
    s.clipped[0] += clipped
    s.t[0] += 1


@inlined
def batch_end(p, t):
    """Records of the batch that record t >= 1 completes, or 0."""
    if t == p.half:
        return p.half
    k = t - p.half
    if 0 < k <= p.batch * p.steps and k % p.batch == 0:
        return p.batch
    return 0


@jit
def add_mean(p, s, size):
    """s.released += mean of the batch, whose sum <- 0."""
    for i in range(p.d):
        s.released[i] += s.total[i] / size
        s.total[i] = 0.0


@jit
def release(p, s, size, sigma, rng):
    """s.released <- the batch's mean with noise of scale sigma, all that is shown of the
    batch."""
    s.released[:] = 0.0
    if sigma > 0.0:
        generalized_gaussian(rng, p.exponent, sigma, s.released)
    add_mean(p, s, size)


@jit
def descend(p, s):
    """Add what was released to the gradient, then one Frank-Wolfe step."""
    axpy(1.0, s.released, s.gradient)
    vertex(s.gradient, p.p, p.radius, s.v)
    copy(s.theta, s.old)
    for i in range(p.d):
        s.theta[i] += p.eta * (s.v[i] - s.theta[i])


@jit
def step(p, s, x, y, rng):
    """Read the record x (d,), y; s is changed in place, s.theta is public."""
    gather(p, s, x, y)
    size = batch_end(p, s.t[0])
    if size > 0:
        release(p, s, size, p.sigma_first if s.t[0] == p.half else p.sigma, rng)
        descend(p, s)


@jit
def run(p, s, X, Y, rng, out):
    """Read n records X (n, d), Y (n,); out (n, d) <- the public parameter after each."""
    p = borrowed(p)
    s = borrowed(s)
    for t in range(X.shape[0]):
        step(p, s, X[t], Y[t], rng)
        copy(s.theta, out[t])


def noise(p, problem, calibration):
    """(exponent, sigma_first, sigma, true epsilon): of `Params` p without noise."""
    epsilon = problem.epsilon
    delta = problem.delta
    lipschitz = problem.lipschitz
    first = 2.0 * lipschitz / p.half
    later = 4.0 * BETA * p.eta * p.radius / p.batch
    s2 = euclidean_factor(p.q, p.d)
    if calibration == "corrected":
        scale = s2 / gaussian_mu(epsilon, delta)
        return 2.0, first * scale, later * scale, gaussian_epsilon(delta, scale, s2)
    if epsilon > 2.0:
        raise ValueError(
            f"epsilon must be at most 2 for calibration='paper'; got {epsilon=}"
        )
    exponent, kappa = smooth_exponent(p.q, p.d)
    unit = math.sqrt(2.0 * kappa * math.log(1.0 / delta)) / epsilon
    sigma_first = unit * 4.0 * lipschitz / p.n
    sigma = unit * 8.0 * BETA * p.eta * p.radius / math.sqrt(p.n)
    ratio = max(first / sigma_first, later / sigma)
    true = zcdp_epsilon(kappa * ratio * ratio / 2.0, delta)
    if exponent == 2.0:  # an ordinary Gaussian: its privacy is known exactly
        true = gaussian_epsilon(delta, 1.0, ratio * s2)
    return exponent, sigma_first, sigma, true


def noisy_sfw(
    d: int,
    n: int,
    *,
    epsilon: float,
    delta: float | None = None,
    p: float = 1.5,
    radius: float = 1.0,
    label_bound: float = 1.0,
    calibration: Literal["corrected", "paper"] = "corrected",
    step_scale: float = 1.0,
) -> Optimiser:
    """NoisySFW on the l_p ball for n records with ||x||_q <= 1, |y| <= label_bound.

    Parameters
    ----------
    d, n : dimension, at least 1; records, at least 4
    epsilon, delta : budget; epsilon in [1e-4, inf] (inf: no noise; at most 2 for
        "paper"), delta in (0, 1) (None: 1/n)
    p : 1 < p <= 2
    radius : of the ball, above 0
    label_bound : labels are clipped to +-label_bound
    calibration : "paper" or "corrected"
    step_scale : above 0, multiplies the step log(n)/(2 sqrt n), which must stay at most 1

    Returns
    -------
    Optimiser

    Raises
    ------
    ValueError
        on anything else.

    Examples
    --------
    >>> noisy_sfw(3, 400, epsilon=2.0, delta=0.01).params.half
    200
    """
    need_float("p", p, 1.0, 2.0, open_low=True)
    c = squares_problem(
        d,
        n,
        p,
        radius,
        label_bound,
        epsilon,
        delta,
        calibration,
        least=4,
    )
    eta = need_positive("step_scale", step_scale) * math.log(c.n) / (2.0 * math.sqrt(c.n))
    if eta > 1.0:
        raise ValueError(
            f"step_scale must keep the step at most 1; got {step_scale=}: {eta:.3g}"
        )
    batch = max(1, int(math.sqrt(c.n) / 2.0))
    steps = math.isqrt(c.n) - 1
    params = Params(
        d=c.d,
        n=c.n,
        p=c.p,
        q=c.q,
        radius=c.radius,
        high=c.high,
        half=c.n // 2,
        batch=batch,
        steps=steps,
        eta=eta,
    )
    true = np.inf
    if c.epsilon < np.inf:
        exponent, at_first, later, true = noise(params, c, calibration)
        params = params._replace(exponent=exponent, sigma_first=at_first, sigma=later)
    guarantee = central_guarantee(c, true, calibration)
    law = "gaussian" if params.exponent == 2.0 else "generalized"
    return Optimiser(
        name="NoisySFW",
        params=params,
        init=init,
        step=step,
        run=run,
        guarantee=guarantee,
        releases=(Release(release, "s.released", law),),
        private=("clipped", "total", "x"),
    )
