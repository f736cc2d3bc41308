"""LPLR: which arms an epoch drops, and who plays among the rest."""

import numpy as np
from scipy import stats as sps

from companion.lplr import elimination as rounds
from companion.lplr import lplr
from companion.lplr.elimination import eliminate, pick

ALARM = 1e-7  # false-alarm rate of every statistical test below


def generator(*key):
    """A random stream named by integers."""
    return np.random.default_rng(list(key))


def test_elimination_drops_what_lies_below_the_best_lower_end_of_the_living():
    f, width = np.array([0.5, 0.0, 0.3, 0.9]), np.array([0.1, 0.1, 0.1, 0.2])
    alive = np.array([1, 1, 1, 0])  # the last arm is dead, and its lower end 0.7 does not count
    eliminate(f, width, alive)
    assert alive.tolist() == [1, 0, 1, 0]  # 0.3 + 0.1 reaches 0.5 - 0.1: ties stay
    eliminate(f, width, alive)
    assert alive.tolist() == [1, 0, 1, 0]
    for seed in range(50):  # whatever the numbers, somebody stays
        rng = np.random.default_rng(seed)
        alive = np.ones(6, dtype=np.int64)
        eliminate(rng.standard_normal(6), rng.random(6), alive)
        assert alive.sum() >= 1


def test_play_is_uniform_among_the_living():
    rng, alive = generator(1), np.array([0, 1, 1, 0, 1])
    plays = np.bincount([pick(alive, rng) for _ in range(9000)], minlength=5)
    assert plays[[0, 3]].sum() == 0
    assert sps.chisquare(plays[[1, 2, 4]]).pvalue > ALARM


def test_an_epoch_that_learned_nothing_eliminates_nobody():
    """The shortcut of `select` against its slow twin, which asks every epoch: with a threshold that
    some epochs reach and others do not, all arms stay wherever it is taken.
    """
    policy = lplr(2, 3000, 6, epsilon=20.0, n0=16, gamma=4.0)
    p, rng, seen = policy.params, np.random.default_rng(4), set()
    state, arms = policy.init(p), np.empty(50, dtype=np.int64)
    for _ in range(60):
        X = rng.uniform(-0.7, 0.7, (50, 6, 2))
        R = np.where(rng.random((50, 6)) < 0.5 + 0.5 * X @ [0.8, -0.4], 1.0, -1.0)
        for i in range(state.clock.epoch):
            f, width = np.transpose(
                [rounds.answer(p.oracle, state.memory, i, x, np.empty(2)) for x in X[0]]
            )
            alive = np.ones(6, dtype=np.int64)
            rounds.eliminate(f, width, alive)
            known = rounds.knows(p.oracle, state.memory, i)
            assert known or (alive.all() and not f.any())
            seen.add(bool(known))
        state = policy.play(p, state, X, R, rng, arms)
    assert seen == {False, True}
