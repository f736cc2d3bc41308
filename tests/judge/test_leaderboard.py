"""The arena for a newcomer: the streams and rules of all others."""

import judged
import numpy as np
import pytest

from companion import policies
from companion.accounting.privacy import NO_PRIVACY
from evidence.arena import contest, environments, recipes
from evidence.judge import leaderboard
from evidence.judge.load import load


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


def test_the_table_says_who_leads_and_is_widened_for_all_that_is_looked_at():
    """A difference of 10 with standard error 1.7 in the judging half."""

    def run(model, finals):
        return contest.Run(
            call="",
            title="",
            guarantee=NO_PRIVACY._replace(model=model),
            edge=False,
            default=finals,
            tuned=finals,
        )

    mine = np.linspace(50.0, 51.0, 8)
    others = {
        "a": run("local", mine + 10.0 + 3.0 * np.tile([1.0, -1.0], 4)),
        "b": run("joint", mine - 9.0),
        "random": run("none", mine + 99.0),
    }
    there = contest.Setting(
        world="",
        T=8,
        epsilon=1.0,
        runs=others,
        refusals={},
    )
    for looks, close in ((1, []), (10**6, ["a"])):
        rows = leaderboard.table("mine", run("local", mine), there, looks)
        assert [row["what"] for row in rows] == ["mine", "b", "a", "random"]
        assert (rows[0]["leads"], rows[0]["close"]) == ("mine", close)


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
    asked = leaderboard.newcomer(load(mine), setting.place, 200, 8.0, 4, 1)["run"]
    assert asked.tuned.tolist() == there.runs["mine"].tuned.tolist()
