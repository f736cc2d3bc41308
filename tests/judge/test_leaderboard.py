"""The leaderboard says what the arena's records say, and a policy of a reader stands among them."""

import judged
import pytest

from companion.arena import contest
from companion.judge import leaderboard, standing
from companion.judge.subject import load

WORLD = standing.WORLDS["d = 2"]()
GAME = 200, 4, 2, 1  # rounds, repetitions, those that tune, seed


@pytest.fixture(scope="module")
def setting():
    T, n_reps, tune_reps, seed = GAME
    return contest.play("d = 2", WORLD, T, [8.0], n_reps, tune_reps, seed)[8.0]


def test_a_row_has_the_leader_of_the_setting_and_who_is_close(setting):
    rows = {r["trust model"]: r for r in leaderboard.board([setting])}
    for model, (first, close) in setting.winners.items():
        row = rows[model]
        assert row["leads"].startswith(f"{first} (")
        assert row["leads"].endswith(" ns)")
        assert row["regret / random play"] == setting.judged(first).value
        assert all(f"{name} (" in row["not shown to be worse"] for name in close)
    assert set(rows) == set(setting.winners)


def test_a_newcomer_plays_the_same_streams_and_leads_if_it_is_best(setting, tmp_path, monkeypatch):
    path = judged.written(tmp_path, "newcomer")
    there = leaderboard.entered(setting, WORLD, path, 2, 1)
    assert set(there.runs) == {*setting.runs, "private_greedy"}
    asked = standing.newcomer(load(str(path)), "d = 2", 200, 8.0, 4, 2, 1)
    assert there.runs["private_greedy"].tuned.tolist() == asked["tuned"]
    best = there.runs["private_greedy"]._replace(tuned=0.0 * there.random)
    won = there._replace(runs=there.runs | {"private_greedy": best})
    (row,) = (r for r in leaderboard.board([won]) if r["trust model"] == "local")
    assert row["leads"].startswith("private_greedy (")


def test_who_cannot_play_is_among_the_refusals_and_names_are_not_taken_twice(setting, tmp_path):
    weak = judged.written(tmp_path, "weak", ("2.0 * math.sqrt(d) / p.scale", "2.0 * epsilon"))
    there = leaderboard.entered(setting, WORLD, weak, 2, 1)
    assert there.runs == setting.runs
    assert "must be (8, 1/T)-private" in there.refusals["private_greedy"]
    with pytest.raises(ValueError, match="ldp_linucb plays already"):
        leaderboard.entered(setting, WORLD, "ldp_linucb", 2, 1)
