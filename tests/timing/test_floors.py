"""Floors: what they compute, what a run over them is, what is reported."""

import numpy as np
import pytest

from companion.baselines.linucb import linucb
from companion.core import one_context
from companion.timing import floors
from companion.timing.roster import ROSTER


def test_the_floor_takes_the_best_product_and_so_many_normals():
    X, _ = floors.stream(50, 4, 3)
    theta = np.array([1.0, -2.0, 0.5])
    best = (X @ theta).max(axis=1).sum()
    assert floors.floor(X, theta, 0, np.random.default_rng(0)) == pytest.approx(best)
    noise = np.random.default_rng(0).standard_normal(100).sum()
    assert floors.floor(X, theta, 2, np.random.default_rng(0)) == pytest.approx(best + noise)


def test_the_floor_of_an_optimiser_reads_and_draws_as_told():
    A, theta, rng = np.arange(6.0).reshape(3, 2), np.ones(2), np.random.default_rng(0)
    draws = rng.standard_normal(4).sum() + sum(rng.integers(0, 3) for _ in range(5))
    found = floors.least(A, theta, 4, 4, 5, np.random.default_rng(0))
    assert found == pytest.approx(A.sum() + A[0].sum() + draws)


def test_streams_follow_their_seed():
    X, R = floors.stream(200, 4, 3, seed=5)
    assert np.linalg.norm(X, axis=2).max() <= 1.0
    assert set(np.unique(R)) == {0.0, 1.0}
    assert not np.array_equal(X, floors.stream(200, 4, 3, seed=6)[0])
    one = floors.stream(200, 4, 3, True, seed=5)[0]
    assert (one == X[:, :1]).all()


def test_bytes_of_a_state():
    p = linucb(7)
    arrays = [a for a in p.init(p.params) if isinstance(a, np.ndarray)]
    scalars = len(p.init(p.params)) - len(arrays)
    assert floors.held(p.init(p.params)) == sum(a.nbytes for a in arrays) + 8 * scalars


def test_work_alternates_after_one_run_of_each():
    ran = []
    both = floors.alternated(lambda: ran.append("a"), lambda: ran.append("b"), 3)
    assert ran == ["a", "b"] * 4
    assert both.shape == (3, 2)


@pytest.mark.parametrize("name", ["linucb", "sco_bandit", "noisy_sfw"])
def test_what_is_measured(name):
    m = floors.measured(name, ROSTER[name], T=400, times=3)
    assert (m.name, m.rounds, m.d) == (name, 400, ROSTER[name].d)
    assert 0.0 < m.multiple[0] <= m.multiple[1] <= m.multiple[2]
    assert m.ns > 0.0
    assert m.said == {"linucb": 3.0, "sco_bandit": 6.0, "noisy_sfw": 12.0}[name]


def test_a_run_plays_the_whole_stream():
    entry = ROSTER["sco_bandit"]
    policy = entry.make(3, 4, 500)
    assert one_context(policy)
    state = floors.run_of(policy, *floors.stream(500, 4, 3, True))()
    assert state.t == 500
