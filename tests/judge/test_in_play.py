"""Points in play: arms outside the rows, and writing beside the array of arms."""

import numpy as np
import pytest

from companion.baselines.linucb import linucb
from companion.judge import in_play
from companion.judge.on_paper import Broken, Untested

POLICY = linucb(3)


def playing(play):
    """`make` of LinUCB with another loop."""
    return lambda K: POLICY._replace(play=play)


def test_arms_outside_the_rows_are_named():
    def far(p, s, X, R, rng, arms):
        arms[:] = X.shape[1]
        return s

    with pytest.raises(Broken, match=r"with 1 rows, round 0 has arm 1, outside 0\.\.0"):
        in_play.rows(playing(far))


def test_writing_beside_the_array_of_arms_is_seen():
    def beside(p, s, X, R, rng, arms):
        arms[:] = 0
        np.lib.stride_tricks.as_strided(arms, (len(arms) + 1,))[-1] = 0
        return s

    with pytest.raises(Broken, match="outside the array"):
        in_play.rows(playing(beside))


def test_a_policy_that_never_changes_its_advice_is_not_settled():
    still = POLICY._replace(select=lambda p, s, X, rng: 0)
    with pytest.raises(Untested):
        in_play.told(lambda K: still)


def test_a_live_run_that_ends_in_another_state_is_named():
    def still(p, s, X, R, rng, arms):
        arms[:] = 0
        return s

    policy = POLICY._replace(play=still, select=lambda p, s, X, rng: 0)
    with pytest.raises(Broken, match="another state"):
        in_play.live(lambda K: policy)
