"""Errors-in-variables ridge: the messages of Online LinUCB, a closed form for the
learner.

The user sends x and y with Gaussian noise, as in `online_linucb`.  The server knows how
much energy the noise on x brings into the Gram matrix and subtracts it: A = sum(x x' -
sigma^2 I), b = sum x y over the noisy pairs.  Then (A + lambda_t I)^-1 b is ridge
regression without attenuation, and the policy is optimistic around it.
Source: an ablation of ours for the online-LinUCB paper, which minimises the same
corrected loss online; estimator of Fuller (1987), section 2.2.
Privacy: neighbours, model and calibration of `online_linucb`: nothing but its message is
released. Width: radius of LinUCB at ridge lambda_t = ridge + shift (sigma^2 + sigma)
sqrt(d t).  With n the noise on x, a message adds to A the errors x n' + n x' (of size
sigma) and n n' - sigma^2 I (of size sigma^2); t of them grow like sqrt(t).  The radius is
proved for sigma = 0 only.  A + lambda_t I may still be indefinite; `optimistic_arm` then
takes a negative x' V^-1 x as 0.
"""

from typing import Literal, NamedTuple

import numpy as np

from companion.baselines.linucb import radius
from companion.core import WIDEST, Policy, Release, linear_universe, plain_loop
from companion.jit import jit
from companion.kernels import ridge as regression
from companion.kernels.linalg import add_outer, axpy
from companion.kernels.ucb import optimistic_arm
from companion.online_linucb.online_linucb import pair_noise, randomize
from companion.validate import need_float, need_int, need_positive, need_probability


class Params(NamedTuple):
    d: int  # dimension of a context
    T: int  # horizon
    offset: bool  # universe that records are clipped into: offset sphere, or unit ball
    ridge: float  # lambda without noise
    shift: float  # multiple of the noise in A that is added to the ridge
    noise: float  # R, sub-Gaussian scale of the rewards
    theta_bound: float  # S
    failure: float  # chance that some confidence set misses theta
    width: float  # multiple of the theorem's radius that is used; 1 is the theorem
    sigma: float  # standard deviation of the noise on every coordinate of x and on y
    jitter: float = 0.0  # no extra perturbation of x


class State(NamedTuple):
    t: np.ndarray  # (1,) rounds played
    G: np.ndarray  # (d, d) A, the sum of noisy x x' - sigma^2 I
    b: np.ndarray  # (d,) sum of noisy x noisy y
    V_inv: np.ndarray  # (d, d) (A + lambda_t I)^-1
    theta: np.ndarray  # (d,) V_inv b
    radius: np.ndarray  # (1,) of the confidence set
    message: np.ndarray  # (d + 1,) the last user's noisy x and noisy y
    clipped: np.ndarray  # (1,) records outside the universe: exact, must not be shown
    work: np.ndarray  # (2, d, d) scratch


def init(p: Params) -> State:
    """State before the first round."""
    return State(
        t=np.zeros(1, np.int64),
        G=np.zeros((p.d, p.d)),
        b=np.zeros(p.d),
        V_inv=np.eye(p.d) / p.ridge,
        theta=np.zeros(p.d),
        radius=np.array([radius(p, 0, p.ridge)]),
        message=np.zeros(p.d + 1),
        clipped=np.zeros(1, np.int64),
        work=np.zeros((2, p.d, p.d)),
    )


@jit
def select(p, s, X, rng):
    """The optimistic row of X (K, d); the first one on ties."""
    return optimistic_arm(X, s.V_inv, s.theta, s.radius[0])


@jit
def update(p, s, arm, x, r, rng):
    """Learn from the message about reward r on context x (d,).

    Where A + lambda_t I is singular the last model stays in force.
    """
    s.clipped[0] += randomize(p, x, r, rng, s.message)
    s.t[0] += 1
    noisy_x = s.message[: p.d]
    square = p.sigma * p.sigma
    add_outer(1.0, noisy_x, s.G)
    for i in range(p.d):
        s.G[i, i] -= square
    axpy(s.message[p.d], noisy_x, s.b)
    size = (square + p.sigma) * np.sqrt(float(p.d * s.t[0]))
    ridge = p.ridge + p.shift * size
    if regression.fit(s, ridge):
        s.radius[0] = radius(p, s.t[0], ridge)


play = plain_loop(select, update)


def corrected_ridge(
    d: int,
    T: int,
    *,
    epsilon: float,
    delta: float,
    calibration: Literal["corrected", "paper"] = "corrected",
    universe: Literal["ball", "offset_sphere"] = "ball",
    ridge: float = 1.0,
    shift: float = 3.0,
    noise: float = 0.5,
    theta_bound: float = 1.0,
    failure: float | None = None,
    width: float = 1.0,
) -> Policy:
    """LinUCB on noisy pairs, corrected for the noise; epsilon = inf is LinUCB itself.

    Parameters
    ----------
    d, T, epsilon, delta, calibration, universe : as in `online_linucb`.
    ridge, shift : lambda_t = ridge + shift (sigma^2 + sigma) sqrt(d t); ridge > 0, shift
        >= 0.
    noise : R >= 0, sub-Gaussian scale of the rewards.
    theta_bound : S >= 0, bound on the norm of theta.
    failure : in (0, 1), chance that some confidence set misses theta; None: 1/(T + 1).
    width : multiple of the theorem's radius, at least 0.

    Returns
    -------
    Policy, whose guarantee is that of one message.

    Raises
    ------
    ValueError on anything else.

    Examples
    --------
    >>> print(corrected_ridge(2, T=100, epsilon=1.0, delta=0.1).guarantee)
    (1, 0.1)-local DP, replace one record, per user (ball)
    """
    d = need_int("d", d, 1, WIDEST)
    T = need_int("T", T, 1)
    sigma, guarantee = pair_noise(epsilon, delta, calibration, universe)
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
        name="Corrected ridge",
        params=p,
        init=init,
        select=select,
        update=update,
        play=play,
        guarantee=guarantee,
        universe=linear_universe(p.offset),
        delayed_feedback=True,
        releases=(Release(randomize, "message", "gaussian"),),
        private=("clipped",),
    )
