"""Arguments that all optimisers take: their ranges, checked once; and what is proved of them."""

from typing import NamedTuple

import numpy as np

from companion.accounting.privacy import NO_PRIVACY, REPLACE_RECORD, Guarantee
from companion.kernels.geometry import dual_exponent, need_exponent
from companion.validate import need_choice, need_float, need_int

SMALLEST = 1e-30  # sizes lie between this and its inverse: what is made of them stays finite
LEAST_EPSILON, LEAST_DELTA = 1e-4, 1e-100  # below, the accountants lose their digits


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
    """The checked `SquaresProblem`, of at least so many records; callers check p further."""
    d, n, p = need_int("d", d, 1), need_int("n", n, least), need_exponent("p", p)
    need_choice("calibration", calibration, ("paper", "corrected"))
    r, Y = need_size("radius", radius), need_size("label_bound", label_bound)
    epsilon, delta = need_spending(epsilon, delta, n)
    return SquaresProblem(d, n, p, dual_exponent(p), r, Y, 2.0 * (r + Y), epsilon, delta)


def central_guarantee(problem, true, calibration) -> Guarantee:
    """(true, delta) for the records of a `SquaresProblem`; "paper" claims its budget."""
    if problem.epsilon == np.inf:
        return NO_PRIVACY
    claimed = (problem.epsilon, problem.delta) if calibration == "paper" else None
    return Guarantee("central", true, problem.delta, REPLACE_RECORD, "record", claimed)
