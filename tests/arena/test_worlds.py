"""The arena's worlds, and what they refuse."""

import numpy as np
import pytest
from arena_settings import COMMON, WORLDS

from companion.arena import contest, worlds


@pytest.mark.parametrize("change", [{"calibration": "paper"}, {"epsilon": 20.2}, {"delta": 0.01}])
def test_a_weaker_guarantee_is_refused(change):
    honest = worlds.call("online_linucb", WORLDS["clicks"], 2_000, 20.0)
    worlds.need_guarantee(honest.policy(), 2_000, 20.0)
    weaker = honest._replace(arguments=honest.arguments | change)
    with pytest.raises(ValueError, match="private"):
        worlds.need_guarantee(weaker.policy(), 2_000, 20.0)


def test_expanded_contexts_have_the_same_rewards():
    seen = [
        next(env.blocks(50, np.random.default_rng(1))) for env in (COMMON, WORLDS["common"].env)
    ]
    (X, R, mu), (Z, R2, mu2) = seen
    assert np.array_equal(R, R2)
    assert np.array_equal(mu, mu2)
    for k in range(3):
        assert np.array_equal(Z[:, k, 4 * k : 4 * k + 4], 0.5 * X[:, k])
    assert np.count_nonzero(Z) == np.count_nonzero(X)
    assert (np.linalg.norm(Z, axis=2) <= 1).all()


def test_a_setting_is_played_again_on_streams_of_its_own():
    world = WORLDS["plain"]
    s = contest.play("plain", world, 400, [8.0], 4, 2, 1)[8.0]
    more = contest.again(world, s, ["random", "linucb"], 6, 1)
    assert {n: x.shape for n, x in more.items()} == {"random": (6,), "linucb": (6,)}
    assert not set(more["random"]) & set(s.runs["random"].tuned)
    assert more["linucb"].mean() < more["random"].mean()
