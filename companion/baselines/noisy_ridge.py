"""What the three private LinUCBs share: ridge regression and optimism on noisy statistics (sum x
x', sum r x).

They differ in who adds the noise and when; see `ldp_linucb`, `jdp_linucb` and `sdp_linucb`.
"""

from typing import NamedTuple

import numpy as np

from companion.accounting import audit
from companion.baselines.linucb import theorem_radius
from companion.jit import jit
from companion.kernels.linalg import matvec, ridge_inverse
from companion.kernels.mechanisms import pack_statistics, statistics_size
from companion.kernels.ucb import optimistic_arm, optimistic_next
from companion.validate import need_float, need_int, need_positive, need_probability


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
    work: np.ndarray  # (3, d, d) scratch


def init_model(p: Params) -> Model:
    """The model before any data."""
    d = p.d
    start = np.array([radius(p, 0, p.ridge)])
    return Model(np.eye(d) / p.ridge, np.zeros(d), start, np.zeros((3, d, d)))


@jit
def radius(p, t, ridge):
    """LinUCB's confidence radius after t rounds at this ridge, times the width."""
    return p.width * theorem_radius(p.d, t, ridge, p.noise, p.theta_bound, p.failure)


@jit
def choose(m, X):
    """The optimistic row of X (K, d)."""
    return optimistic_arm(X, m.V_inv, m.theta, m.radius[0])


@jit
def choose_next(m, X, t, seen):
    """The same in round t of X (n, K, d); seen as in `all_arms`."""
    return optimistic_next(X, t, m.V_inv, m.theta, m.radius[0], seen)


@jit
def refit(p, m, t, energy, G, b):
    """m <- ridge regression on noisy statistics G (d, d), b (d,) of t rounds, with lambda = ridge +
    shift * energy.

    A noisy Gram matrix may stay indefinite after the shift; its inverse is then used as it is, and
    directions of negative width count as width 0 (see `optimistic_arm`).  One that has no inverse
    (noise of a shuffler is discrete, so this may happen) leaves the last model in force.
    """
    ridge = p.ridge + p.shift * energy
    if ridge_inverse(G, ridge, m.V_inv, m.work):
        matvec(m.V_inv, b, m.theta)
        m.radius[0] = radius(p, t, ridge)


def far_records(offset: bool, d: int) -> tuple[tuple[np.ndarray, float], tuple[np.ndarray, float]]:
    """Two records (x, r) of the universe, d >= 2, whose statistics are as far apart as any."""
    x, z = np.zeros(d), np.zeros(d)
    if offset:
        x[0] = x[-1] = z[-1] = np.sqrt(0.5)
        z[0] = -x[0]
        return (x, 1.0), (z, 1.0)
    x[0], z[0], z[1] = 1.0, 0.5, np.sqrt(0.75)
    return (x, 1.0), (z, -1.0)


def far_move(offset: bool, d: int) -> np.ndarray:
    """How far those two move the packed statistics."""
    ends = []
    for x, r in far_records(offset, d):
        ends.append(np.empty(statistics_size(d)))
        pack_statistics(x, r, ends[-1])
    return ends[0] - ends[1]


def far_apart(p: Params) -> tuple[object, ...]:
    """What an `audit.Attack` takes beside a mechanism: those two, and the best statistic."""
    return *far_records(p.offset, p.d), audit.along(far_move(p.offset, p.d))


def make_params(
    d: int,
    T: int,
    batch: int,
    sigma: float,
    universe: str,
    *,
    ridge: float = 1.0,
    shift: float = 0.7,
    noise: float = 0.5,
    theta_bound: float = 1.0,
    failure: float | None = None,
    width: float = 1.0,
) -> Params:
    """Validated `Params`, for noise of standard deviation sigma and a checked universe.

    ridge > 0; shift >= 0, see the policy; noise >= 0, scale of the rewards; theta_bound >= 0;
    failure in (0, 1) (None: 1/(T + 1)); width >= 0 multiplies the theorem's radius.  Raises
    ValueError on anything else.
    """
    d, T = need_int("d", d, 1), need_int("T", T, 1)
    return Params(
        d,
        T,
        need_int("batch", batch, 1),
        float(sigma),
        universe == "offset_sphere",
        need_positive("ridge", ridge),
        need_float("shift", shift, 0.0),
        need_float("noise", noise, 0.0),
        need_float("theta_bound", theta_bound, 0.0),
        need_probability("failure", 1.0 / (T + 1.0) if failure is None else failure),
        need_float("width", width, 0.0),
    )
