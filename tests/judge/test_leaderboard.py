"""The arena for a newcomer: the streams and rules of all others."""

import judged
import pytest

from companion import policies
from evidence.arena import contest, environments, recipes
from evidence.judge import leaderboard


@pytest.fixture(scope="module")
def setting():
    return contest.play("", environments.dense(2, 5), 200, [8.0], 4, 1, 1)[8.0].untuned


def test_who_cannot_play_says_why(tmp_path, setting):
    weak = ("2.0 * math.sqrt(d) / p.scale", "2.0 * epsilon")
    for what, why in (
        (judged.written(tmp_path, "weak", weak), r"must be \(8, 1/T\)-private"),
        (lambda: policies.example("sco_bandit"), recipes.ALONE[recipes.COMMON]),
        ("ldp_linucb", "ldp_linucb plays already"),
    ):
        with pytest.raises(ValueError, match=why):
            leaderboard.entered(setting, what, 1)


def test_a_row_has_the_leader_of_the_setting_and_who_is_close(setting):
    rows = {r["trust model"]: r for r in leaderboard.board([setting])}
    assert list(rows) == [m for m in contest.MODELS if m in setting.winners]
    for model, (first, close) in setting.winners.items():
        row = rows[model]
        assert row["leads"].startswith(f"{first} (")
        assert row["regret / random play"] == setting.judged(first).value
        assert all(f"{name} (" in row["not shown to be worse"] for name in close)


def test_a_newcomer_plays_the_streams_of_all_others(setting):
    """LinUCB, which draws nothing, gets its numbers of the arena under another name."""

    def mine(d, noise=0.5, theta_bound=1.0):
        return policies.linucb(d, noise=noise, theta_bound=theta_bound)

    there = leaderboard.entered(setting, mine, 1)
    assert set(there.runs) == {*setting.runs, "mine"}
    assert there.runs["mine"].tuned.tolist() == setting.runs["linucb"].tuned.tolist()
