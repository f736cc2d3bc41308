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


class Clock:
    """Stands in for the clock of a thread: work tells it what it takes."""

    def __init__(self, monkeypatch):
        self.now, self.ran = 0.0, []
        monkeypatch.setattr(floors.time, "thread_time", lambda: self.now)

    def work(self, name, took):
        def run():
            self.ran.append(name)
            self.now += took

        return run


def test_work_alternates_after_one_run_of_each(monkeypatch):
    clock = Clock(monkeypatch)
    both = floors.alternated(clock.work("a", 0.1), clock.work("b", 0.2), 3)
    assert clock.ran == ["a", "b"] * 4
    np.testing.assert_allclose(both, [[0.1, 0.2]] * 3)


def test_a_side_has_so_many_seconds_and_three_turns(monkeypatch):
    clock = Clock(monkeypatch)
    run = clock.work("a", 0.1), clock.work("b", 0.25)
    assert len(floors.alternated(*run, 9, side=0.9)) == 4
    assert len(floors.alternated(*run, 9, side=0.1)) == 3
    assert len(floors.alternated(*run, 2, side=0.1)) == 2


def test_short_work_is_repeated_in_its_turn(monkeypatch):
    clock = Clock(monkeypatch)
    both = floors.alternated(clock.work("a", floors.SHORT / 4), clock.work("b", 1.0), 1)
    assert clock.ran == ["a", "b", "a", "b", *"aaaa", "b"]
    np.testing.assert_allclose(both, [[floors.SHORT / 4, 1.0]])


@pytest.mark.parametrize("name", ["linucb", "sco_bandit", "noisy_sfw"])
def test_what_is_measured(name):
    m = floors.measured(name, ROSTER[name], T=400, times=3)
    assert (m.name, m.rounds, m.d) == (name, 400, ROSTER[name].d)
    assert 0.0 < m.multiple[0] <= m.multiple[1] <= m.multiple[2]
    assert m.ns > 0.0
    assert m.said == {"linucb": 3.0, "sco_bandit": 5.0, "noisy_sfw": 16.0}[name]


def test_a_run_plays_the_whole_stream():
    entry = ROSTER["sco_bandit"]
    policy = entry.make(3, 4, 500)
    assert one_context(policy)
    state = floors.run_of(policy, *floors.stream(500, 4, 3, True))()
    assert state.t == 500
