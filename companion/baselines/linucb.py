"""LinUCB: optimism for linear rewards, without privacy.

Source: Abbasi-Yadkori, Pal and Szepesvari (2011), Figure 1 and Theorem 2.
"""

import math
from typing import NamedTuple

import numpy as np

from companion.core import WIDEST, Policy
from companion.jit import jit
from companion.kernels.linalg import axpy, matvec, sherman_morrison
from companion.kernels.ucb import optimistic_arm
from companion.validate import need_float, need_int, need_positive, need_probability


class Params(NamedTuple):
    d: int  # dimension of a context
    ridge: float  # lambda > 0
    noise: float  # R, sub-Gaussian scale of the rewards
    theta_bound: float  # S, bound on the norm of theta
    failure: float  # chance that some confidence set misses theta
    width: float  # multiple of the theorem's radius that is used; 1 is the theorem


class State(NamedTuple):
    t: np.ndarray  # (1,) rounds played
    V_inv: np.ndarray  # (d, d) inverse of lambda I + sum x x'
    b: np.ndarray  # (d,) sum r x
    theta_hat: np.ndarray  # (d,) V_inv b
    work: np.ndarray  # (d,) scratch


def init(p):
    """State before the first round."""
    return State(
        t=np.zeros(1, np.int64),
        V_inv=np.eye(p.d) / p.ridge,
        b=np.zeros(p.d),
        theta_hat=np.zeros(p.d),
        work=np.zeros(p.d),
    )


@jit
def theorem_radius(d, t, ridge, noise, theta_bound, failure):
    """Theorem 2 for contexts in the unit ball: confidence radius after t rounds."""
    log_det = d * math.log1p(t / (ridge * d))
    return (
        noise * np.sqrt(log_det - 2.0 * math.log(failure)) + np.sqrt(ridge) * theta_bound
    )


@jit
def radius(p, t, ridge):
    """The radius that is used after t rounds at this ridge: the theorem's, times the
    width."""
    return p.width * theorem_radius(p.d, t, ridge, p.noise, p.theta_bound, p.failure)


@jit
def select(p, s, X, rng):
    """Row of X (K, d) with the largest upper confidence bound; the first one on ties."""
    return optimistic_arm(X, s.V_inv, s.theta_hat, radius(p, s.t[0], p.ridge))


@jit
def update(p, s, arm, x, r, rng):
    """Learn from reward r on context x (d,); s is changed in place."""
    sherman_morrison(s.V_inv, x, s.work)  # V <- V + x x'
    axpy(r, x, s.b)  # b <- b + r x
    matvec(s.V_inv, s.b, s.theta_hat)  # theta_hat <- V^-1 b
    s.t[0] += 1


def linucb(
    d: int,
    *,
    ridge: float = 1.0,
    noise: float = 1.0,
    theta_bound: float = 1.0,
    failure: float = 0.01,
    width: float = 1.0,
) -> Policy:
    """LinUCB for contexts in the unit ball of R^d.

    Parameters
    ----------
    d : dimension of a context, in [1, 10,000].
    ridge : lambda, at least 1e-100.
    noise : sub-Gaussian scale R of the rewards, at least 0.
    theta_bound : bound S on the norm of theta, at least 0.
    failure : chance in (0, 1) that some confidence set misses theta.
    width : multiple of the theorem's radius, at least 0.

    Returns
    -------
    Policy without privacy.

    Raises
    ------
    ValueError by name on anything else.

    Examples
    --------
    >>> live = linucb(2).start(0)
    >>> live.select([[1.0, 0.0], [0.0, 1.0]])
    0
    """
    p = Params(
        d=need_int("d", d, 1, WIDEST),
        ridge=need_positive("ridge", ridge),
        noise=need_float("noise", noise, 0.0),
        theta_bound=need_float("theta_bound", theta_bound, 0.0),
        failure=need_probability("failure", failure),
        width=need_float("width", width, 0.0),
    )
    return Policy(
        name="LinUCB",
        params=p,
        init=init,
        select=select,
        update=update,
        delayed_feedback=True,
    )
