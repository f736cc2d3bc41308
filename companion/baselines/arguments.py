"""Arguments that several baselines take: their ranges, checked once; what is proved of
optimisers.

Optimisers minimise the squared loss over a ball.  Bandits for generalized linear models
follow the hyper-parameters of the public program behind the figures of Sawarni, Das,
Barman and Sinha (2024); their rewards lie in [0, 1].
"""

from typing import NamedTuple

import numpy as np

from companion.accounting.privacy import NO_PRIVACY, REPLACE_RECORD, Guarantee
from companion.core import WIDEST, Universe
from companion.kernels.geometry import dual_exponent, need_exponent
from companion.kernels.glm import LINKS, need_link, slope
from companion.validate import need_choice, need_float, need_int, need_probability

# --- bandits for generalized linear models

CLICKS = Universe(radius=np.inf, low=0.0)  # any context, rewards in [0, 1]


def need_bernoulli_link(value):
    """The number of the link "logistic" or "probit"; raises ValueError on any other."""
    return need_link("link", need_choice("link", value, LINKS[1:]))


def need_kappa(link, theta_bound, kappa):
    """kappa >= 1/slope(0) as a float, the least value that 1/slope can take; None:
    1/slope(S), which is always valid for arms in the unit ball."""
    if kappa is None:
        least = slope(link, theta_bound)
        if not least > 0.0:
            raise ValueError(
                f"theta_bound must leave the link a slope above 0; got {theta_bound=}"
            )
        return 1.0 / least
    # one part in 1e9 below is allowed: a measured kappa is rounded
    return need_float("kappa", kappa, (1.0 - 1e-9) / slope(link, 0.0))


def need_model(d, link, theta_bound, kappa, failure):
    """(d, number of the link, theta_bound, kappa, failure), checked; ValueError by
    name."""
    d = need_int("d", d, 1, WIDEST)
    link = need_bernoulli_link(link)
    bound = need_float("theta_bound", theta_bound, 1e-30, 1e30)
    kappa = need_kappa(link, bound, kappa)
    failure = need_probability("failure", failure)
    return d, link, bound, kappa, failure


# --- optimisers

# sizes lie between this and its inverse: what is made of them stays finite
SMALLEST = 1e-30
# below, the accountants lose their digits
LEAST_EPSILON = 1e-4
LEAST_DELTA = 1e-100


class SquaresProblem(NamedTuple):
    """The squared loss (y - x'theta)^2 for ||x||_q <= 1, |y| <= Y, and a budget."""

    d: int
    n: int
    p: float
    q: float
    radius: float
    high: float  # Y
    lipschitz: float  # L = 2 (radius + Y): ||gradient||_q <= L in the ball
    epsilon: float
    delta: float


def need_size(name, value, *, allow_inf=False):
    """`value` as a float in [1e-30, 1e30], or infinite."""
    infinite = allow_inf and isinstance(value, float) and value == np.inf
    high = np.inf if infinite else 1.0 / SMALLEST
    return need_float(name, value, SMALLEST, high, allow_inf=allow_inf)


def need_spending(epsilon, delta, n):
    """(epsilon, delta) as floats; delta is 1/n where it is None."""
    if delta is None and n < 2:
        raise ValueError(f"n must be at least 2 where delta is None (1/n); got n={n}")
    epsilon = need_float("epsilon", epsilon, LEAST_EPSILON, allow_inf=True)
    delta = 1.0 / n if delta is None else delta
    return epsilon, need_float("delta", delta, LEAST_DELTA, 1.0, open_high=True)


def squares_problem(d, n, p, radius, label_bound, epsilon, delta, calibration, *, least):
    """The checked `SquaresProblem`, of at least so many records; callers check p
    further."""
    d = need_int("d", d, 1)
    n = need_int("n", n, least)
    p = need_exponent("p", p)
    need_choice("calibration", calibration, ("paper", "corrected"))
    r = need_size("radius", radius)
    Y = need_size("label_bound", label_bound)
    epsilon, delta = need_spending(epsilon, delta, n)
    return SquaresProblem(
        d=d,
        n=n,
        p=p,
        q=dual_exponent(p),
        radius=r,
        high=Y,
        lipschitz=2.0 * (r + Y),
        epsilon=epsilon,
        delta=delta,
    )


class BatchState(NamedTuple):
    """What a batch method remembers: it reads all records, then shows one parameter."""

    t: np.ndarray  # (1,) records read
    clipped: np.ndarray  # (1,) records outside the universe
    theta: np.ndarray  # (d,) public parameter


def before_data(p, rng) -> BatchState:
    """State of a batch method before the data."""
    counter = np.zeros(1, np.int64)
    return BatchState(t=counter, clipped=counter.copy(), theta=np.zeros(p.d))


def central_guarantee(problem, true, calibration) -> Guarantee:
    """(true, delta) for the records of a `SquaresProblem`; "paper" claims its budget."""
    if problem.epsilon == np.inf:
        return NO_PRIVACY
    claimed = (problem.epsilon, problem.delta) if calibration == "paper" else None
    return Guarantee(
        model="central",
        epsilon=true,
        delta=problem.delta,
        neighbours=REPLACE_RECORD,
        unit="record",
        claimed=claimed,
    )
