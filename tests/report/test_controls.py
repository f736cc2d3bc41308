"""Planted alternatives differ from the original by what they say, and by nothing else."""

import numpy as np
import pytest

from companion.report.controls import rescaled, stretched, tilted
from companion.stats import exponent, ratio

X = np.array([1e3, 1e4, 1e5])
SAMPLES = np.random.default_rng(1).lognormal(0.0, 0.2, (20, 3)) * np.sqrt(X)


def test_a_tilted_curve_has_the_planted_rate():
    before, after = exponent(X, SAMPLES), exponent(X, tilted(X, SAMPLES, 0.25))
    assert after.value - before.value == pytest.approx(0.25)
    assert after.high - after.low == pytest.approx(before.high - before.low, rel=0.2)


def test_a_stretched_curve_ends_as_much_higher():
    assert stretched(X, SAMPLES, 0.5)[:, 0] == pytest.approx(SAMPLES[:, 0])
    assert stretched(X, SAMPLES, 0.5)[:, -1] == pytest.approx(1.5 * SAMPLES[:, -1])


def test_a_rescaled_ratio_is_that_of_the_rescaled_numbers():
    ours, theirs = SAMPLES[:, 0], SAMPLES[:, 1]
    before = ratio(ours, theirs)
    assert rescaled(before, 1.5) == pytest.approx(ratio(ours * 1.5 / before.value, theirs))
