"""Blocks of prefix sums by hand, and the law of generalized Gaussian noise."""

from types import SimpleNamespace

import numpy as np

from companion.audits.smooth_noise import blocks, sizes, split

RUN = SimpleNamespace(calls=[None] * 4)


def test_blocks_of_prefix_sums_by_hand():
    """Terms 1, 10, 100, 1000: blocks end at 1 (1), at 2 (1-2), at 3 (3) and at 4 (1-4)."""
    sums = np.cumsum([1.0, 10.0, 100.0, 1000.0])
    numbers = sums / np.array([2.0, 3.0, 4.0, 5.0])
    np.testing.assert_allclose(blocks(RUN, numbers)[:, 0], [1.0, 11.0, 100.0, 1111.0])
    np.testing.assert_allclose(split("prefix", numbers, RUN), blocks(RUN, numbers))
    assert split("generalized", np.arange(8.0), RUN).tolist() == [[0, 1], [2, 3], [4, 5], [6, 7]]


def test_the_law_of_normal_noise_is_that_of_exponent_2():
    """Mean of |z|_2^2/d is 9: the ends are around 1/9; calls that share their noise are seen."""
    z = 3.0 * np.random.default_rng(0).standard_normal((20_000, 2, 3))
    ends, chance = sizes(z, 2.0)
    assert chance > 1e-7
    assert (ends[:, 0] < 1 / 9).all()
    assert (ends[:, 1] > 1 / 9).all()
    assert (ends[:, 1] / ends[:, 0] < 1.2).all()
    assert sizes(z[:, [0, 0]], 2.0)[1] < 1e-7
    assert sizes(z, 1.5)[1] < 1e-7
