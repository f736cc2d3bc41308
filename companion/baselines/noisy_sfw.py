"""NoisySFW: variance-reduced Frank-Wolfe with a large first batch and noise on every gradient.

Source: Bassily, Guzman and Nandi (2021), Algorithm 3, for 1 < p < 2; squared loss.
Cost: O(d) time per record; 16 times the floor, a product per record, for it clips the record, whose
norm takes a sum in order, and adds two gradients up; it reads a stream, but releases nothing before
half of it.
Privacy: a record enters one release.  The first averages n // 2 gradients at 0 and moves by
2 L/(n // 2) in l_q; a later one averages b differences of gradients at points c D eta apart and
moves by 2 beta eta D/b, with D = 2 r, beta = 2, L = 2 (r + Y) for f = (y - x'theta)^2.
Differs: "corrected" is the exact Gaussian; b is the whole number floor(sqrt n / 2), at least 1.
"""

import math
from typing import NamedTuple

import numpy as np

from companion.accounting import audit
from companion.accounting import audit as learned
from companion.accounting.audit import AuditInstance, AuditSpec, corners, in_both, lives, shows
from companion.accounting.privacy import (
    NO_PRIVACY,
    REPLACE_RECORD,
    Guarantee,
    gaussian_epsilon,
    gaussian_mu,
    need_budget,
    zcdp_epsilon,
)
from companion.core import Optimiser
from companion.jit import inlined, jit
from companion.kernels.geometry import (
    admit,
    dual_exponent,
    euclidean_factor,
    need_exponent,
    smooth_exponent,
    vertex,
)
from companion.kernels.linalg import copy
from companion.kernels.mechanisms import generalized_gaussian
from companion.validate import need_choice, need_float, need_int, need_positive


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
    exponent: float  # of the noise's norm
    sigma_first: float
    sigma: float


class State(NamedTuple):
    t: int  # records read
    theta: np.ndarray  # (d,) public parameter
    clipped: int  # records outside the universe
    old: np.ndarray  # (d,) the parameter before
    gradient: np.ndarray  # (d,) released gradient
    total: np.ndarray  # (d,) exact sum over the batch (secret)
    v: np.ndarray  # (d,) vertex
    x: np.ndarray  # (d,) clipped context
    noise: np.ndarray  # (d,) noise of a release, then what is released


def init(p: Params, rng: np.random.Generator | None) -> State:
    """State before the first record."""
    return State(0, np.zeros(p.d), 0, *(np.zeros(p.d) for _ in range(6)))


@inlined
def gather(p, s, t, x, y):
    """Add the record after t others to the sum of its batch; 1 if it was clipped else 0."""
    inside, theta, old, total = s.x, s.theta, s.old, s.total
    y, clipped = admit(x, y, p.q, -p.high, p.high, inside)
    c = -2.0 * y  # of the gradient at 0
    if t >= p.half:
        new, before = 0.0, 0.0
        for i in range(p.d):
            new += inside[i] * theta[i]
            before += inside[i] * old[i]
        c = 2.0 * (new - before)
    for i in range(p.d):
        total[i] += c * inside[i]
    return clipped


@inlined
def batch_end(p, t):
    """Records of the batch that record t >= 1 completes, or 0."""
    if t == p.half:
        return p.half
    k = t - p.half
    return p.batch if k > 0 and k <= p.batch * p.steps and k % p.batch == 0 else 0


@jit
def release(p, s, size, sigma, rng):
    """s.noise <- the batch's mean with noise of scale sigma, all that is shown of the batch."""
    s.noise[:] = 0.0
    if sigma > 0.0:
        generalized_gaussian(rng, p.exponent, sigma, s.noise)
    add_mean(p, s, size)


@jit
def add_mean(p, s, size):
    """s.noise += mean of the batch, whose sum <- 0."""
    for i in range(p.d):
        s.noise[i] += s.total[i] / size
        s.total[i] = 0.0


@jit
def descend(p, s):
    """Add what was released to the gradient, then one Frank-Wolfe step."""
    for i in range(p.d):
        s.gradient[i] += s.noise[i]
    vertex(s.gradient, p.p, p.radius, s.v)
    for i in range(p.d):
        s.old[i] = s.theta[i]
        s.theta[i] += p.eta * (s.v[i] - s.theta[i])


@inlined
def advance(p, s, t, x, y, rng):
    """The arrays of s after the record x (d,), y, which comes after t others; 1 if it was clipped
    else 0."""
    clipped = gather(p, s, t, x, y)
    size = batch_end(p, t + 1)
    if size > 0:
        release(p, s, size, p.sigma_first if t + 1 == p.half else p.sigma, rng)
        descend(p, s)
    return clipped


@jit
def step(p, s, x, y, rng):
    """State after the record x (d,), y; the arrays of s are overwritten."""
    clipped = s.clipped + advance(p, s, s.t, x, y, rng)
    return State(s.t + 1, s.theta, clipped, s.old, s.gradient, s.total, s.v, s.x, s.noise)


@jit
def run(p, s, X, Y, rng, out):
    """Read n records X (n, d), Y (n,); out (n, d) <- the public parameter after each."""
    clipped, theta, n = s.clipped, s.theta, X.shape[0]
    for t in range(n):
        clipped += advance(p, s, s.t + t, X[t], Y[t], rng)
        for i in range(p.d):
            out[t, i] = theta[i]
    return State(s.t + n, theta, clipped, s.old, s.gradient, s.total, s.v, s.x, s.noise)


