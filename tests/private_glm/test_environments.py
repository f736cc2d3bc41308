"""The families of contexts: what they promise of arms, thetas and rewards."""

import numpy as np
import pytest

from companion.private_glm.environments import (
    curvature,
    fixed,
    idle_regret,
    paper_world,
    world,
)


def test_one_arm_in_twenty_rounds_points_elsewhere():
    """4000 rounds, 6 standard deviations; all contexts stay in the unit ball."""
    X = world("spiked", 3, 1.0, K=4).arms(np.random.default_rng(1), 4000)
    odd = X[:, :, 0] == 0.0
    assert odd.sum(axis=1).max() == 1
    assert odd.sum() == pytest.approx(200, abs=6 * np.sqrt(190))
    away = np.abs(X[~odd] - [0.9, 0.0, 0.0])
    assert away.max() <= 0.05
    spikes = np.unique(X[odd], axis=0)
    assert spikes.tolist() == [[0.0, 0.0, 0.9], [0.0, 0.9, 0.0]]
    sizes = np.linalg.norm(X, axis=2)
    assert sizes.max() < 1.0


def test_contexts_rotate_on_where_a_block_ends(monkeypatch, rng):
    monkeypatch.setattr("companion.environments.BLOCK", 60)
    blocks = list(world("rotating", 3, 1.0).blocks(25, rng))
    X = np.concatenate([block[0] for block in blocks])
    assert len(blocks) == 3
    axes = X[:, 0].argmax(axis=1)
    assert (axes == np.arange(25) % 3).all()


def test_a_fixed_world_repeats_its_contexts_and_renews_its_rewards(rng):
    X = rng.uniform(-0.5, 0.5, (50, 4, 3))
    theta = np.array([1.0, -1.0, 0.5])
    env = fixed(X, theta, 1)
    X_1, R_1, mu = next(env.blocks(50, rng))
    X_2, R_2, _ = next(env.blocks(50, rng))
    assert np.array_equal(X_1, X_2)
    assert (R_1 != R_2).mean() > 0.2
    assert mu == pytest.approx(1 / (1 + np.exp(-X @ theta)))
    with pytest.raises(ValueError, match="T must be an integer in"):
        next(env.blocks(51, rng))


def test_the_environment_is_the_paper_s():
    env = paper_world(5000, 3, 2.0, "probit")
    theta = [0.147708, 0.913296, 0.379570]
    arm = [0.804172, 0.160843, -0.414626]
    assert env.theta / 2 == pytest.approx(theta, abs=1e-6)
    assert env.X[0, 0] == pytest.approx(arm, abs=1e-6)
    for S, printed in ((2.0, 18.393670), (2.5, 56.436006), (3.0, 222.147513)):
        kappa, _ = curvature(env.link, env.X, env.theta * S / 2)
        assert kappa == pytest.approx(printed, abs=1e-6)
    assert idle_regret(env, 5000, "random")[-1] == pytest.approx(2144, abs=1)
    assert idle_regret(env, 5000, "longest")[-1] == pytest.approx(2173, abs=1)


def test_spiked_contexts_of_41_dimensions_might_leave_the_ball():
    assert world("spiked", 40, 1.0).d == 40
    with pytest.raises(ValueError, match="d must be an integer in"):
        world("spiked", 41, 1.0)
