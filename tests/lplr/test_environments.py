"""LPLR: its designs and bandits."""

import numpy as np
import pytest

from companion.lplr.environments import design, easy_bandit, family, hard_bandit, spread_bandit


def test_spread_bandit():
    bandit = spread_bandit(2, 10**8, seed=3, C=40)
    assert bandit.X.shape == (40, 2, 2)
    np.testing.assert_array_equal(bandit.X[:, 0], -bandit.X[:, 1])
    sizes = np.abs(bandit.X) * np.sqrt(2)
    assert 1e-4 * (1 - 1e-12) <= sizes.min() < 1e-3  # over nearly all scales
    assert 0.1 < sizes.max() <= 1
    with pytest.raises(ValueError, match="C must"):
        spread_bandit(2, 10**8, seed=3, C=0)


def test_designs_and_bandits_refuse_by_name():
    for call, name in (
        (lambda: hard_bandit(3, 0.61), "r "),
        (lambda: hard_bandit(2, 0.81), "r "),
        (lambda: hard_bandit(1, 0.0), "r "),
        (lambda: hard_bandit(1, 0.5, repeats=1e30), "repeats"),
        (lambda: spread_bandit(2, 100, 1, C=1e30), "C "),
        (lambda: easy_bandit(1, d=1e30), "d "),
        (lambda: family("ball", 1e30, 100), "d "),
        (lambda: design([[1.1, 0]], [0, 0]), "points"),
        (lambda: design([[1, 0]], [1, 1]), "theta"),
        (lambda: design([[1, 0]], [0, 0], [1.1]), "prob"),
        (lambda: design([[1, 0]], [0, 0], [-0.1]), "prob"),
        (lambda: design([[np.inf, 0]], [0, 0]), "points"),
    ):
        with pytest.raises(ValueError, match=name):
            call()
