"""What is measured of a private algorithm, and the routes from there to epsilon.

No formula of the package's own calibrations is used: `dp-accounting` (imported inside functions),
or a closed form of another source.
"""

from typing import NamedTuple

import numpy as np

ALARM = 1e-7  # false alarms of one interval or test; several hundred are made
REACH = 1.01  # the search comes this close to the largest movement
SLACK = 1.06  # a bound that need not be attained exceeds the truth by no more


class Measured(NamedTuple):
    """Movement, releases and noise of an algorithm, and what follows for its guarantee.

    A promise that is right lies between `low` and `high`, a false alarm has a chance of a few times
    `ALARM`; chance: the smallest p-value of the tests that the noise has the declared law, below
    `ALARM` for a wrong one.
    """

    movement: float  # largest distance that one record moves all releases together, without noise
    releases: int  # calls that this record enters
    noise: float  # movement over the loss's own ratio: the scale of the noise against it
    low: float  # epsilon at the guarantee's delta
    high: float
    bounded: bool  # whether records far outside the universe move a release no further
    chance: float = 1.0


def unbounded(movement: float = np.inf, releases: int = 0) -> Measured:
    """`Measured` where a record may move a release as far as it likes."""
    return Measured(movement, releases, np.nan, np.inf, np.inf, False)


def reach(case) -> float:
    """By how much the promise may exceed what the search finds."""
    return np.inf if case.bound_is_tight is None else REACH if case.bound_is_tight else SLACK


def concentrated(rho: float, delta: float) -> float:
    """epsilon of rho-zCDP, by the accountant library."""
    import dp_accounting
    from dp_accounting import rdp

    orders = np.concatenate([1 + np.logspace(-3, 0, 400), np.linspace(2, 400, 4000)])
    accountant = rdp.RdpAccountant(orders)
    accountant.compose(dp_accounting.ZCDpEvent(rho))
    return accountant.get_epsilon(delta)
