"""GLOC: a generalized linear bandit from an online Newton step; O(d^2) memory.

Source: Jun, Bhargava, Nowak and Willett (2017), Algorithm 1, as in the public program of
Sawarni et al. (2024): lambda = d, the index is taken at the online iterate (not at the
ridge centre, which the program computes and never uses), and the iterate is always scaled
to norm S.
"""

import math
from typing import Literal, NamedTuple

import numpy as np

from companion.baselines.arguments import CLICKS, need_model
from companion.core import Policy
from companion.jit import jit
from companion.kernels.glm import clipped_reward, mean, slope
from companion.kernels.linalg import dot, matvec, norm, quad, sherman_morrison
from companion.kernels.ucb import optimistic_mean


class Params(NamedTuple):
    d: int  # dimension of a context
    link: int  # number of the link
    theta_bound: float  # S
    k: float  # 1/kappa, the least slope
    q: float  # L^2 kappa
    ridge: float  # lambda = d
    failure: float


class State(NamedTuple):
    t: np.ndarray  # (1,) rounds played
    V_inv: np.ndarray  # (d, d) inverse of lambda I + sum x x'
    theta_hat: np.ndarray  # (d,) iterate of the online Newton step
    regret: np.ndarray  # (1,) B: bound on the online learner's regret
    clipped: np.ndarray  # (1,) rewards that were outside [0, 1]
    work: np.ndarray  # (d,) scratch


def init(p):
    """State before the first round."""
    regret = 2.0 * p.k * p.theta_bound * p.theta_bound * p.ridge
    return State(
        t=np.zeros(1, np.int64),
        V_inv=np.eye(p.d) / p.ridge,
        theta_hat=np.zeros(p.d),
        regret=np.array([regret]),
        clipped=np.zeros(1, np.int64),
        work=np.zeros(p.d),
    )


@jit
def radius(p, s):
    """Radius of the confidence set after s.t rounds."""
    inside = 1.0 + 2.0 * s.regret[0] / p.k + 4.0 * (p.q * p.q / p.failure) ** 2
    log_term = math.log(2.0 / p.failure * math.sqrt(inside))
    return math.sqrt(1.0 + 4.0 / p.k * s.regret[0] + 8.0 * p.q * p.q * log_term)


@jit
def select(p, s, X, rng):
    """Row of X (K, d) with the largest mean(x'theta_hat) + radius ||x||_{V^-1}; the first
    on ties."""
    return optimistic_mean(p.link, s.theta_hat, s.V_inv, radius(p, s), X)


@jit
def update(p, s, arm, x, r, rng):
    """Learn from reward r on context x (d,); s is changed in place."""
    y = clipped_reward(r)
    g = mean(p.link, dot(x, s.theta_hat)) - y
    sherman_morrison(s.V_inv, x, s.work)
    s.regret[0] += g * g * max(quad(s.V_inv, x), 0.0) / (2.0 * p.k)
    matvec(s.V_inv, x, s.work)
    for i in range(p.d):
        s.theta_hat[i] -= g * s.work[i] / p.k
    size = norm(s.theta_hat)
    if size > 0.0:
        for i in range(p.d):
            s.theta_hat[i] *= p.theta_bound / size
    s.t[0] += 1
    if y != r:
        s.clipped[0] += 1


def gloc(
    d: int,
    *,
    link: Literal["logistic", "probit"] = "logistic",
    theta_bound: float = 1.0,
    kappa: float | None = None,
    failure: float = 0.01,
) -> Policy:
    """GLOC in the unit ball of R^d with rewards in [0, 1]; others are clipped.

    d in [1, 10,000]; link "logistic" or "probit"; theta_bound in [1e-30, 1e30] bounds the
    norm of theta; kappa bounds 1/slope over all arms (None: 1/slope(theta_bound));
    failure in (0, 1). Raises ValueError on anything else.
    """
    d, number, bound, kappa, failure = need_model(d, link, theta_bound, kappa, failure)
    L = slope(number, 0.0)
    p = Params(
        d=d,
        link=number,
        theta_bound=bound,
        k=1.0 / kappa,
        q=L * L * kappa,
        ridge=float(d),
        failure=failure,
    )
    return Policy(
        name="GLOC",
        params=p,
        init=init,
        select=select,
        update=update,
        universe=CLICKS,
        delayed_feedback=True,
    )
