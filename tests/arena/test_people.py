"""Worlds of people: nobody comes twice, a fitted world has the moments of its people."""

import numpy as np
import pytest

from companion.arena.people import Blocks, fitted_to, needed, people, separated
from companion.tabular import bounds, contexts_of

RNG = np.random.default_rng(0)
LABELS = np.repeat([0, 1, 2], [50, 30, 20])
Z = np.clip(0.3 * RNG.standard_normal((100, 2)) + 0.2 * LABELS[:, None], -1, 1)


def test_people_come_once_in_a_new_order():
    world = people(Blocks(3)(Z), LABELS)
    X, R, mu = (
        np.concatenate(part)
        for part in zip(*world.blocks(100, np.random.default_rng(1)), strict=True)
    )
    assert sorted(map(tuple, X[:, 0])) == sorted(map(tuple, world.X[:, 0]))
    assert (R.sum(axis=0) == [50, 30, 20]).all()
    assert (mu == R).all()
    order = [np.flatnonzero((world.X[:, 0] == x).all(axis=1))[0] for x in X[:, 0]]
    assert order != sorted(order)
    assert (R.argmax(axis=1) == LABELS[order]).all()  # a label stays with its person
    with pytest.raises(ValueError, match="T must be at most the 100 people"):
        next(world.blocks(101, RNG))


def test_blocks_are_those_of_a_table():
    table = contexts_of({"a": bounds(-1, 1), "b": bounds(-1, 1)}, arms=(0, 1, 2))
    for z, x in zip(Z[:5], Blocks(3)(Z[:5]), strict=True):
        np.testing.assert_allclose(table.context({"a": z[0], "b": z[1]}), x)


def test_a_fitted_world_has_the_shares_means_and_covariances_of_its_people():
    """5 standard errors and more."""
    world = fitted_to(Z, LABELS)
    parts = list(world.blocks(40_000, np.random.default_rng(2)))
    X, R = (np.concatenate([p[i] for p in parts]) for i in (0, 1))
    z, labels = X[:, 0, :2] * np.sqrt(3.0), R.argmax(axis=1)
    np.testing.assert_allclose(R.mean(axis=0), [0.5, 0.3, 0.2], atol=0.015)
    for k in (0, 1):
        mine = z[labels == k]
        np.testing.assert_allclose(mine.mean(axis=0), Z[k == LABELS].mean(axis=0), atol=0.02)
        np.testing.assert_allclose(np.cov(mine.T), np.cov(Z[k == LABELS].T), atol=0.01)
    assert np.abs(z).max() <= 1.0 + 1e-12


def test_labels_of_a_plain_world_are_equally_frequent_and_apart():
    world = separated(4, 3, np.random.default_rng(0), distance=2.0, spread=0.2)
    R = np.concatenate([r for _, r, _ in world.blocks(9000, np.random.default_rng(1))])
    np.testing.assert_allclose(R.mean(axis=0), 1 / 3, atol=0.03)
    far = [
        np.sum((a - b) ** 2)
        for s in range(200)
        for a, b in [separated(4, 2, np.random.default_rng(s)).means]
    ]
    assert np.mean(far) == pytest.approx((2.0 * 0.2) ** 2, rel=0.15)


def test_needed_is_the_first_round_after_which_it_stays_above():
    rounds = np.array([1.0, 10.0, 100.0, 1000.0])
    rises = np.array([[0.1, 0.6, 0.7, 0.8], [0.2, 0.61, 0.71, 0.81], [0.1, 0.6, 0.7, 0.8]])
    assert needed(rises, rounds, 0.5) == 10
    assert needed(rises, rounds, -1.0) == 1
    assert needed(rises, rounds, 0.9) == np.inf
    falls = rises.copy()
    falls[:, 2] = 0.4
    assert needed(falls, rounds, 0.5) == np.inf  # the last round alone is no staying
    assert needed(np.column_stack([falls, falls[:, 3]]), np.append(rounds, 1200), 0.5) == 1000
    unsure = rises.copy()
    unsure[0, 3] = 0.2  # the mean is above, the interval is not
    assert unsure[:, 3].mean() > 0.5
    assert needed(unsure, rounds, 0.5) == np.inf


def test_what_is_no_world_is_refused():
    for bad in (LABELS[:-1], [0] * 99 + [1], LABELS.astype(float)):
        with pytest.raises(ValueError, match="labels must"):
            fitted_to(Z, bad)
    with pytest.raises(ValueError, match="labels must"):
        people(Blocks(2)(Z), LABELS)
    for bad in ({"m": 0}, {"K": 1}, {"distance": 0.0}, {"spread": -1.0}):
        with pytest.raises(ValueError, match=next(iter(bad))):
            separated(**({"m": 2, "K": 2, "rng": RNG} | bad))
