"""LocalMD: noisy mirror descent in phases around the last average, with shrinking steps.

A batch method.  The mirror step of h(x) = ||x - c||_p^2 / (2 (p - 1)) has a closed form.
Source: Asi, Feldman, Koren and Talwar (2021), Algorithm 6 with Algorithm 5; squared loss.
Privacy: central; neighbours replace one record.  Phases use different records, so that
each has the whole budget.  In a phase a record enters at most u_i = ceil(T_i / (n_i //
b_i)) batches of b_i records; their mean gradients have noise N(0, sigma_i^2 I) and move
by 2 L_i/b_i in l_q, in l_2 by f = d^(1/2 - 1/q) times as much.  The steps are set for a
ball of radius r and L = 2 (r + Y), but nothing keeps the iterates inside: as printed L_i
= 2 (R_i + Y), with R_i the sum of the radii of the phases so far.  "corrected" clips |2
(x'theta - y)| at L, and sigma_i = 2 min(L, L_i) f sqrt(u_i)/(b_i mu), mu = `gaussian_mu`.
Differs: batches are passes over a new random order of the phase's records, so that u_i is
certain (the source relies on sampling); batch sizes are rounded down, at least 1.
"""

import math
from typing import Literal, NamedTuple

import numpy as np

from companion.accounting.privacy import gaussian_epsilon, gaussian_mu
from companion.baselines.arguments import (
    before_data,
    central_guarantee,
    squares_problem,
)
from companion.core import Optimiser, Release
from companion.jit import jit
from companion.kernels.geometry import admit_all, euclidean_factor, lq_norm
from companion.kernels.linalg import axpy, copy, dot
from companion.kernels.mechanisms import add_gaussian, random_integer
from companion.validate import need_float, need_positive


class Params(NamedTuple):
    d: int  # dimension
    n: int  # records
    p: float
    q: float  # rows are clipped to the unit ball of l_q
    high: float  # labels are clipped to +- this
    records: np.ndarray  # (phases,) n_i
    batch: np.ndarray  # (phases,) b_i
    steps: np.ndarray  # (phases,) T_i
    eta: np.ndarray  # (phases,) eta_i
    radius: np.ndarray  # (phases,) of the ball around the centre
    sigma: np.ndarray  # (phases,) sigma_i
    clip: float  # bound of |2 (x'theta - y)|, infinite as printed


@jit
def mirror(u, p, c, out):
    """out <- c ||u||_p sign(u) (|u|/||u||_p)^(p - 1), the gradient of c ||u||_p^2/2;
    returns its norm in the dual of l_p, c ||u||_p.

    With c = 1/(p - 1) it is grad h; with the dual exponent q and c = p - 1 it is the
    inverse.
    """
    size = lq_norm(u, p)
    for i in range(u.shape[0]):
        a = 0.0 if size == 0.0 else (abs(u[i]) / size) ** (p - 1.0)
        out[i] = c * size * (a if u[i] > 0.0 else -a)
    return c * size


@jit
def mirror_step(u, eta, gradient, p, q, radius, z):
    """u <- argmin eta <gradient, v> + D_h(v, u) over ||v||_p <= radius, u the offset from
    the centre.

    Without the ball it is grad h*(grad h(u) - eta gradient); the level sets of h are
    balls, so the constraint only rescales.  z (d,) is overwritten.
    """
    mirror(u, p, 1.0 / (p - 1.0), z)
    axpy(-eta, gradient, z)
    size = mirror(z, q, p - 1.0, u)
    if size > radius:
        for i in range(u.shape[0]):
            u[i] *= radius / size


@jit
def shuffle(rng, order):
    """order <- a uniform permutation of itself."""
    for i in range(order.shape[0] - 1, 0, -1):
        j = random_integer(rng, i + 1)
        order[i], order[j] = order[j], order[i]


@jit
def release(p, i, x, X, Y, rows, rng, gradient):
    """gradient (d,) <- the mean gradient at x over these rows of phase i, with its
    noise."""
    gradient[:] = 0.0
    for j in rows:
        slope = min(max(2.0 * (dot(X[j], x) - Y[j]), -p.clip), p.clip)
        axpy(slope / rows.shape[0], X[j], gradient)
    if p.sigma[i] > 0.0:
        add_gaussian(rng, p.sigma[i], gradient)


@jit
def phase(p, i, X, Y, theta, rng):
    """Phase i on its records X, Y: theta <- the average of its iterates, started from
    theta."""
    d = p.d
    n = X.shape[0]
    b = p.batch[i]
    centre = theta.copy()
    x = theta.copy()
    u = np.zeros(d)
    mean = np.zeros(d)
    gradient = np.zeros(d)
    z = np.zeros(d)
    order = np.arange(n)
    at = n
    for k in range(p.steps[i]):
        if at + b > n:
            shuffle(rng, order)
            at = 0
        release(p, i, x, X, Y, order[at : at + b], rng, gradient)
        at += b
        mirror_step(u, p.eta[i], gradient, p.p, p.q, p.radius[i], z)
        for a in range(d):
            x[a] = centre[a] + u[a]
            mean[a] += (x[a] - mean[a]) / (k + 1.0)
    copy(mean, theta)


