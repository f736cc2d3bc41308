"""The arena's recipes: nobody is forgotten, everybody has the same guarantee."""

import pytest
from arena_settings import WORLDS, every_world, flat

from companion import policies
from companion.accounting.privacy import NO_PRIVACY
from evidence.arena import recipes


def test_every_recipe_is_of_a_policy_that_plays_somewhere():
    assert set(recipes.RECIPES) <= set(policies.TABLE)
    played = {
        c.factory for w in WORLDS.values() for c in recipes.lineup(w, 2_000, 1.0)[0]
    }
    assert played == set(recipes.RECIPES)


@every_world
@pytest.mark.parametrize("epsilon", [0.25, 8.0])
def test_everybody_has_the_same_true_guarantee(world, epsilon):
    calls, refusals = recipes.lineup(world, 2_000, epsilon)
    assert len(calls) + len(refusals) == len(policies.TABLE)
    for c in calls:
        for multiple in recipes.MULTIPLES:
            g = (
                recipes.call(c.factory, world, 2_000, epsilon, multiple)
                .policy()
                .guarantee
            )
            assert g == NO_PRIVACY or (
                0 < g.epsilon <= epsilon * (1 + 1e-9) and g.claimed is None
            )
            assert g == NO_PRIVACY or g.delta in (0.0, 1 / 2_000)


@pytest.mark.parametrize(
    "change",
    [{"calibration": "paper"}, {"epsilon": 20.2}, {"delta": 0.01}],
)
def test_a_weaker_guarantee_is_refused(change):
    call = recipes.call("online_linucb", WORLDS["clicks"], 2_000, 20.0)
    policy = call._replace(arguments=call.arguments | change).policy()
    with pytest.raises(ValueError, match="private"):
        recipes.need_guarantee(policy, 2_000, 20.0)


@every_world
def test_the_tuned_number_changes_the_policy_and_one_is_the_default(world):
    for name, recipe in recipes.RECIPES.items():
        if recipe.tuned and not recipes.refused(name, world, 2_000):
            calls = [recipes.call(name, world, 2_000, 1.0, m) for m in recipes.MULTIPLES]
            seen = [[v.tolist() for v in flat(c.policy().params)] for c in calls]
            assert all(seen.count(one) == 1 for one in seen), name


def test_a_policy_without_a_recipe_is_refused_and_says_why(monkeypatch):
    monkeypatch.delitem(recipes.RECIPES, "ecolog")
    _, refusals = recipes.lineup(WORLDS["clicks"], 400, 8.0)
    assert refusals["ecolog"] == recipes.NO_RECIPE


@pytest.mark.parametrize(
    ("name", "d", "T", "why"),
    [
        ("lplr", 2, 5_000, ""),
        ("lplr", 2, 5_001, "too slow here beyond T = 5,000"),
        ("lplr", 3, 400, "too slow here with d = 3"),
        ("linucb", 20, 100_000, ""),
        ("linucb", 21, 5_000, ""),
        ("linucb", 21, 5_001, "too slow here with d = 21 beyond T = 5,000"),
    ],
)
def test_a_policy_plays_up_to_its_longest_game_and_widest_world(name, d, T, why):
    assert recipes.refused(name, WORLDS["plain"]._replace(d=d), T) == why
