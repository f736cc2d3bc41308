"""Arguments that bandits for generalized linear models share: their ranges, checked once.

Source: Sawarni, Das, Barman and Sinha (2024), the public program behind its figures, whose
hyper-parameters the baselines here follow; rewards lie in [0, 1].
"""

from typing import NamedTuple

import numpy as np

from companion.core import Universe
from companion.kernels.glm import LINKS, need_link, slope
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
