"""The arena's recipes: nobody is forgotten, everybody has the same guarantee."""

import pytest
from arena_settings import WORLDS, every_world, flat

from companion import policies
from companion.accounting.privacy import NO_PRIVACY
from companion.arena import recipes, worlds
from companion.arena.worlds import Refusal


def test_every_recipe_is_of_a_policy_that_plays_somewhere():
    assert set(recipes.RECIPES) <= set(policies.TABLE)
    played = {c.factory for w in WORLDS.values() for c in worlds.lineup(w, 2_000, 1.0)[0]}
    assert played == set(recipes.RECIPES)
    with pytest.raises(ValueError, match="name must be one of"):
        worlds.call("unheard_of", WORLDS["plain"], 2_000, 1.0)


@every_world
@pytest.mark.parametrize("epsilon", [0.25, 8.0])
def test_everybody_has_the_same_true_guarantee(world, epsilon):
    calls, refusals = worlds.lineup(world, 2_000, epsilon)
    assert len(calls) + len(refusals) == len(policies.TABLE)
    assert all(r.reason for r in refusals)
    for c in calls:
        for multiple in worlds.tunable(c.factory, world, epsilon).grid:
            g = worlds.call(c.factory, world, 2_000, epsilon, multiple).policy().guarantee
            assert g == NO_PRIVACY or (0 < g.epsilon <= epsilon * (1 + 1e-9) and g.claimed is None)
            assert g == NO_PRIVACY or g.delta in (0.0, 1 / 2_000)


@every_world
def test_the_tuned_number_changes_the_policy_and_one_is_the_default(world):
    for name in (n for n, r in recipes.RECIPES.items() if r.tuned):
        group = worlds.tunable(name, world, 1.0)
        assert 1.0 in group.grid
        calls = [group.make(2_000, m) for m in group.grid]
        if not isinstance(calls[0], Refusal):
            first, *others = ([v.tolist() for v in flat(c.policy().params)] for c in calls)
            assert all(other != first for other in others), name
