"""NoisySGD: n^2 noisy projected gradient steps, each on one random record.  A batch method.

Source: Bassily, Feldman, Guzman and Talwar (2020), Algorithm 2, used for p >= 2; squared loss.
Cost: O(d) per step, n^2 steps.
Privacy: a step shows one gradient with noise N(0, sigma^2 I); replacing a record moves it by
2 L <= 2 * 2 (r + Y) in l_2 (q <= 2), if that record is drawn, which has probability g = 1/n.
`log_profile` is the loss of one step, `composed` that of all (the accountant of sampling without
replacement, one record at a time).
Differs: "corrected" is the smallest sigma that this accountant allows; the average or the last
iterate may be released (the tables of the streaming paper use the last).
"""

import functools
import math
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq, minimize_scalar
from scipy.special import log_ndtr

from companion import audit
from companion._jit import jit
from companion.checks import need_choice, need_float, need_int, need_positive
from companion.core import Optimiser
from companion.disclosure import Disclosure, corners
from companion.geometry import admit, dual_exponent, need_exponent, project
from companion.linalg import dot
from companion.privacy import NO_PRIVACY, REPLACE_RECORD, Guarantee, need_budget


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
    average: bool  # release the average of the iterates, not the last


class State(NamedTuple):
    t: int  # records read
    theta: np.ndarray  # (d,) public parameter
    clipped: int  # records outside the universe
    mean: np.ndarray  # (d,) average of the iterates


def init(p, rng):
    """State before the data."""
    return State(0, np.zeros(p.d), 0, np.zeros(p.d))


@jit
def release(p, theta, x, y, rng, out):
    """out (d,) <- the gradient of (y - x'theta)^2 with noise: all that a step shows of a record."""
    c = 2.0 * (dot(x, theta) - y)
    for i in range(p.d):
        out[i] = c * x[i] + p.sigma * rng.standard_normal()


@jit
def run(p, s, X, Y, rng, out):
    """All steps on the n records X (n, d), Y (n,); the last row of out <- the parameter."""
    A, b, clipped = np.empty(X.shape), np.empty(Y.shape), 0
    for t in range(X.shape[0]):
        b[t], outside = admit(X[t], Y[t], p.q, -p.high, p.high, A[t])
        clipped += outside
    theta, mean, gradient = s.theta, s.mean, np.empty(p.d)
    box = p.p == np.inf  # it needs no norm
    for k in range(p.steps):
        j = rng.integers(0, p.n)
        release(p, theta, A[j], b[j], rng, gradient)
        for i in range(p.d):
            theta[i] -= p.eta * gradient[i]
            if box:
                theta[i] = min(max(theta[i], -p.radius), p.radius)
        if not box:
            project(theta, p.p, p.radius)
        if p.average:
            for i in range(p.d):
                mean[i] += (theta[i] - mean[i]) / (k + 1.0)
    for i in range(p.d):
        if p.average:
            theta[i] = mean[i]
        out[out.shape[0] - 1, i] = theta[i]
    return State(X.shape[0], theta, clipped, mean)


def log_profile(epsilon, g, noise):
    """log delta(epsilon) of one step, epsilon >= 0: g times that of N(0, noise^2) at sensitivity 1
    and log(1 + (e^epsilon - 1)/g).

    Sampling one record of n = 1/g without replacement, replace-one neighbours: Balle, Barthe and
    Gaboardi (2018), Theorem 9; neighbours are symmetric, so the bound holds in both directions.
    """
    inner = np.log1p(np.expm1(epsilon) / g)
    a = 1.0 / noise
    above, below = log_ndtr(a / 2 - inner / a), inner + log_ndtr(-a / 2 - inner / a)
    with np.errstate(divide="ignore"):
        return math.log(g) + above + np.log(-np.expm1(np.minimum(below - above, 0.0)))


def renyi(order, g, noise, points=4000):
    """Renyi divergence of one step at `order` > 1, bounded through its profile h:

    exp((a - 1) D_a) <= 1 + a (a - 1) int_0^inf (e^((a - 1) e) + e^(-a e)) h(e) de.
    On each cell the weight is at most its larger end (it is convex), h at most its left end.
    """
    top = math.log1p(g * math.expm1(min(0.5 / noise**2 + 40.0 / noise, 700.0)))  # where h ends
    e = top * np.linspace(0.0, 1.0, points) ** 3  # dense near 0
    weight = np.logaddexp((order - 1.0) * e, -order * e)
    cells = np.maximum(weight[1:], weight[:-1]) + log_profile(e[:-1], g, noise)
    total = float(np.exp(np.minimum(cells, 700.0)) @ np.diff(e))
    return math.log1p(order * (order - 1.0) * total) / (order - 1.0)


