"""The arena for a newcomer: our own policies get the arena's numbers, to the bit."""

import judged
import numpy as np
import pytest

from companion import policies
from companion.arena import contest, recipes
from companion.judge import standing
from companion.judge.subject import load

SMALL = 400, 8.0, 4, 2, 1  # T, epsilon, repetitions, those that tune, seed


def test_a_policy_of_the_package_gets_the_numbers_of_the_arena(monkeypatch):
    monkeypatch.setattr(recipes, "MULTIPLES", (0.3, 1.0))
    name, world = "ldp_linucb", standing.WORLDS["d = 2"]()
    found = standing.newcomer(load(name), "d = 2", *SMALL)
    group = {name: recipes.tunable(name, world, 8.0)}
    (run,) = contest.tuned_runs(world.env, group, 400, 4, 2, 1).values()
    assert found == standing.record(run)


def test_a_newcomer_plays_with_its_declared_number_tuned(tmp_path):
    subject = load(str(judged.written(tmp_path, "plays")))
    found = standing.newcomer(subject, "d = 2", 60, 8.0, 4, 2, 1)
    assert found["call"].startswith("private_greedy(d=2, epsilon=8.0")
    group = standing.grouped(subject, standing.WORLDS["d = 2"](), 8.0)
    assert 1.0 in group.grid
    assert 0.3 in group.grid
    assert group.make(60, 0.3).policy().params.explore == pytest.approx(0.03)


def test_who_cannot_play_says_why(tmp_path):
    weak = judged.written(tmp_path, "weak", ("2.0 * math.sqrt(d) / p.scale", "2.0 * epsilon"))
    assert (
        "must be (8, 1/T)-private" in standing.newcomer(load(str(weak)), "d = 2", *SMALL)["refused"]
    )
    changes = [("(d, *, epsilon", "(d, width, *, epsilon"),
               ("private_greedy(3, epsilon", "private_greedy(3, 2.0, epsilon")]  # fmt: skip
    wants = load(str(judged.written(tmp_path, "wants", *changes)))
    assert "wants width" in standing.newcomer(wants, "d = 2", *SMALL)["refused"]
    alone = load(policies.example("linucb"))
    assert "no factory" in standing.newcomer(alone, "d = 2", *SMALL)["refused"]


def test_the_table_has_the_own_model_and_the_best_of_the_others():
    def run(model, mean):
        finals = mean + np.linspace(-1, 1, 8)
        return {"title": model, "model": model, "multiple": 1.0, "tuned": finals.tolist()}

    runs = {"a": run("local", 60.0), "b": run("joint", 30.0), "c": run("joint", 40.0),
            "random": run("none", 100.0), "free": run("none", 10.0)}  # fmt: skip
    rows = standing.table("mine", run("local", 50.0), runs, 1)
    assert [r["policy"] for r in rows] == ["free", "b", "mine", "a", "random"]
    assert [r["verdict"] for r in rows] == ["more", "more", None, "less", "less"]
    assert standing.beside(np.arange(8.0), np.arange(8.0)[::-1], 1) in ("less", "more", "undecided")


def test_verdicts_are_widened_for_all_that_is_looked_at():
    """A difference of 10 with standard error 1.7 in the judging half."""
    mine = np.linspace(50.0, 51.0, 8)

    def run(finals):
        return {"title": "", "model": "local", "multiple": 1.0, "tuned": finals.tolist()}

    runs = {"a": run(mine + 10.0 + 3.0 * np.tile([1.0, -1.0], 4)), "random": run(mine + 99.0)}
    verdicts = [
        {r["policy"]: r["verdict"] for r in standing.table("mine", run(mine), runs, looks)}["a"]
        for looks in (1, 10**6)
    ]
    assert verdicts == ["less", "undecided"]
