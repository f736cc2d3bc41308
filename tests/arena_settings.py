"""Worlds and made-up results that the tests of the arena share."""

import numpy as np
import pytest

from companion.accounting.privacy import NO_PRIVACY, Guarantee
from companion.environments import sphere
from companion.streaming_sco.environments import one_context
from evidence.arena import contest
from evidence.arena.environments import Expanded, World
from evidence.arena.recipes import Call

COMMON = one_context(3, 4, 2)
WORLDS = {
    "plain": World(sphere(5, 2), 2, 5),
    "dense": World(sphere(5, 5), 5, 5, l1_bound=2.3),
    "wide": World(None, 100, 5, "ball", sparsity=5, l1_bound=1.0),
    "clicks": World(None, 3, 5, "ball", "logistic", theta_bound=3.0),
    "common": World(Expanded(COMMON, 0.5), 12, 3, "ball", theta_bound=3.5, common=COMMON, p=4),
}
every_world = pytest.mark.parametrize("world", WORLDS.values(), ids=list(WORLDS))


def flat(value):
    if isinstance(value, tuple):
        return [x for part in value for x in flat(part)]
    return [np.asarray(value, float)]


def run(model, mean, spread=0.0, n=20, title=None):
    """A `Run` with final regrets around a mean."""
    finals = mean + spread * np.sin(np.arange(n) * (1 + mean))
    g = NO_PRIVACY if model == "none" else Guarantee(model, 1.0, 0.0, "x", "user")
    call = Call("linucb", {"d": 2})
    default = finals if model == "none" else 1.1 * finals
    return contest.Run(call, title or model, g, False, default, finals, call)


def setting(world="w", T=100, epsilon=1.0, **runs):
    random = run("none", 100.0, title="Random")
    runs = {"random": random} | runs
    return contest.Setting(world, T, epsilon, runs, {"lplr": "slow"}, 5, WORLDS["plain"])
