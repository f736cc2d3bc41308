"""LPLR's live policies: whom they feed, what they refuse."""

import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from companion.lplr import (
    design,
    easy_bandit,
    eliminate_with,
    estimate_lplr,
    estimate_ssp,
    family,
    hard_bandit,
    ldp_linucb_regret,
    lplr,
    lplr_params,
    spread_bandit,
    suffstats,
)
from companion.lplr.bins import COUNT
from companion.simulate import repetitions


def test_the_oracle_of_the_arm_played_is_fed_whatever_was_advised():
    policy = lplr(1, 100, 3, math.inf, per_action=True, n0=8, threshold=0.0)
    live, X = policy.start(0), np.array([[0.9], [0.8], [0.7]])
    advised = []
    for _ in range(8):  # the users of the first stage
        advised.append(live.select(X))
        live.update(2, 1.0)
    assert set(advised) != {2}
    counts = live.state.memory.forest.stat[:3, :, COUNT].sum(axis=1)
    assert counts.tolist() == [0, 0, 8]  # without noise a dummy leaves no trace


def test_with_noise_every_oracle_gets_a_message():
    live = lplr(1, 100, 2, per_action=True, n0=8).start(0)
    live.select([[0.9], [0.8]])
    live.update(0, 1.0)
    assert (live.state.memory.forest.stat[:2, 0, COUNT] != 0).all()


@pytest.mark.parametrize("make", [lplr, suffstats])
def test_records_outside_the_universe_are_clipped_before_they_are_sent(make):
    live = make(2, 100, 2, math.inf, n0=8).start(0)
    live.select([[3.0, 4.0], [0.1, 0.0]])
    live.update(0, -7.0)
    memory = live.state.memory
    sent = memory.forest.vec[0, 0] if make is lplr else memory.models.vec[0]
    assert sent == pytest.approx([-0.6, -0.8])


@pytest.mark.parametrize("make", [lplr, suffstats])
def test_another_number_of_arms_is_refused(make):
    live = make(2, 100, 3, n0=8).start(0)
    for rows in (1, 2, 4, 5000):
        with pytest.raises(ValueError, match="K=3"):
            live.select(np.full((rows, 2), 0.1))
    live.select(np.full((3, 2), 0.1))


@pytest.mark.parametrize("make", [lplr, suffstats])
def test_factories_refuse_by_name(make):
    good = {"d": 2, "T": 1000, "K": 3}
    for name, value in (("d", 0), ("T", 7), ("K", 0), ("K", 1e9), ("n0", 1), ("epsilon", 0.0)):
        with pytest.raises(ValueError, match=name):
            make(**{**good, name: value})
    with pytest.raises(ValueError, match="per_action"):
        lplr(2, 1000, 3, per_action=3)


@pytest.mark.parametrize("make", [lplr, suffstats])
@pytest.mark.parametrize("name", ["d", "T", "K", "n0"])
def test_absurd_integers_are_refused_by_name(make, name):
    for value in (1e30, 10**30):
        with pytest.raises(ValueError, match=name):
            make(**{"d": 2, "T": 1000, "K": 3, name: value})


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


def test_repeated_runs_do_not_depend_on_the_executor_or_on_company():
    seeds = repetitions(3, 5)
    for run in (
        lambda s, e: estimate_lplr(hard_design(), lplr_params(1, 1000, 50.0), 1000, s, e).mad,
        lambda s, e: estimate_ssp(hard_design(), 1000, s, e)[0],
        lambda s, e: eliminate_with("lplr", hard_bandit(1, 0.8), 2000, s, e, epsilon=50.0).regret,
        lambda s, e: ldp_linucb_regret(hard_bandit(1, 0.8), 2000, s, e),
    ):
        together = run(seeds, None)
        with ThreadPoolExecutor(1) as one:
            assert np.array_equal(together, run(seeds, one))
        assert np.array_equal(together[3:4], run(seeds[3:4], None))
        assert len(set(together)) > 1
        assert np.array_equal(run([0, 1], None), run([0, 1], None))


def hard_design():
    """Two lengths, one dimension."""
    return design([[0.9], [0.1]], [0.5])
