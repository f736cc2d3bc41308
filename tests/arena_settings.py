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
    "wide": World(
        env=None,
        d=100,
        K=5,
        universe="ball",
        sparsity=5,
        l1_bound=1.0,
    ),
    "clicks": World(
        env=None,
        d=3,
        K=5,
        universe="ball",
        link="logistic",
        theta_bound=3.0,
    ),
    "common": World(
        env=Expanded(COMMON, 0.5),
        d=12,
        K=3,
        universe="ball",
        theta_bound=3.5,
        common=COMMON,
        p=4,
    ),
}
every_world = pytest.mark.parametrize("world", WORLDS.values(), ids=list(WORLDS))


def flat(value):
    if isinstance(value, tuple):
        return [x for part in value for x in flat(part)]
    return [np.asarray(value, float)]


def run(model, mean, spread=0.0, n=20, title=None):
    """A `Run` with final regrets around a mean."""
    finals = mean + spread * np.sin(np.arange(n) * (1 + mean))
    g = NO_PRIVACY
    if model != "none":
        g = Guarantee(model, 1.0, 0.0, "x", "user")
    own = contest.Run(title or model, g, Call("linucb", {"d": 2}), finals)
    if model != "none":
        own = own._replace(default=own._replace(tuned=1.1 * finals))
    return own


def setting(world="w", T=100, epsilon=1.0, **runs):
    random = run("none", 100.0, title="Random")
    runs = {"random": random} | runs
    refusals = {"lplr": "slow"}
    return contest.Setting(world, T, epsilon, runs, refusals, WORLDS["plain"])
