"""What an attack on a sampler sees: n outputs for an input."""

from collections.abc import Callable
from typing import Any

import numpy as np

from companion._jit import jit
from companion._types import Array, Rng
from companion.accounting import audit
from companion.kernels import mechanisms


def attack(
    mechanism: Any, a: Any, b: Array, statistic: Callable[..., Any], sees: str = "output"
) -> Any:
    """`audit.Attack` by outputs that take no run."""
    return audit.Attack(mechanism, a, b, statistic, sees, runs=False)


def at_once(draw: Callable[..., Any]) -> Callable[..., Any]:
    """Each number is an output."""

    def mechanism(x, rng, n):
        out = np.full(n, x)
        draw(1.0, out, rng)
        return out

    return mechanism


def one_by_one(draw: Callable[..., Any], s: Any = 1.0) -> Any:
    """Each array, or pick, is an output."""

    def once(x, rng):
        out = x.copy()
        pick = draw(s, out, rng)
        return out if pick is None else pick

    return audit.repeated(once)


@jit
def symmetric_to_all(rng: Rng, sigma: float, out: Array) -> None:
    """out (n, d, d) <- out + symmetric noise, `add_symmetric_gaussian` on each in turn."""
    for i in range(out.shape[0]):
        mechanisms.add_symmetric_gaussian(rng, sigma, out[i])
