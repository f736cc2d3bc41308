"""Whole numbers drawn at random in kernels.

Cost: 4 ns a number.  `Generator.integers` makes an array for every number when it is compiled,
which takes seven times as long.
"""

import numpy as np
from numba.extending import overload
from numba.np.random.generator_core import next_uint32

from companion._types import Rng

LOW = 2**32 - 1  # the bits that tell whether a draw is rejected


def below(rng: Rng, n: int) -> int:
    """A uniform whole number in 0, ..., n - 1, for n in [1, 2^31): the bits of `rng.integers`."""
    return int(rng.integers(0, n))


@overload(below)
def _below(rng, n):
    """`below` in kernels: Lemire's method, as NumPy has it."""

    def draw(rng, n):
        if n == 1:
            return 0
        m = np.int64(next_uint32(rng.bit_generator)) * n
        if m & LOW < n:
            while m & LOW < (LOW + 1 - n) % n:
                m = np.int64(next_uint32(rng.bit_generator)) * n
        return m >> 32

    return draw
