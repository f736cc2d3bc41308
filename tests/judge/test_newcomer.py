"""The arena for a newcomer: the streams and rules of all others."""

import judged
import pytest

from companion import policies
from evidence.arena import contest, environments, recipes
from evidence.judge import newcomer


@pytest.fixture(scope="module")
def setting():
    return contest.play("", environments.dense(2, 5), 200, [8.0], 4, 0, 1)[8.0]


def test_who_cannot_play_says_why(tmp_path, setting):
    weak = ("sensitivity / p.scale", "2.0 * epsilon")
    for what, why in (
        (judged.written(tmp_path, "weak", weak), r"must be \(8, 1/T\)-private"),
        (lambda: policies.example("sco_bandit"), recipes.COMMON),
        ("ldp_linucb", "ldp_linucb plays already"),
    ):
        with pytest.raises(ValueError, match=why):
            newcomer.entered(setting, what, 1)


def test_a_newcomer_plays_the_streams_of_all_others(setting):
    """LinUCB, which draws nothing, gets its numbers of the arena under another name."""

    def mine(d, noise=0.5, theta_bound=1.0):
        return policies.linucb(d, noise=noise, theta_bound=theta_bound)

    there = newcomer.entered(setting, mine, 1)
    assert set(there.runs) == {*setting.runs, "mine"}
    assert there.runs["mine"].tuned.tolist() == setting.runs["linucb"].tuned.tolist()
