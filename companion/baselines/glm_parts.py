"""What bandits for generalized linear models share: checked arguments, clipping, a random start.

Source: Sawarni, Das, Barman and Sinha (2024), the public program behind its figures, whose
hyper-parameters the baselines here follow; rewards lie in [0, 1].
"""

import math
from typing import NamedTuple

import numpy as np

from companion._jit import jit
from companion.checks import need_float, need_int, need_positive, need_probability
from companion.glm import LINKS, mean, need_link, slope
from companion.linalg import dot, quad


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
    if value not in LINKS[1:]:
        raise ValueError(f"link must be one of {LINKS[1:]}; got link={value!r}")
    return need_link("link", value)


def need_kappa(link, theta_bound, kappa):
    """kappa >= 1/slope(0) as a float, the least value that 1/slope can take; None: 1/slope(S),
    which is always valid for arms in the unit ball."""
    if kappa is None:
        return 1.0 / slope(link, theta_bound)
    # one part in 1e9 below is allowed: a measured kappa is rounded
    return need_float("kappa", kappa, (1.0 - 1e-9) / slope(link, 0.0))


def need_model(d, link, theta_bound, kappa, failure=0.01, tolerance=1e-8):
    """`Model` from the arguments of a factory; raises ValueError by name."""
    number, bound = need_bernoulli_link(link), need_positive("theta_bound", theta_bound)
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
def widest(V_inv, X):
    """(largest squared width x'V_inv x of a row of X (K, d), the first row that has it)."""
    best, arm = -np.inf, 0
    for k in range(X.shape[0]):
        square = quad(V_inv, X[k])
        if square > best:
            best, arm = square, k
    return best, arm


@jit
def upper(theta, A_inv, width, x):
    """Upper confidence bound x'theta + width ||x||_{A^-1} of a score (the lower one: -width)."""
    return dot(x, theta) + width * math.sqrt(quad(A_inv, x))


@jit
def best_lower(theta, A_inv, width, X):
    """Largest lower confidence bound of the rows of X (K, d): who is below it is ruled out."""
    low = -np.inf
    for k in range(X.shape[0]):
        low = max(low, upper(theta, A_inv, -width, X[k]))
    return low


@jit
def optimistic_mean(link, theta, A_inv, width, X):
    """Row of X (K, d) with the largest mean(x'theta) + width ||x||_{A^-1}; the first on ties."""
    best, arm = -np.inf, 0
    for k in range(X.shape[0]):
        index = mean(link, dot(X[k], theta)) + width * math.sqrt(quad(A_inv, X[k]))
        if index > best:
            best, arm = index, k
    return arm
