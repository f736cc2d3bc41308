"""LPLR: users drawn at once are counted once and fed to one oracle."""

import numpy as np
from lplr_quiet import quiet
from scipy import stats as sps

from companion.lplr.bins import COUNT, plant
from companion.lplr.crowd import Law, crowd, multinomial
from companion.lplr.fit import fit_sums
from companion.lplr.params import lplr_params

ALARM = 1e-7  # false-alarm rate of every statistical test below


def test_a_point_is_fed_to_its_owner_alone():
    p = quiet(lplr_params(1, 10**4, 1.0, M=2))._replace(threshold=-1.0)
    points, owner = np.array([[0.9], [0.8], [0.2]]), np.array([1, 1, 0])
    law = Law(points, np.zeros(3), np.full(3, 1 / 3), owner, True)
    forest, users = plant(p, 3), crowd(3, 1)
    fit_sums(p, forest, law, 300, np.random.default_rng(0), users)
    counts = forest.stat[:, :-1, COUNT].sum(axis=1)
    assert counts.tolist() == [users.plays[2], users.plays[0] + users.plays[1], 0.0]
    assert users.plays.sum() == 300


def generator(*key):
    """A random stream named by integers."""
    return np.random.default_rng(list(key))


def test_multinomial_counts_everyone_once():
    rng, prob = generator(9), np.array([0.2, 0.0, 0.5, 0.1])
    out = np.empty(4, dtype=np.int64)
    total = np.zeros(4)
    for _ in range(2000):
        multinomial(rng, 100, prob, out)
        total += out
    expected = np.array([*(prob * 200_000), 40_000])
    seen = np.array([*total, 200_000 - total.sum()])
    assert seen[1] == 0
    keep = expected > 0
    assert sps.chisquare(seen[keep], expected[keep]).pvalue > ALARM
    multinomial(rng, 10**18, np.array([0.3, 0.7]), out[:2])
    assert out[:2].sum() == 10**18
