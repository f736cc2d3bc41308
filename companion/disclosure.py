"""What a private algorithm offers, beside `example()`, so that its guarantee can be measured.

A module whose policy has a guarantee offers `disclosures()`, a tuple of `Disclosure`: instances
that cover its calibrations and options.  One common test plays them and rebuilds every epsilon from
what it sees: how far a record moves what a kernel lets out when no noise is drawn, how often that
happens while the policy plays, and the noise that the kernel draws.

Laws of the numbers that a kernel lets out:
    "gaussian"  numbers with normal noise of any covariance, over all calls together
    "laplace"   numbers with independent Laplace noise
    "wishart"   matrices (..., d, d) with the difference of two Wishart_d(d+1, cI) matrices
    "peeling"   a vector of which "peeled" shows the noisily largest entries, with noise; "picks"
                is where they stand; Laplace noise of one scale, fresh for every pick and value
    "counts"    multiples of one step with independent binomial noise
    "generalized"  vectors with generalized Gaussian noise of one norm, independent in every call
    "prefix"    prefix sums divided by (number of terms + 1), whose dyadic blocks have such noise
    "sampled"   as "gaussian", each call about one record drawn at random
    "scores"    the vector x whose noisily smallest vertex <x, +-r e_j> is shown ("vertex"), with
                independent noise "laplace", "coordinates" (one draw for both signs) or "gumbel"
"""

from itertools import product
from typing import NamedTuple

import numpy as np

LAWS = ("gaussian", "laplace", "wishart", "peeling", "peeled", "picks", "counts", "generalized",
        "prefix", "sampled", "scores: laplace", "scores: coordinates", "scores: gumbel",
        "vertex")  # fmt: skip


class Disclosure(NamedTuple):
    """One instance of a private algorithm, and where its records turn into what others see.

    policy: the instance (a policy or an optimiser), asked for epsilon = 1.  kernels: {kernel:
    read}; whatever others learn of a record passes through one of these while the policy plays, and
    read(result, *arguments), called after the kernel, picks the released numbers out of them:
    [(law, numbers), ...], without copying.  secret: fields of the State that others do not see (a
    trusted curator's records, scratch).  past: None, or a State to begin from instead of `init`'s:
    any that others may have seen or made.  rounds: how many the test plays.  records: (n, d + 1)
    further contexts and rewards (x, r) to be tried.  reaches: whether the guarantee is attained, or
    only a bound that may exceed the truth by a few per cent.
    """

    policy: object
    kernels: dict
    secret: tuple = ()
    past: tuple | None = None
    rounds: int = 1
    records: np.ndarray | None = None
    reaches: bool = True


def corners(d):
    """(n, d + 1) records (x, r) with entries of x at -1 and 1 (all corners up to d = 4, else two
    and their opposites) and rewards -1 and 1.
    """
    if d <= 4:
        return np.array(list(product((-1.0, 1.0), repeat=d + 1)))
    flat = np.ones(d)
    mixed = np.where(np.arange(d) % 2 == 0, 1.0, -1.0)
    return np.array([(*s * x, r) for x in (flat, mixed) for s in (-1, 1) for r in (-1, 1)])
