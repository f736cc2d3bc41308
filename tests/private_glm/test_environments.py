"""The families of contexts: what they promise of arms, thetas and rewards."""

import numpy as np
import pytest

from companion.private_glm.environments import (
    curvature,
    fixed_world,
    idle_regret,
    paper_world,
    spiked_arms,
    world,
)


def test_one_arm_in_twenty_rounds_points_elsewhere():
    """4000 rounds, 6 standard deviations; all contexts stay in the unit ball."""
    X = np.empty((4000, 4, 3))
    spiked_arms.py_func(np.random.default_rng(1), X)
    odd = X[:, :, 0] == 0.0
    assert odd.sum(axis=1).max() == 1
    assert odd.sum() == pytest.approx(200, abs=6 * np.sqrt(190))
    assert np.abs(X[~odd] - [0.9, 0.0, 0.0]).max() <= 0.05
    assert sorted(map(tuple, np.unique(X[odd], axis=0))) == [(0, 0, 0.9), (0, 0.9, 0)]
    assert np.linalg.norm(X, axis=2).max() < 1.0


def test_a_fixed_world_repeats_its_contexts_and_renews_its_rewards():
    X = np.random.default_rng(0).uniform(-0.5, 0.5, (50, 4, 3))
    env = fixed_world(X, [1.0, -1.0, 0.5], "logistic")
    (one,), (two,) = (list(env.blocks(50, np.random.default_rng(s))) for s in (1, 2))
    assert np.array_equal(one[0], two[0])
    assert np.array_equal(one[2], two[2])
    assert (one[1] != two[1]).mean() > 0.2
    assert one[2] == pytest.approx(1 / (1 + np.exp(-X @ env.theta)))
    with pytest.raises(ValueError, match="T must be at most"):
        next(env.blocks(51, np.random.default_rng(1)))


def test_the_environment_is_the_paper_s():
    env = paper_world(5000, 3, 2.0, "probit")
    assert env.kappa[0] == pytest.approx(18.393670, abs=1e-6)
    np.testing.assert_allclose(env.theta / 2, [0.147708, 0.913296, 0.379570], atol=1e-6)
    np.testing.assert_allclose(env.X[0, 0], [0.804172, 0.160843, -0.414626], atol=1e-6)
    for S, kappa in ((2.5, 56.436006), (3.0, 222.147513)):
        assert curvature(env.link, env.X, env.theta * S / 2)[0] == pytest.approx(kappa, abs=1e-6)
    assert idle_regret(env, 5000, "random")[-1] == pytest.approx(2144, abs=1)
    assert idle_regret(env, 5000, "longest")[-1] == pytest.approx(2173, abs=1)
    wide = paper_world(3, 5, 3.5, "logistic")
    np.testing.assert_allclose(
        wide.theta, [0.336116, 2.078246, 0.863730, 0.291589, -2.643268], atol=1e-6
    )
    np.testing.assert_allclose(
        wide.X[0, 0], [-0.213525, 0.049939, -0.078375, 0.273725, -0.770789], atol=1e-6
    )


@pytest.mark.parametrize("kind", ["ball", "spiked", "rotating"])
def test_nested_streams_are_those_of_every_horizon(kind, monkeypatch):
    """Block by block, to the bit: ends within a block, at one, twice at one place, and before the
    first block ends."""
    monkeypatch.setattr("companion.environments.BLOCK", 1_200)
    env = world(kind, 3, 2.0, K=4)
    n = 1_200 // (env.K * 3)
    horizons = [n // 2, n, n + 7, n + 7, 3 * n, 3 * n + 1]
    for last in (len(horizons), 1, 4):
        found = [[] for _ in horizons[:last]]
        for places, block in env.nested(horizons[:last], np.random.default_rng(3)):
            for i in places:
                found[i].append(block)
        for T, blocks in zip(horizons, found, strict=False):
            alone = list(env.blocks(T, np.random.default_rng(3)))
            assert [len(b[0]) for b in blocks] == [len(b[0]) for b in alone]
            for ours, theirs in zip(blocks, alone, strict=True):
                assert all(map(np.array_equal, ours, theirs))
