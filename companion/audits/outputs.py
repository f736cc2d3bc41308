"""What an attack on a sampler sees: n outputs for an input."""

import numpy as np

from companion.accounting import audit
from companion.jit import jit
from companion.kernels import mechanisms


def attack(mechanism, a, b: np.ndarray, statistic, sees: str = "output"):
    """`audit.Attack` by outputs that take no run."""
    return audit.Attack(mechanism, a, b, statistic, sees, runs=False)


def at_once(draw):
    """Each number is an output."""

    def mechanism(x, rng, n):
        out = np.full(n, x)
        draw(1.0, out, rng)
        return out

    return mechanism


def one_by_one(draw, s=1.0):
    """Each array, or pick, is an output."""

    def once(x, rng):
        out = x.copy()
        pick = draw(s, out, rng)
        return out if pick is None else pick

    return audit.repeated(once)


@jit
def symmetric_to_all(rng, sigma, out):
    """out (n, d, d) <- out + symmetric noise, `add_symmetric_gaussian` on each in turn."""
    for i in range(out.shape[0]):
        mechanisms.add_symmetric_gaussian(rng, sigma, out[i])
