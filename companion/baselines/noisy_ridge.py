"""What the three private LinUCBs share: ridge regression and optimism on noisy statistics (sum x
x', sum r x).

They differ in who adds the noise and when; see `ldp_linucb`, `jdp_linucb` and `sdp_linucb`.
"""

from typing import NamedTuple

import numpy as np

from companion._jit import jit
from companion.baselines.linucb import theorem_radius
from companion.checks import need_choice, need_float, need_int
from companion.linalg import inverse, matvec, optimistic_arm
from companion.privacy import STATISTICS_SENSITIVITY, UNIVERSES, need_budget


class Params(NamedTuple):
    d: int  # dimension of a context
    T: int  # horizon
    batch: int  # rounds between two models
    sigma: float  # standard deviation of the noise on every coordinate of one release
    offset: bool  # universe that records are clipped into: offset sphere, or unit ball
    ridge: float  # lambda without noise
    shift: float  # lambda_t = ridge + shift * noise_energy(t): keeps the noisy Gram matrix positive
    noise: float  # R, sub-Gaussian scale of the rewards
    theta_bound: float  # S
    failure: float  # chance that some confidence set misses theta
    width: float  # multiple of the theorem's radius that is used; 1 is the theorem


class Model(NamedTuple):
    V_inv: np.ndarray  # (d, d) inverse of noisy Gram matrix + lambda I
    theta: np.ndarray  # (d,) V_inv times the noisy sum of r x
    radius: np.ndarray  # (1,) of the confidence set
    A: np.ndarray  # (d, d) scratch
    work: np.ndarray  # (d, d) scratch


def init_model(p):
    """The model before any data."""
    d = p.d
    start = np.array([radius(p, 0, p.ridge)])
    return Model(np.eye(d) / p.ridge, np.zeros(d), start, np.empty((d, d)), np.empty((d, d)))


@jit
def radius(p, t, ridge):
    """LinUCB's confidence radius after t rounds at this ridge, times the width."""
    return p.width * theorem_radius(p.d, t, ridge, p.noise, p.theta_bound, p.failure)


@jit
def choose(m, X):
    """The optimistic row of X (K, d)."""
    return optimistic_arm(X, m.V_inv, m.theta, m.radius[0])


@jit
def refit(p, m, t, energy, G, b):
    """m <- ridge regression on noisy statistics G (d, d), b (d,) of t rounds, with lambda = ridge +
    shift * energy.

    A noisy Gram matrix may stay indefinite after the shift; its inverse is then used as it is, and
    directions of negative width count as width 0 (see `optimistic_arm`).
    """
    ridge = p.ridge + p.shift * energy
    for i in range(p.d):
        for j in range(p.d):
            m.A[i, j] = G[i, j]
        m.A[i, i] += ridge
    inverse(m.A, m.V_inv, m.work)
    matvec(m.V_inv, b, m.theta)
    m.radius[0] = radius(p, t, ridge)


def make_params(d, T, batch, sigma, universe, ridge, shift, noise, theta_bound, failure, width):
    """Validated `Params`; failure None means 1/T."""
    d, T = need_int("d", d, 1), need_int("T", T, 1)
    return Params(
        d,
        T,
        need_int("batch", batch, 1),
        float(sigma),
        universe == "offset_sphere",
        need_float("ridge", ridge, 0.0, open_low=True),
        need_float("shift", shift, 0.0),
        need_float("noise", noise, 0.0),
        need_float("theta_bound", theta_bound, 0.0),
        need_float(
            "failure",
            1.0 / (T + 1.0) if failure is None else failure,
            0.0,
            1.0,
            open_low=True,
            open_high=True,
        ),
        need_float("width", width, 0.0),
    )


def budget(epsilon, delta, calibration, universe):
    """Checked (epsilon, delta, sensitivity of one user's statistics in that universe)."""
    epsilon, delta = need_budget(epsilon, delta)
    need_choice("calibration", calibration, ("paper", "corrected"))
    need_choice("universe", universe, UNIVERSES)
    return epsilon, delta, STATISTICS_SENSITIVITY[universe]
