"""Worlds are what they say, and the same rng gives the same rounds however they are
cut."""

import numpy as np
import pytest
from streams import rounds

from companion import environments
from companion.environments import replay, sphere

CASES = [
    {},
    {"fresh": False},
    {"rewards": "gaussian", "offset": False},
    {"rewards": "signs", "offset": False, "fresh": False},
    {"shrink": 0.25},
]
every_case = pytest.mark.parametrize("options", CASES)


@every_case
def test_arms_means_and_rewards_are_in_range(options):
    X, R, mu = rounds(sphere(5, 4, **options), 300, 1)
    assert X.shape == (300, 5, 4)
    assert R.shape == mu.shape == (300, 5)
    sizes = np.linalg.norm(X, axis=2)
    assert (sizes <= 1.0 + 1e-12).all()
    assert (sizes >= 1.0 - 1e-12).all() or "shrink" in options
    if options.get("offset", True):
        assert (X[:, :, -1] == np.sqrt(0.5)).all()
        assert mu.min() >= 0.0
    assert np.abs(mu).max() <= 1.0 + 1e-12
    values = {
        "bernoulli": {0.0, 1.0},
        "signs": {-1.0, 1.0},
        "gaussian": set(np.unique(R)),
    }
    assert set(np.unique(R)) == values[options.get("rewards", "bernoulli")]


@every_case
def test_means_are_linear_and_rewards_are_centred_on_them(options):
    X, R, mu = rounds(sphere(5, 4, **options), 4000, 2)
    fixed = len(np.unique(X[:, 0, 0])) == 1
    assert fixed != options.get("fresh", True)
    arms = X.reshape(-1, 4)
    theta, residual, rank, _ = np.linalg.lstsq(arms, mu.ravel(), rcond=None)
    if options.get("fresh", True):
        assert rank == 4
        assert np.linalg.norm(theta) == pytest.approx(1.0)
        assert residual.sum() < 1e-18
    # of the mean of 4000 rewards, whose deviation is at most 1
    spread = 1.0 / np.sqrt(4000)
    bias = (R - mu).mean(axis=0)
    assert (np.abs(bias) < 6 * spread).all()


def test_gaussian_noise_has_its_scale():
    loud = sphere(5, 4, rewards="gaussian", noise=0.3)
    quiet = loud._replace(noise=0.0)
    _, R, mu = rounds(loud, 4000, 3)
    assert (R - mu).std() == pytest.approx(0.3, rel=0.03)
    _, R, mu = rounds(quiet, 50, 3)
    assert np.array_equal(R, mu)


@every_case
@pytest.mark.parametrize("size", [20, 200, 1 << 12])
def test_block_size_does_not_change_the_rounds(options, size, monkeypatch):
    env = sphere(5, 4, **options)
    whole = rounds(env, 300, 4)
    monkeypatch.setattr(environments, "BLOCK", size)
    assert all(map(np.array_equal, whole, rounds(env, 300, 4)))


def test_shrinking_makes_the_first_direction_rare():
    world = sphere(5, 4, offset=False, rewards="signs", shrink=0.1)
    X, _, _ = rounds(world, 2000, 7)
    moments = (X**2).mean(axis=(0, 1))
    assert moments[0] == pytest.approx(0.01 / 4, rel=0.1)
    np.testing.assert_allclose(moments[1:], 0.25, rtol=0.1)


def test_replay_gives_back_what_was_recorded(monkeypatch):
    # ten rounds of three arms in the plane
    monkeypatch.setattr(environments, "BLOCK", 60)
    X, R, mu = rounds(sphere(3, 2), 100, 8)
    again = rounds(replay(X, R, mu), 100, 0)
    assert all(map(np.array_equal, (X, R, mu), again))
    _, _, means = rounds(replay(X, R), 40, 0)
    assert np.array_equal(means, R[:40])
    with pytest.raises(ValueError, match="T=101"):
        rounds(replay(X, R), 101, 0)