@jit
def run(p, s, X, Y, rng, out):
    """All phases on the n records X (n, d), Y (n,); the last row of out <- the
    parameter."""
    A = np.empty(X.shape)
    b = np.empty(Y.shape)
    start = 0
    s.clipped[0] = admit_all(X, Y, p.q, p.high, A, b)
    for i in range(p.records.shape[0]):
        end = start + p.records[i]
        phase(p, i, A[start:end], b[start:end], s.theta, rng)
        start = end
    copy(s.theta, out[-1])
    s.t[0] = X.shape[0]


def phases(problem, epsilon, eta):
    """Arrays records, batch, steps, eta, radius, printed sigma of the phases of two steps
    or more; epsilon is finite."""
    rows = []
    d = problem.d
    n = problem.n
    L = problem.lipschitz
    root = math.sqrt(d ** (1.0 - 2.0 / problem.q) * math.log(1.0 / problem.delta))
    for i in range(1, int(math.log2(n)) + 1):
        epsilon_i = epsilon / 2**i
        n_i = n // 2**i
        eta_i = eta / 2 ** (4 * i)
        # log d = 0 at d = 1 would ask for an infinite batch
        b = max(math.sqrt(n_i / max(math.log(d), 1e-9)), math.sqrt(d / epsilon_i), 1.0)
        b = min(int(b), n_i)
        steps = int(n_i**2 / b**2)
        if steps <= 1:
            break
        radius = 2.0 * L * eta_i * n_i * (problem.p - 1.0)
        sigma = 100.0 * L * root / (b * epsilon_i)
        rows.append((n_i, b, steps, eta_i, radius, sigma))
    if not rows:
        raise ValueError(f"n must leave a phase with two steps; got n={n}, d={d}")
    return [np.array(column) for column in zip(*rows, strict=True)]


def movement(p):
    """(phases,) how far a record moves all noisy gradients of its phase together in
    l_2."""
    uses = np.ceil(p.steps / (p.records // p.batch))
    longest = np.minimum(p.clip, 2.0 * (np.cumsum(p.radius) + p.high))
    return 2.0 * longest * euclidean_factor(p.q, p.d) * np.sqrt(uses) / p.batch


def local_md(
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
    """LocalMD for n records with ||x||_q <= 1, |y| <= label_bound.

    Parameters
    ----------
    d, n : dimension, at least 1; records, at least 4
    epsilon, delta : budget; epsilon in [1e-4, inf] (inf: no noise, steps and batches as
        at 1), delta in (0, 1) (None: 1/n)
    p : 1 < p <= 2
    radius : of the ball that steps are set for, which is not enforced
    label_bound : labels are clipped to +-label_bound
    calibration : "paper", or "corrected", which clips gradients
    step_scale : above 0, times D/L min(1/sqrt((p - 1) n), epsilon/sqrt(d log(1/delta) (1
        + log d)))

    Returns
    -------
    Optimiser

    Raises
    ------
    ValueError
        on anything else.

    Examples
    --------
    >>> local_md(3, 400, epsilon=2.0, delta=0.01).guarantee.epsilon <= 2.0 + 1e-9
    True
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
    asked = c.epsilon if c.epsilon < np.inf else 1.0
    limit = asked / math.sqrt(c.d * math.log(1.0 / c.delta) * (1.0 + math.log(c.d)))
    eta = need_positive("step_scale", step_scale) * 2.0 * c.radius / c.lipschitz
    eta *= min(1.0 / math.sqrt((c.p - 1.0) * c.n), limit)
    clip = c.lipschitz if calibration == "corrected" else np.inf
    records, batch, steps, etas, radii, sigma = phases(c, asked, eta)
    params = Params(
        d=c.d,
        n=c.n,
        p=c.p,
        q=c.q,
        high=c.high,
        records=records,
        batch=batch,
        steps=steps,
        eta=etas,
        radius=radii,
        sigma=sigma,
        clip=clip,
    )
    moved = movement(params)
    if calibration == "corrected":
        sigma = moved / gaussian_mu(asked, c.delta)
    true = gaussian_epsilon(c.delta, 1.0, float((moved / sigma).max()))
    guarantee = central_guarantee(c, true, calibration)
    if c.epsilon == np.inf:
        sigma = np.zeros(len(sigma))
    params = params._replace(sigma=sigma)
    return Optimiser(
        name="LocalMD",
        params=params,
        init=before_data,
        step=None,
        run=run,
        guarantee=guarantee,
        releases=(Release(release, "gradient", "gaussian"),),
        private=("clipped",),
    )
