"""What bandits for generalized linear models share: checked arguments, clipping, a random start.

Source: Sawarni, Das, Barman and Sinha (2024), the public program behind its figures, whose
hyper-parameters the baselines here follow; rewards lie in [0, 1].
"""

import math
from typing import NamedTuple

import numpy as np

from companion.core import Universe
from companion.jit import jit
from companion.kernels.glm import LINKS, mean, need_link, slope
from companion.kernels.linalg import dot, quad
from companion.kernels.ucb import beaten, form_bound
from companion.validate import need_choice, need_float, need_int, need_positive, need_probability

# What all say of themselves: any context, rewards in [0, 1], which may come late.
GLM = {"universe": Universe(radius=np.inf, low=0.0), "delayed_feedback": True}
LEAST_BOUND = 1e-100  # of the norm of theta: its square is above 0


class Model(NamedTuple):
    """Checked arguments: link as its number, kappa as a float."""

    d: int
    link: int
    theta_bound: float
    kappa: float
    failure: float
    tolerance: float


def need_bernoulli_link(value):
    """The number of the link "logistic" or "probit"; raises ValueError on any other."""
    return need_link("link", need_choice("link", value, LINKS[1:]))


def need_kappa(link, theta_bound, kappa):
    """kappa >= 1/slope(0) as a float, the least value that 1/slope can take; None: 1/slope(S),
    which is always valid for arms in the unit ball."""
    if kappa is None:
        least = slope(link, theta_bound)
        if not least > 0.0:
            raise ValueError(f"theta_bound must leave the link a slope above 0; got {theta_bound=}")
        return 1.0 / least
    # one part in 1e9 below is allowed: a measured kappa is rounded
    return need_float("kappa", kappa, (1.0 - 1e-9) / slope(link, 0.0))


def need_model(d, link, theta_bound, kappa, failure=0.01, tolerance=1e-8):
    """`Model` from the arguments of a factory; raises ValueError by name."""
    number, bound = need_bernoulli_link(link), need_float("theta_bound", theta_bound, LEAST_BOUND)
    return Model(
        need_int("d", d, 1),
        number,
        bound,
        need_kappa(number, bound, kappa),
        need_probability("failure", failure),
        need_positive("tolerance", tolerance),
    )


@jit
def clipped_reward(r):
    """The reward in [0, 1]."""
    return min(max(r, 0.0), 1.0)


@jit
def start_at_random(started, theta, rng):
    """theta <- N(0, I), once: started (1,) remembers."""
    if started[0] == 0:
        started[0] = 1
        for i in range(theta.shape[0]):
            theta[i] = rng.standard_normal()


@jit
def optimistic_mean(link, theta, A_inv, width, X):
    """First row of X (K, d) with the largest mean(x'theta) + width ||x||_{A^-1}; forms are computed
    only of arms that may beat the best so far."""
    bound, best, arm = form_bound(A_inv, width), -np.inf, 0
    for k in range(X.shape[0]):
        middle = mean(link, dot(X[k], theta))
        if beaten(best - middle, bound, X[k]):
            continue
        index = middle + width * math.sqrt(max(quad(A_inv, X[k]), 0.0))
        if index > best:
            best, arm = index, k
    return arm