def composed(delta, n, noise, steps):
    """epsilon at delta of `steps` steps on n records; noise is sigma over the sensitivity 2 L.

    Renyi divergences add up; conversion by Canonne, Kamath and Steinke (2020), Proposition 12.
    """

    def at(u):
        a = 1.0 + math.exp(u)
        return (
            steps * renyi(a, 1.0 / n, noise)
            + math.log1p(-1.0 / a)
            - (math.log(delta) + math.log(a)) / (a - 1.0)
        )

    orders = np.exp(np.linspace(-1.0, 6.0, 30))  # minus 1
    start = min(range(30), key=lambda i: at(math.log(orders[i])))
    near = np.log(orders[[max(start - 1, 0), min(start + 1, 29)]])
    return max(0.0, float(minimize_scalar(at, bounds=near, method="bounded").fun))


@functools.cache
def smallest_noise(epsilon, delta, n, steps):
    """The noise at which `composed` gives epsilon."""
    low, high = 0.5, 8.0
    while composed(delta, n, high, steps) > epsilon:
        high *= 2.0
    if composed(delta, n, low, steps) < epsilon:
        return low  # a smaller noise would need orders below those tried
    return float(brentq(lambda z: composed(delta, n, z, steps) - epsilon, low, high, xtol=1e-6))


def noisy_sgd(
    d, n, epsilon, delta=None, *, p=np.inf, radius=1.0, label_bound=1.0, lipschitz=None,
    calibration="corrected", step_scale=1.0, average=False,
) -> Optimiser:  # fmt: skip
    """NoisySGD on n records with ||x||_q <= 1, |y| <= label_bound over the l_p ball, p in [2, inf].

    epsilon in (0, inf], delta in (0, 1) (None: 1/n); lipschitz: L of the noise and of the step
    (None: the valid 2 (radius + label_bound); a smaller one weakens the guarantee, which says so);
    calibration: "paper", sigma^2 = 8 L^2 log(1/delta)/epsilon^2, or "corrected"; step_scale > 0;
    average: release the average of the iterates.  Raises ValueError on anything else.
    """
    d, n = need_int("d", d, 1), need_int("n", n, 2)
    p = need_float("p", need_exponent("p", p), 2.0, allow_inf=True)
    epsilon, delta = need_budget(epsilon, 1.0 / n if delta is None else delta)
    need_choice("calibration", calibration, ("paper", "corrected"))
    need_choice("average", average, (True, False))
    r, Y = need_positive("radius", radius), need_positive("label_bound", label_bound)
    valid = 2.0 * (r + Y)
    L = valid if lipschitz is None else need_positive("lipschitz", lipschitz)
    limit = 1.0 if epsilon == np.inf else math.sqrt(d * math.log(1.0 / delta)) / epsilon
    eta = need_positive("step_scale", step_scale) * r / (L * n * max(math.sqrt(n), limit))
    sigma, said, steps = 0.0, NO_PRIVACY, n * n
    if epsilon < np.inf:
        claimed = (epsilon, delta)
        sigma = math.sqrt(8.0 * math.log(1.0 / delta)) * L / epsilon
        if calibration == "corrected":
            claimed, sigma = None, 2.0 * valid * smallest_noise(epsilon, delta, n, steps)
        true = composed(delta, n, sigma / (2.0 * valid), steps)
        said = Guarantee("central", true, delta, REPLACE_RECORD, "record", claimed)
    params = Params(d, n, p, dual_exponent(p), r, Y, steps, eta, sigma, average)
    return Optimiser("NoisySGD", params, init, None, run, said)


def example():
    """A small instance for the common tests."""
    return noisy_sgd(3, 60, 2.0, 1e-2)  # of n^2 steps


def attack(optimiser):
    """`audit.Attack`: the parameter at the end, all that is public, as the first label moves it."""
    return (audit.on_first_label(optimiser, "the order of steps"),)


def victims():
    """What the audits attack, in both calibrations."""
    return tuple(
        noisy_sgd(1, 4, 1.0, 0.1, radius=0.02, calibration=c) for c in ("corrected", "paper")
    )


def disclosures():
    """What the common test of guarantees plays (`companion.disclosure`): every noisy gradient.

    The constant 2 L is nearly attained for a small ball.
    """
    kernels = {release: lambda _, p, theta, x, y, rng, out: [("sampled", out)]}
    return tuple(
        Disclosure(noisy_sgd(2, 6, 1.0, 1e-6, radius=0.02, calibration=kind), kernels,
                   ("clipped",), rounds=6, records=corners(2), reaches=False)
        for kind in ("corrected", "paper")
    )  # fmt: skip