def noise(
    p: Params, epsilon: float, delta: float, calibration: str, lipschitz: float, beta: float
) -> tuple[float, float, float, float]:
    """(exponent, sigma_first, sigma, true epsilon): of `Params` p without noise."""
    first, later = 2.0 * lipschitz / p.half, 4.0 * beta * p.eta * p.radius / p.batch
    s2 = euclidean_factor(p.q, p.d)
    if calibration == "corrected":
        scale = s2 / gaussian_mu(epsilon, delta)
        return 2.0, first * scale, later * scale, gaussian_epsilon(delta, scale, s2)
    if epsilon > 2.0:
        raise ValueError(f"epsilon must be at most 2 for calibration='paper'; got {epsilon=}")
    exponent, kappa = smooth_exponent(p.q, p.d)
    unit = math.sqrt(2.0 * kappa * math.log(1.0 / delta)) / epsilon
    sigmas = unit * 4.0 * lipschitz / p.n, unit * 8.0 * beta * p.eta * p.radius / math.sqrt(p.n)
    ratio = max(first / sigmas[0], later / sigmas[1])
    if exponent == 2.0:
        return exponent, *sigmas, gaussian_epsilon(delta, 1.0, ratio * s2)
    return exponent, *sigmas, zcdp_epsilon(kappa * ratio * ratio / 2.0, delta)


def noisy_sfw(
    d: int,
    n: int,
    *,
    epsilon: float,
    delta: float | None = None,
    p: float = 1.5,
    radius: float = 1.0,
    label_bound: float = 1.0,
    calibration: str = "corrected",
    step_scale: float = 1.0,
) -> Optimiser:
    """NoisySFW on the l_p ball, 1 < p <= 2, for n >= 4 records, ||x||_q <= 1, |y| <= label_bound.

    epsilon in (0, inf] (at most 2 for "paper"), delta in (0, 1) (None: 1/n); calibration: "paper"
    or "corrected"; step_scale > 0 multiplies the step log(n)/(2 sqrt n), which must stay at most 1.
    Raises ValueError on anything else.
    """
    d, n = need_int("d", d, 1), need_int("n", n, 4)
    p = need_float("p", need_exponent("p", p), 1.0, 2.0, open_low=True)
    epsilon, delta = need_budget(epsilon, 1.0 / n if delta is None else delta)
    need_choice("calibration", calibration, ("paper", "corrected"))
    r, Y = need_positive("radius", radius), need_positive("label_bound", label_bound)
    eta = need_positive("step_scale", step_scale) * math.log(n) / (2.0 * math.sqrt(n))
    if eta > 1.0:
        raise ValueError(f"step_scale must keep the step at most 1; got {step_scale=}: {eta:.3g}")
    batch, steps = max(1, int(math.sqrt(n) / 2.0)), math.isqrt(n) - 1
    params = Params(d, n, p, dual_exponent(p), r, Y, n // 2, batch, steps, eta, 2.0, 0.0, 0.0)
    said = NO_PRIVACY
    if epsilon < np.inf:
        *sizes, true = noise(params, epsilon, delta, calibration, 2.0 * (r + Y), 2.0)
        params = params._replace(exponent=sizes[0], sigma_first=sizes[1], sigma=sizes[2])
        claimed = (epsilon, delta) if calibration == "paper" else None
        said = Guarantee("central", true, delta, REPLACE_RECORD, "record", claimed)
    return Optimiser(
        "NoisySFW",
        params,
        init,
        step,
        run,
        said,
        audit=AuditSpec(own_attacks, attack_instances, audit_instances),
    )


@jit
def first_releases(p, s, x, y, rng, out):
    """out (n, d) <- n first releases about the record x (d,), y and zeros; s is overwritten."""
    for i in range(out.shape[0]):
        gather(p, s, 0, x, y)
        release(p, s, p.half, p.sigma_first, rng)
        copy(s.noise, out[i])


def own_attacks(optimiser: Optimiser):
    """`audit.Attack`: the first release; a label is as large as it may be, or its opposite."""
    p = optimiser.params
    x, s = np.full(p.d, p.d ** (-1.0 / p.q)), init(p, None)  # no context is longer in l_2
    mechanism = learned.filled((p.d,), lambda z, rng, out: first_releases(p, s, *z, rng, out))
    a, b, far = (x, p.high), (x, -p.high), audit.along(-x)
    return (audit.Attack(mechanism, a, b, far, "releases", "later gradients", False, True),)


def attack_instances():
    """What the audits attack, in both calibrations: for a small ball 2 L is nearly attained."""
    return in_both(noisy_sfw, 2, 16, epsilon=1.0, delta=0.1, radius=0.02)


def audit_instances() -> tuple[AuditInstance, ...]:
    """What the laboratory of `companion.audits` plays: gradients.  The first is the dearest and
    nearly attains 2 L for a small ball; the bound of the later ones is out of reach for squares."""
    secret, found = ("clipped", "total", "x"), ()
    for d, law in ((2, "gaussian"), (9, "generalized")):
        pair = in_both(noisy_sfw, d, 16, epsilon=1.0, delta=1e-2, radius=0.02)[d > 2 :]
        kernels, records = shows(release, law, "s.noise"), corners(d)
        found += lives(kernels, secret, *pair, records=records, bound_is_tight=False)
    return found
