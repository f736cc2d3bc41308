"""LPLR: bandit runs, and what is read off them."""

import math

import numpy as np
import pytest
from scipy import stats as sps

from companion.lplr import elimination as rounds
from companion.lplr import lplr, suffstats
from companion.lplr.bandits import LOST, MISSED, REGRET, answers, eliminate_with, game_of, judge
from companion.lplr.environments import contexts, hard_bandit
from companion.simulate import repetitions, simulate

ALARM = 1e-7  # false-alarm rate of every statistical test below


def test_missed_intervals_lost_arms_and_regret_are_counted():
    """Half-widths of nothing miss, and lose the best arm of two that hardly differ."""
    seeds, bandit = repetitions(6, 12), hard_bandit(1, 0.1)
    bold = eliminate_with("lplr", bandit, 10**4, seeds, z=0.0, threshold=0.0)
    assert (bold.missed > 0).all()
    assert 0 < bold.lost.sum() < 12
    for oracle in ("exact", "none"):
        run = eliminate_with(oracle, bandit, 10**4, seeds)
        assert not run.missed.any()
        assert not run.lost.any()
    assert run.regret.mean() == pytest.approx(0.05 * 10**4, rel=0.05)  # uniform play; 0 or 0.1


def test_elimination_with_an_exact_oracle_pays_in_the_first_epoch_only():
    bandit = hard_bandit(2, 0.3)
    run = eliminate_with("exact", bandit, 10**6, repetitions(16, 4))
    assert (run.log[:, 1:, REGRET] == 0).all()
    assert (run.log[:, 0, REGRET] > 0).all()
    assert (run.lost == 0).all()
    blind = eliminate_with("none", bandit, 10**6, repetitions(17, 50)).regret
    gap = 2 * 0.3 * 0.5 / 2
    assert abs(blind.mean() / (gap * 10**6) - 1) < 0.002


@pytest.mark.parametrize(
    ("make", "options"),
    [(lplr, {"gamma": 4.0}), (lplr, {"gamma": 4.0, "per_action": True}), (suffstats, {})],
)
def test_fast_path_has_the_law_of_rounds_played_where_something_was_learned(make, options):
    """Rewards 0.9 and -0.9: a coin decides, until an epoch ends that tells the two arms apart.

    Two runs of uniform play would agree whatever the code does, so what was learned is checked.
    """
    T, options = 4000, {"epsilon": 1000.0, "n0": 64} | options
    bandit, policy = contexts([[[0.9, 0.0], [-0.9, 0.0]]], [1.0, 0.0]), make(2, T, 2, **options)
    result = simulate(bandit, [policy], T, repetitions(5, 60), grid=[128, 2000, T])
    uniform = 0.9 * result.rounds  # regret of random play
    assert (np.abs(result.regret[:, 0, 0] / uniform[0] - 1) < 0.5).all()
    assert (result.final[:, 0] < 0.5 * uniform[-1]).all()
    assert (result.regret[:, 0, 1] == result.final[:, 0]).mean() > 0.9
    oracle = "ssp" if make is suffstats else "lplr"
    fast = eliminate_with(oracle, bandit, T, repetitions(20, 2000), **options).regret
    assert sps.ks_2samp(result.final[:, 0], fast).pvalue > ALARM


def test_every_point_is_answered_by_the_tree_that_is_fed_with_it():
    bandit = hard_bandit(2, 0.5)
    o = rounds.oracle(rounds.LPLR, 2, 10**8, math.inf, {})
    m, (game, work) = rounds.memory(o, 2), game_of(bandit, per_action=True)
    game.law.prob[:] = 0.25
    rounds.hear_sums(o, m, game.law, 10**6, np.random.default_rng(1), work.crowd)
    answers(o, m, game.law, work)
    trees = []
    for j, x in enumerate(game.law.points):
        given = work.arms.f.flat[j], work.arms.width.flat[j]
        assert given == rounds.answer(o, m, game.law.owner[j], x, np.empty(2))
        trees.append(given == rounds.answer(o, m, 1 - game.law.owner[j], x, np.empty(2)))
    assert not all(trees)  # the two trees differ


@pytest.mark.parametrize(("width", "lost"), [(0.49, 1.0), (0.51, 0.0)])
def test_an_arm_leaves_where_its_upper_end_is_below_a_lower_one(width, lost):
    """Estimates 0 and 1 of two arms, of which the first is the best one."""
    game, work = game_of(contexts([[[0.9, 0.0], [-0.9, 0.0]]], [1.0, 0.0]))
    log = np.zeros(5)
    rounds.revive(work.arms.alive)
    work.arms.f[:], work.arms.width[:] = [0.0, 1.0], width
    judge(game, work, log)
    assert log[LOST] == lost
    assert log[MISSED] == 2.0
