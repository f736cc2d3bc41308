"""Kinds of worlds, of any size."""

import numpy as np
import pytest

from companion.arena import worlds
from companion.arena.kinds import KINDS, world_of


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_world_has_candidates_of_any_size(kind):
    world = world_of(kind, 6, 4)
    calls, _ = worlds.lineup(world, 500, 1.0)
    assert any(c.policy().guarantee.model != "none" for c in calls)
    X, R, _ = next(world.env.blocks(5, np.random.default_rng(1)))
    assert X.shape == (5, 4, world.d)
    assert R.shape == (5, 4)
