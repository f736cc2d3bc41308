"""Whole numbers in kernels, against the generator's own."""

import numpy as np
import pytest

from companion.jit import jit
from companion.kernels.mechanisms import below


@jit
def drawn(rng, n, out):
    for i in range(out.shape[0]):
        out[i] = below(rng, n)


@pytest.mark.parametrize("n", [1, 2, 3, 10, 2_000, 1_500_000_000, 2**31 - 1])
def test_whole_numbers_have_the_bits_of_the_generator(n):
    """At n = 1.5e9 three draws of ten are rejected; at n = 1 nothing is drawn."""
    ours, theirs = np.random.default_rng(5), np.random.default_rng(5)
    out = np.empty(3_001, np.int64)
    drawn(ours, n, out)
    assert out.tolist() == [int(theirs.integers(0, n)) for _ in out]
    assert ours.bit_generator.state == theirs.bit_generator.state
    assert below(ours, n) == theirs.integers(0, n)  # not compiled
