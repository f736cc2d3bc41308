"""The families of contexts: what they promise of arms, thetas and rewards."""

import numpy as np
import pytest

from companion.private_glm.environments import (
    curvature,
    fixed_world,
    idle_regret,
    paper_world,
    rotating_arms,
    spiked_arms,
    world,
)


def test_contexts_rotate_over_the_coordinates():
    X = np.empty((5, 2, 3))
    rotating_arms.py_func(4, X)
    for t, arms in enumerate(X):
        assert np.array_equal(arms, np.outer([1.0, -1.0], np.eye(3)[(4 + t) % 3]))


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


def test_blocks_of_a_fixed_world_follow_one_another(monkeypatch):
    """Contexts, their own means, and rewards of these means, which are 0 or 1 here."""
    monkeypatch.setattr("companion.environments.BLOCK", 3_000)
    signs = np.random.default_rng(0).choice([-0.9, 0.9], (2_000, 4))
    env = fixed_world(np.stack([signs, 0.0 * signs], axis=2), [1000.0, 0.0], "logistic")
    found = list(env.blocks(1_900, np.random.default_rng(1)))
    assert len(found) > 2
    X, R, mu = (np.concatenate(parts) for parts in zip(*found, strict=True))
    assert np.array_equal(X, env.X[:1_900])
    for y in (R, mu):
        np.testing.assert_allclose(y, signs[:1_900] > 0, atol=1e-12)


@pytest.mark.parametrize("kind", ["ball", "spiked", "rotating"])
def test_thetas_are_new_and_have_their_size(kind):
    env, rng = world(kind, 4, 1.5), np.random.default_rng(3)
    thetas = np.array([env.theta(rng) for _ in range(12)])
    size = np.abs(thetas) if kind == "rotating" else np.linalg.norm(thetas, axis=1)
    assert size == pytest.approx(1.5)
    assert len(np.unique(thetas, axis=0)) > 5
    arms = 2 if kind == "rotating" else 10
    assert arms == env.K


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
