"""NoisySGD: n^2 noisy projected gradient steps, each on one random record.  A batch method.

Source: Bassily, Feldman, Guzman and Talwar (2020), Algorithm 2, used for p >= 2; squared loss.
Cost: O(d n) time per record, for it makes n^2 steps; 1.4 times its floor.
Privacy: a step shows one gradient with noise N(0, sigma^2 I); replacing a record moves it by
2 L <= 2 * 2 (r + Y) in l_2 (q <= 2), if that record is drawn, which has probability g = 1/n.
`sampled_steps` composes all steps.
Differs: "corrected" is the smallest sigma that this accountant allows; the average or the last
iterate may be released (the tables of the streaming paper use the last).
"""

import math
from functools import partial
from typing import NamedTuple

import numpy as np

from companion.accounting import audit
from companion.accounting import audit as learned
from companion.accounting.audit import AuditInstance, AuditSpec, corners, in_both, lives, shows
from companion.accounting.privacy import NO_PRIVACY, REPLACE_RECORD, Guarantee, need_budget
from companion.baselines.sampled_steps import composed, smallest_noise
from companion.core import Optimiser
from companion.jit import jit
from companion.kernels.geometry import admit_all, dual_exponent, need_exponent, project
from companion.kernels.linalg import copy, dot
from companion.kernels.mechanisms import below
from companion.validate import need_choice, need_float, need_int, need_positive


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


def init(p: Params, rng: np.random.Generator) -> State:
    """State before the data."""
    return State(0, np.zeros(p.d), 0, np.zeros(p.d))


@jit
def release(p, theta, x, y, rng, out):
    """out (d,) <- the gradient of (y - x'theta)^2 with noise: all that a step shows of a record."""
    c = 2.0 * (dot(x, theta) - y)
    for i in range(p.d):
        out[i] = c * x[i] + p.sigma * rng.standard_normal()


@jit
def descend(p, theta, A, b, rng, gradient):
    """theta <- after a step on one random record; gradient <- all that the step shows."""
    j = below(rng, p.n)
    release(p, theta, A[j], b[j], rng, gradient)
    box = p.p == np.inf  # it needs no norm
    for i in range(p.d):
        theta[i] -= p.eta * gradient[i]
        if box:
            theta[i] = min(max(theta[i], -p.radius), p.radius)
    if not box:
        project(theta, p.p, p.radius)


@jit
def run(p, s, X, Y, rng, out):
    """All steps on the n records X (n, d), Y (n,); the last row of out <- the parameter."""
    A, b = np.empty(X.shape), np.empty(Y.shape)
    clipped = admit_all(X, Y, p.q, p.high, A, b)
    theta, mean, gradient = s.theta, s.mean, np.empty(p.d)
    for k in range(p.steps):
        descend(p, theta, A, b, rng, gradient)
        if p.average:
            for i in range(p.d):
                mean[i] += (theta[i] - mean[i]) / (k + 1.0)
    if p.average:
        copy(mean, theta)
    copy(theta, out[-1])
    return State(X.shape[0], theta, clipped, mean)


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
    calibration: str = "corrected",
    step_scale: float = 1.0,
    average: bool = False,
) -> Optimiser:
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
    return Optimiser(
        "NoisySGD",
        params,
        init,
        None,
        run,
        said,
        audit=AuditSpec(own_attacks, attack_instances, audit_instances),
    )


@jit
def gradients(p, theta, X, Y, rng, out):
    """out (runs, steps, d) <- all that the steps show of the records X, Y; theta is overwritten."""
    A, b = np.empty(X.shape), np.empty(Y.shape)
    admit_all(X, Y, p.q, p.high, A, b)
    for i in range(out.shape[0]):
        theta[:] = 0.0
        for k in range(p.steps):
            descend(p, theta, A, b, rng, out[i, k])


def own_attacks(optimiser: Optimiser):
    """`audit.Attack`s: all noisy gradients, which the proof composes, and the parameter at the end,
    all that is public.

    The first label is as large as it may be, or its opposite, as in the former are all others.
    """
    p = optimiser.params
    X, Y, Z = np.zeros((p.n, p.d)), np.full(p.n, -p.high), np.full(p.n, -p.high)
    X[:, 0], Y[0] = 1.0, p.high

    def steps(data, rng, out):
        gradients(p, np.empty(p.d), *data, rng, out)

    mechanism, told = learned.filled((p.steps, p.d), steps), partial(sampled_loss, p)
    released = audit.Attack(mechanism, (X, Y), (X, Z), told, "releases", runs=False, anew=True)
    return released, learned.on_first_label(optimiser, "the order of steps")


def sampled_loss(p: Params, seen) -> np.ndarray:
    """Log-likelihood ratios (n,) of gradients (n, steps, d): all have mean 2 Y e_1, but under the
    first input -2 Y e_1 with chance 1/n of the records; the parameter is taken for 0."""
    apart = -4.0 * p.high / p.sigma**2 * seen[:, :, 0]
    return (np.logaddexp(np.log(p.n - 1.0), apart) - np.log(p.n)).sum(axis=1)


def attack_instances():
    """What the audits attack, in both calibrations."""
    return in_both(noisy_sgd, 1, 2, epsilon=1.0, delta=0.1, radius=0.02)


def audit_instances() -> tuple[AuditInstance, ...]:
    """What the laboratory of `companion.audits` plays: noisy gradients; a small ball nearly attains
    2 L."""
    instances = in_both(noisy_sgd, 2, 6, epsilon=1.0, delta=1e-6, radius=0.02)
    kernels, how = shows(release, "sampled", "out"), {"records": corners(2), "reaches": False}
    return lives(kernels, ("clipped",), *instances, **how)
