"""The arena for a newcomer: our own policies get the arena's numbers, to the bit."""

import judged
import numpy as np
import pytest

from companion import policies
from companion.accounting.privacy import NO_PRIVACY
from companion.arena import contest, recipes
from companion.judge import leaderboard
from companion.judge.load import load

SMALL = 400, 8.0, (4, 2), 1  # T, epsilon, repetitions and those that tune, seed


def test_a_policy_of_the_package_gets_the_numbers_of_the_arena(monkeypatch):
    monkeypatch.setattr(recipes, "MULTIPLES", (0.3, 1.0))
    name, world = "ldp_linucb", leaderboard.WORLDS["d = 2"]()
    found = leaderboard.newcomer(load(name), "d = 2", *SMALL)
    group = {name: recipes.tunable(name, world, 8.0)}
    (run,) = contest.tuned_runs(world.env, group, 400, 4, 2, 1).values()
    assert found["run"].tuned.tolist() == run.tuned.tolist()
    assert found["run"].call == str(run.call)


def test_a_newcomer_plays_with_its_declared_number_tuned(tmp_path):
    subject = load(str(judged.written(tmp_path, "plays")))
    found = leaderboard.newcomer(subject, "d = 2", 60, 8.0, (4, 2), 1)["run"]
    assert found.call.startswith("private_greedy(d=2, epsilon=8")
    group = leaderboard.grouped(subject, leaderboard.WORLDS["d = 2"](), 8.0)
    assert 1.0 in group.grid
    assert 0.3 in group.grid
    assert group.make(60, 0.3).policy().params.explore == pytest.approx(0.03)


def test_who_cannot_play_says_why(tmp_path):
    weak = judged.written(tmp_path, "weak", ("2.0 * math.sqrt(d) / p.scale", "2.0 * epsilon"))
    assert (
        "must be (8, 1/T)-private"
        in leaderboard.newcomer(load(str(weak)), "d = 2", *SMALL)["found"]
    )
    changes = [("(d, *, epsilon", "(d, width, *, epsilon"),
               ("private_greedy(3, epsilon", "private_greedy(3, 2.0, epsilon")]  # fmt: skip
    wants = load(str(judged.written(tmp_path, "wants", *changes)))
    assert "wants width" in leaderboard.newcomer(wants, "d = 2", *SMALL)["found"]
    alone = load(policies.example("linucb"))
    assert "no factory" in leaderboard.newcomer(alone, "d = 2", *SMALL)["found"]


def run(model, finals):
    return contest.Run("", "", NO_PRIVACY._replace(model=model), 1.0, False, finals, finals)


def rows(mine, others, looks=1):
    """{policy: outcome} of the table of a local newcomer, in its order."""
    there = contest.Setting("", 8, 1.0, others, {})
    found = leaderboard.table("mine", run("local", mine), there, looks)
    return {row["what"]: row["outcome"] for row in found}


def test_the_table_has_the_own_model_and_the_best_of_the_others():
    means = {"a": ("local", 60.0), "b": ("joint", 30.0), "c": ("joint", 40.0),
             "random": ("none", 100.0), "free": ("none", 10.0)}  # fmt: skip
    spread = np.linspace(-1, 1, 8)
    found = rows(50.0 + spread, {n: run(m, mean + spread) for n, (m, mean) in means.items()})
    outcomes = {"free": "more", "b": "more", "mine": "played", "a": "less", "random": "less"}
    assert list(found.items()) == list(outcomes.items())


def test_verdicts_are_widened_for_all_that_is_looked_at():
    """A difference of 10 with standard error 1.7 in the judging half."""
    mine = np.linspace(50.0, 51.0, 8)
    others = {"a": run("local", mine + 10.0 + 3.0 * np.tile([1.0, -1.0], 4)),
              "random": run("none", mine + 99.0)}  # fmt: skip
    assert [rows(mine, others, looks)["a"] for looks in (1, 10**6)] == ["less", "undecided"]


WORLD = leaderboard.WORLDS["d = 2"]()
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
    asked = leaderboard.newcomer(load(str(path)), "d = 2", 200, 8.0, (4, 2), 1)
    assert there.runs["private_greedy"].tuned.tolist() == asked["run"].tuned.tolist()
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
