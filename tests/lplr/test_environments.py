"""LPLR: its worlds."""

import numpy as np
import pytest

from companion.lplr import easy_bandit
from companion.lplr.bandits import eliminate_with
from companion.lplr.environments import family, hard_bandit, spread_bandit


def test_spread_bandit():
    bandit = spread_bandit(2, 10**8, seed=3, C=40)
    assert bandit.X.shape == (40, 2, 2)
    np.testing.assert_array_equal(bandit.X[:, 0], -bandit.X[:, 1])
    sizes = np.abs(bandit.X) * np.sqrt(2)
    assert 1e-4 * (1 - 1e-12) <= sizes.min() < 1e-3  # over nearly all scales
    assert 0.1 < sizes.max() <= 1
    with pytest.raises(ValueError, match="C must"):
        spread_bandit(2, 10**8, seed=3, C=0)


def test_worlds_and_runs_refuse_by_name():
    for call, name in (
        (lambda: hard_bandit(3, 0.61), "r "),
        (lambda: hard_bandit(2, 0.81), "r "),
        (lambda: hard_bandit(1, 0.0), "r "),
        (lambda: hard_bandit(1, 0.5, copies=1e30), "copies"),
        (lambda: spread_bandit(2, 100, 1, C=1e30), "C "),
        (lambda: easy_bandit(1, d=1e30), "d "),
        (lambda: family("ball", 1e30, 100), "d "),
        (lambda: eliminate_with("none", hard_bandit(1, 0.5), 100, [0], gamma=2.0), "options"),
        (lambda: eliminate_with("exact", hard_bandit(1, 0.5), 100, [0], z=2.0), "options"),
        (lambda: eliminate_with("lplr", hard_bandit(1, 0.5), 100, [0], n0=0), "n0"),
        (lambda: eliminate_with("lplr", hard_bandit(1, 0.5), 100, []), "seeds"),
        (lambda: eliminate_with("lplr", hard_bandit(1, 0.5), 100, [-1]), "seeds"),
    ):
        with pytest.raises(ValueError, match=name):
            call()
    with pytest.raises(TypeError, match="gama"):
        eliminate_with("ssp", hard_bandit(1, 0.5), 100, [0], gama=2.0)
