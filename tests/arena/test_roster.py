"""The arena's pages say where every constant is from."""

from arena_settings import WORLDS, run, setting

from companion.arena import contest, recipes, roster, worlds
from companion.arena.worlds import Refusal


def test_a_policy_without_a_recipe_is_refused_and_the_page_says_why(monkeypatch):
    monkeypatch.delitem(recipes.RECIPES, "ecolog")
    for world in WORLDS.values():
        calls, refusals = worlds.lineup(world, 2_000, 1.0)
        assert "ecolog" not in {c.factory for c in calls}
        assert Refusal("ecolog", recipes.NO_RECIPE) in refusals
    played = contest.play("plain", WORLDS["plain"], 400, [8.0], 2, 2, 1)
    (row,) = (r for r in roster.roster(played.values()) if r["policy"] == "ecolog")
    assert row["elsewhere"] == recipes.NO_RECIPE
    assert row["worlds"] == 0


def test_the_record_of_a_paper_leaves_our_repairs_out():
    s = setting(corrected_ridge=run("local", 1.0), lplr=run("local", 10.0), ssp=run("local", 50.0))
    assert roster.record([s], ["lplr"], "local") == ([s], 0, 1)
    assert roster.record([s], ["ssp"], "local") == ([], 1, 1)
    assert roster.record([setting(lplr=run("local", 10.0))], ["lplr"], "local")[0] == []  # alone


def test_every_constant_that_is_set_by_hand_is_named_on_the_page():
    bounds = {"noise", "theta_bound", "ball", "b_max", "x_max", "l1_radius"}  # a user knows them
    for name, r in recipes.RECIPES.items():
        for argument in r.given.keys() - bounds - {r.tuned, "bases"}:
            assert argument in roster.HAND.get(name, ""), f"say where {name}'s {argument} is from"
    assert roster.HAND.keys() <= recipes.RECIPES.keys()


def test_the_page_lists_every_number_that_a_policy_reads():
    played = contest.play("plain", WORLDS["plain"], 400, [8.0], 2, 2, 1)
    rows = {row["policy"]: row for row in roster.constants(played.values())}
    assert rows.keys() == played[8.0].runs.keys()
    said = rows["linucb"]["all constants"]
    assert said == "d = 2, ridge = 1, noise = 0.5, theta_bound = 1, failure = 0.01, width = 1"
    assert "sigma = " in rows["ldp_linucb"]["all constants"]
