"""The arena for a newcomer: our own policies get the arena's numbers, to the bit."""

from pathlib import Path

import judged
import numpy as np
import pytest

from companion import policies
from companion.accounting.privacy import NO_PRIVACY
from companion.arena import contest, recipes
from companion.judge import leaderboard
from companion.judge.load import load

WORLD = leaderboard.WORLDS["d = 2"]()
SMALL = "d = 2", 200, 8.0, 4, 1  # world, T, epsilon, repetitions, seed
WEAK = ("2.0 * math.sqrt(d) / p.scale", "2.0 * epsilon")


@pytest.fixture(scope="module")
def setting():
    return leaderboard.rivals(*SMALL)


def test_a_policy_of_the_package_gets_the_numbers_of_the_arena():
    call = recipes.call("ldp_linucb", WORLD, 200, 8.0)
    run = contest.played(call, "ldp_linucb", WORLD.env, 200, 4, 1)
    mine = leaderboard.newcomer(load("ldp_linucb"), *SMALL)["run"]
    assert mine.tuned.tolist() == run.tuned.tolist()


def test_who_cannot_play_says_why(tmp_path):
    changes = [("(d, *, epsilon", "(d, width, *, epsilon"),
               ("private_greedy(3, epsilon", "private_greedy(3, 2.0, epsilon")]  # fmt: skip
    wants = judged.written(tmp_path, "wants", *changes)
    for what, why in ((judged.written(tmp_path, "weak", WEAK), "must be (8, 1/T)-private"),
                      (wants, "wants width"), ("sco_bandit", recipes.ALONE[recipes.COMMON]),
                      (policies.example("linucb"), "no factory")):  # fmt: skip
        assert why in leaderboard.newcomer(load(what), *SMALL)["found"]


def test_the_table_says_who_leads_and_is_widened_for_all_that_is_looked_at():
    """A difference of 10 with standard error 1.7 in the judging half."""

    def run(model, finals):
        return contest.Run("", "", NO_PRIVACY._replace(model=model), 1.0, False, finals, finals)

    mine = np.linspace(50.0, 51.0, 8)
    others = {"a": run("local", mine + 10.0 + 3.0 * np.tile([1.0, -1.0], 4)),
              "b": run("joint", mine - 9.0), "random": run("none", mine + 99.0)}  # fmt: skip
    there = contest.Setting("", 8, 1.0, others, {})
    for looks, close in ((1, []), (10**6, ["a"])):
        rows = leaderboard.table("mine", run("local", mine), there, looks)
        assert [row["what"] for row in rows] == ["mine", "b", "a", "random"]
        assert (rows[0]["leads"], rows[0]["close"]) == ("mine", close)


def test_a_row_has_the_leader_of_the_setting_and_who_is_close(setting):
    rows = {r["trust model"]: r for r in leaderboard.board([setting])}
    for model, (first, close) in setting.winners.items():
        row = rows[model]
        assert row["leads"].startswith(f"{first} (")
        assert row["regret / random play"] == setting.judged(first).value
        assert all(f"{name} (" in row["not shown to be worse"] for name in close)
    assert set(rows) == set(setting.winners)


def test_a_newcomer_plays_the_same_streams_and_names_are_not_taken_twice(setting, tmp_path):
    path = Path(judged.written(tmp_path, "newcomer"))
    there = leaderboard.entered(setting, path, 1)
    assert set(there.runs) == {*setting.runs, "private_greedy"}
    asked = leaderboard.newcomer(load(path), *SMALL)["run"]
    assert there.runs["private_greedy"].tuned.tolist() == asked.tuned.tolist()
    assert str(there.runs["private_greedy"].call).startswith("private_greedy(d=2, epsilon=8")
    refused = leaderboard.entered(setting, judged.written(tmp_path, "weak", WEAK), 1)
    assert refused.runs == setting.runs
    assert "must be (8, 1/T)-private" in refused.refusals["private_greedy"]
    with pytest.raises(ValueError, match="ldp_linucb plays already"):
        leaderboard.entered(setting, "ldp_linucb", 1)
