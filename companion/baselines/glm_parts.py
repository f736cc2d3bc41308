"""What bandits for generalized linear models share: checked arguments, clipping, a random start.

Source: Sawarni, Das, Barman and Sinha (2024), the public program behind its figures, whose
hyper-parameters the baselines here follow; rewards lie in [0, 1].
"""

import math
from typing import NamedTuple

import numpy as np

from companion.jit import jit
from companion.kernels.glm import LINKS, mean, need_link, slope
from companion.kernels.linalg import dot, quad
from companion.kernels.ucb import beaten, form_bound
from companion.validate import need_choice, need_float, need_int, need_positive, need_probability


class Model(NamedTuple):
    """Checked arguments: link as its number, kappa as a float."""

    d: int
    link: int
    theta_bound: float
    kappa: float
    failure: float
    tolerance: float


def need_bernoulli_link(value) -> int:
    """The number of the link "logistic" or "probit"; raises ValueError on any other."""
    return need_link("link", need_choice("link", value, LINKS[1:]))


def need_kappa(link: int, theta_bound: float, kappa: float | None) -> float:
    """kappa >= 1/slope(0) as a float, the least value that 1/slope can take; None: 1/slope(S),
    which is always valid for arms in the unit ball."""
    if kappa is None:
        least = slope(link, theta_bound)
        if not least > 0.0:
            raise ValueError(f"theta_bound must leave the link a slope above 0; got {theta_bound=}")
        return 1.0 / least
    # one part in 1e9 below is allowed: a measured kappa is rounded
    return need_float("kappa", kappa, (1.0 - 1e-9) / slope(link, 0.0))


def need_model(
    d: int,
    link: str,
    theta_bound: float,
    kappa: float | None,
    failure: float = 0.01,
    tolerance: float = 1e-8,
) -> Model:
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
def optimistic_mean(link, theta, A_inv, width, X):
    """Row of X (K, d) with the largest mean(x'theta) + width ||x||_{A^-1}; the first on ties.

    A mean and a quadratic form are computed only of arms that may beat the best so far: the mean
    lies between the lines through the best one's with the largest and the least slope.
    """
    K, steep, bound = X.shape[0], slope(link, 0.0), form_bound(A_inv, width)
    score, top = np.empty(K), 0.0
    for k in range(K):
        score[k] = dot(X[k], theta)
        top = max(top, abs(score[k]))
    flat = slope(link, top)  # the least: slopes fall on both sides of 0
    best, arm, here = -np.inf, 0, 0.0
    for k in range(K):
        if k > 0:
            far = score[k] - score[arm]
            rest = best - here - (steep if far > 0.0 else flat) * far  # left for the width
            if beaten(rest - 1e-9 * (1.0 + abs(far) + abs(best)), bound, X[k]):
                continue
        middle = mean(link, score[k])
        index = middle + width * math.sqrt(max(quad(A_inv, X[k]), 0.0))
        if index > best:
            best, arm, here = index, k, middle
    return arm
