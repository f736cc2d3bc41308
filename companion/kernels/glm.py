"""Links of generalized linear models: the mean of a reward at the linear score z = x'theta.

A link is a number, so that it fits into Params; `LINKS` names them.
    linear    z                  logistic  1/(1 + e^-z)           probit  Phi(z)
    slope     1                            m (1 - m)                      phi(z)
    bend      0                            m (1 - m) (1 - 2m)             -z phi(z)
Source: McCullagh and Nelder (1989), section 4.3.
"""

import math
from typing import Any

from companion._borrowed import lean
from companion.checks import need_choice

LINKS = ("linear", "logistic", "probit")
LINEAR, LOGISTIC, PROBIT = range(3)


def need_link(name: str, value: Any) -> int:
    """The number of the link called `value`; raises ValueError unless `LINKS` has it."""
    return LINKS.index(need_choice(name, value, LINKS))


@lean
def mean(link: int, z: float) -> float:
    """Mean at score z; both tails are exact, neither overflows."""
    if link == LINEAR:
        return z
    if link == PROBIT:
        return 0.5 * math.erfc(-z * math.sqrt(0.5))
    if z >= 0.0:
        return 1.0 / (1.0 + math.exp(-z))
    e = math.exp(z)
    return e / (1.0 + e)


@lean
def slope(link: int, z: float) -> float:
    """First derivative of the mean at score z."""
    if link == LINEAR:
        return 1.0
    if link == PROBIT:
        return math.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi)
    e = math.exp(-abs(z))
    return e / ((1.0 + e) * (1.0 + e))


@lean
def bend(link: int, z: float) -> float:
    """Second derivative of the mean at score z."""
    if link == LINEAR:
        return 0.0
    if link == PROBIT:
        return -z * slope(link, z)
    return slope(link, z) * (1.0 - 2.0 * mean(link, z))
