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

import inspect
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from companion._types import Array

LAWS = ("gaussian", "laplace", "wishart", "peeling", "peeled", "picks", "counts", "generalized",
        "prefix", "sampled", "scores: laplace", "scores: coordinates", "scores: gumbel",
        "vertex")  # fmt: skip


class Disclosure(NamedTuple):
    """One instance of a private algorithm, and where its records turn into what others see.

    policy: the instance (a policy or an optimiser), asked for epsilon = 1.  kernels: {kernel:
    read}; whatever others learn of a record passes through one of these while the policy plays, and
    read(result, *arguments), called after the kernel, picks the released numbers out of them:
    [(law, numbers), ...], without copying.  secret: fields of the State that others do not see (a
    trusted curator's records, scratch), "V.exact" for a field of a field.  past: None, or a State
    to begin from instead of `init`'s: any that others may have seen or made.  rounds: how many the
    test plays.  records: (n, d + 1) further contexts and rewards (x, r) to be tried.  reaches:
    whether the guarantee is attained (True), a bound that may exceed the truth by a few per cent
    (False), or by any amount (None, for lives whose small batches are rounded coarsely).  follows:
    whether users play what they are told, where the guarantee relies on it.
    """

    policy: Any
    kernels: dict
    secret: tuple = ()
    past: tuple | None = None
    rounds: int = 1
    records: np.ndarray | None = None
    reaches: bool | None = True
    follows: bool = False


def shows(kernel: Any, *laws: str) -> dict[Any, Any]:
    """{kernel: read} for `Disclosure.kernels`, from law and argument in turn: what a kernel leaves
    in the argument of that name, or in a field of it ("s.release"), has noise of that law.
    """
    names = list(inspect.signature(getattr(kernel, "py_func", kernel)).parameters)
    places = [(law, *where.split(".")) for law, where in zip(laws[::2], laws[1::2], strict=True)]
    places = [(law, names.index(name), fields) for law, name, *fields in places]

    def read(_, *arguments):
        found = []
        for law, at, fields in places:
            numbers = arguments[at]
            for field in fields:
                numbers = getattr(numbers, field)
            found.append((law, numbers))
        return found

    return {kernel: read}


def lives(
    kernels: dict[Any, Any],
    secret: tuple[str, ...],
    *policies: Any,
    rounds: int | None = None,
    **how: Any,
) -> tuple[Disclosure, ...]:
    """A tuple of `Disclosure`s of these instances, each played for so many rounds (None: to its
    horizon, T rounds or n records); how: all else that a `Disclosure` takes."""
    ends = [rounds or getattr(q.params, "T", 0) or q.params.n for q in policies]
    return tuple(
        Disclosure(q, kernels, secret, rounds=n, **how) for q, n in zip(policies, ends, strict=True)
    )


def in_both(factory: Any, *arguments: Any, **named: Any) -> tuple[Any, ...]:
    """(corrected, paper): an instance in both calibrations."""
    return tuple(factory(*arguments, calibration=c, **named) for c in ("corrected", "paper"))


def corners(d: int) -> Array:
    """(n, d + 1) records (x, r) with entries of x at -1 and 1 (all corners up to d = 4, else two
    and their opposites) and rewards -1 and 1.
    """
    if d <= 4:
        return np.array(list(product((-1.0, 1.0), repeat=d + 1)))
    flat = np.ones(d)
    mixed = np.where(np.arange(d) % 2 == 0, 1.0, -1.0)
    return np.array([(*s * x, r) for x in (flat, mixed) for s in (-1, 1) for r in (-1, 1)])
