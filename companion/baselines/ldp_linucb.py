"""LDP-LinUCB: LinUCB on statistics (x x', r x) that every user randomises.

A user sends x x' and r x with Gaussian noise; the server adds the messages up.
Source: Zheng, Cai, Huang, Li and Wang (2020); a baseline of the online-LinUCB paper.

Privacy (local): neighbours replace one user's record (x, r).  Its statistics, packed into
a vector of norm sqrt(||x x'||_F^2 + ||r x||^2) (entries off the diagonal times sqrt2),
move by at most s = `privacy.STATISTICS_SENSITIVITY`: sqrt(4.5) in the ball, 2 on the
offset sphere.  A message is one Gaussian release of sensitivity s.  "paper" is sigma = 4
sqrt(2 ln(1.25/delta))/epsilon on every coordinate.  In the matrix, noise off the diagonal
is sigma/sqrt2, because such an entry counts twice in the Frobenius norm.

The model is ridge regression at lambda_t = ridge + shift * (size of the noise in the Gram
matrix), the size being sigma sqrt(d t).  Its width is LinUCB's radius at that ridge,
without a term for the noise in the sums: a practical choice, so `failure` is the chance
of a miss without noise only.
"""

from typing import Literal, NamedTuple

import numpy as np

from companion.accounting.privacy import STATISTICS_SENSITIVITY, gaussian_release
from companion.baselines.linucb import radius
from companion.core import WIDEST, Policy, Release, linear_universe
from companion.jit import jit
from companion.kernels import mechanisms
from companion.kernels import ridge as regression
from companion.kernels.ucb import optimistic_arm
from companion.validate import need_float, need_int, need_positive, need_probability


class Params(NamedTuple):
    d: int  # dimension of a context
    T: int  # horizon
    offset: bool  # universe that records are clipped into: offset sphere, or unit ball
    ridge: float  # lambda without noise
    shift: float  # lambda_t = ridge + shift * (size of the noise in the Gram matrix)
    noise: float  # R, sub-Gaussian scale of the rewards
    theta_bound: float  # S
    failure: float  # chance that some confidence set misses theta
    width: float  # multiple of the theorem's radius that is used; 1 is the theorem
    sigma: float  # standard deviation of the noise on every coordinate of a message


class State(NamedTuple):
    t: np.ndarray  # (1,) rounds played
    G: np.ndarray  # (d, d) noisy sum of x x'
    b: np.ndarray  # (d,) noisy sum of r x
    V_inv: np.ndarray  # (d, d) (G + lambda_t I)^-1, at the last fit
    theta: np.ndarray  # (d,) V_inv b
    radius: np.ndarray  # (1,) of the confidence set
    work: np.ndarray  # (2, d, d) scratch
    x: np.ndarray  # (d,) clipped context
    message: np.ndarray  # (packed,) the last user's noisy statistics
    clipped: np.ndarray  # (1,) records outside the universe: exact, must not be shown


def init(p):
    """State before the first round."""
    return State(
        t=np.zeros(1, np.int64),
        G=np.zeros((p.d, p.d)),
        b=np.zeros(p.d),
        V_inv=np.eye(p.d) / p.ridge,
        theta=np.zeros(p.d),
        radius=np.array([radius(p, 0, p.ridge)]),
        work=np.zeros((2, p.d, p.d)),
        x=np.zeros(p.d),
        message=np.zeros(mechanisms.statistics_size(p.d)),
        clipped=np.zeros(1, np.int64),
    )


@jit
def randomize(p, x, r, rng, clean, message):
    """Everything that leaves a device: message <- packed (x x', r x) + N(0, sigma^2 I);
    returns 1 if clipped."""
    clipped = regression.clipped_statistics(p.offset, x, r, clean, message)
    mechanisms.add_gaussian(rng, p.sigma, message)
    return clipped


@jit
def select(p, s, X, rng):
    """The row of X (K, d) with the largest upper confidence bound; the first one on
    ties."""
    return optimistic_arm(X, s.V_inv, s.theta, s.radius[0])


@jit
def update(p, s, arm, x, r, rng):
    """Learn from the message about reward r on context x (d,)."""
    s.t[0] += 1
    t = s.t[0]
    s.clipped[0] += randomize(p, x, r, rng, s.x, s.message)
    mechanisms.add_unpacked(1.0, s.message, s.G, s.b)
    size = p.sigma * np.sqrt(float(p.d * t))
    ridge = p.ridge + p.shift * size
    if regression.fit(s, ridge):
        s.radius[0] = radius(p, t, ridge)


def ldp_linucb(
    d: int,
    T: int,
    *,
    epsilon: float,
    delta: float,
    calibration: Literal["corrected", "paper"] = "corrected",
    universe: Literal["ball", "offset_sphere"] = "ball",
    ridge: float = 1.0,
    shift: float = 0.7,
    noise: float = 0.5,
    theta_bound: float = 1.0,
    failure: float | None = None,
    width: float = 1.0,
) -> Policy:
    """LinUCB on locally randomised statistics; epsilon = inf is LinUCB itself.

    Parameters
    ----------
    d, T : dimension of a context, in [1, 10,000], and horizon, at least 1.
    epsilon, delta : budget of a user, in (0, inf] and (0, 1).
    calibration : "corrected" or "paper".
    universe : "ball" (||x|| <= 1, |r| <= 1) or "offset_sphere" (x = (u, 1/sqrt2), 0 <= r
        <= 1); records outside are clipped into it and counted.
    ridge : lambda without noise, at least 1e-100.
    shift : multiple of the noise's size that is added to the ridge, at least 0.
    noise : scale of the rewards, at least 0.
    theta_bound : bound on the norm of theta, at least 0.
    failure : chance in (0, 1) that some confidence set misses theta; None: 1/(T + 1).
    width : multiple of the theorem's radius, at least 0.

    Returns
    -------
    Policy with the guarantee that its noise gives.

    Raises
    ------
    ValueError by name on anything else.

    Examples
    --------
    >>> print(ldp_linucb(2, T=100, epsilon=1.0, delta=0.1).guarantee)
    (1, 0.1)-local DP, replace one record, per user (ball)
    """
    d = need_int("d", d, 1, WIDEST)
    T = need_int("T", T, 1)
    sigma, guarantee = gaussian_release(
        "local",
        epsilon,
        delta,
        calibration,
        universe,
        STATISTICS_SENSITIVITY,
        paper=4.0,
    )
    if failure is None:
        failure = 1.0 / (T + 1.0)
    p = Params(
        d=d,
        T=T,
        offset=universe == "offset_sphere",
        ridge=need_positive("ridge", ridge),
        shift=need_float("shift", shift, 0.0),
        noise=need_float("noise", noise, 0.0),
        theta_bound=need_float("theta_bound", theta_bound, 0.0),
        failure=need_probability("failure", failure),
        width=need_float("width", width, 0.0),
        sigma=sigma,
    )
    return Policy(
        name="LDP-LinUCB",
        params=p,
        init=init,
        select=select,
        update=update,
        guarantee=guarantee,
        universe=linear_universe(p.offset),
        delayed_feedback=True,
        releases=(Release(randomize, "message", "gaussian"),),
        private=("x", "clipped"),
    )
