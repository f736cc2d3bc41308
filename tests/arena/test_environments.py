"""Worlds of the arena, and worlds of people: nobody comes twice, a fitted one has their
moments."""

import numpy as np
import pytest
from arena_settings import COMMON, WORLDS
from streams import rounds

from companion.tabular import bounds, contexts_of
from evidence.arena import environments as env
from evidence.arena import recipes

RNG = np.random.default_rng(0)
LABELS = np.repeat([0, 1, 2], [50, 30, 20])
Z = np.clip(0.3 * RNG.standard_normal((100, 2)) + 0.2 * LABELS[:, None], -1, 1)


@pytest.mark.parametrize("kind", env.KINDS)
def test_every_kind_of_world_has_candidates_of_any_size(kind):
    world = env.KINDS[kind](6, 4)
    calls, _ = recipes.lineup(world, 500, 1.0)
    assert any(c.policy().guarantee.model != "none" for c in calls)
    X, R, _ = rounds(world.env, 5, 1)
    assert X.shape == (5, 4, world.d)
    assert R.shape == (5, 4)


def test_expanded_contexts_have_the_same_rewards():
    X, R, mu = rounds(COMMON, 50, 1)
    Z, R2, mu2 = rounds(WORLDS["common"].env, 50, 1)
    assert np.array_equal(R, R2)
    assert np.array_equal(mu, mu2)
    for k in range(3):
        assert np.array_equal(Z[:, k, 4 * k : 4 * k + 4], 0.5 * X[:, k])
    assert np.count_nonzero(Z) == np.count_nonzero(X)


def test_people_come_once_in_a_new_order_and_their_contexts_are_those_of_a_table():
    table = contexts_of({"a": bounds(-1, 1), "b": bounds(-1, 1)}, arms=(0, 1, 2))
    people, _, _ = rounds(env.fitted_to(Z, LABELS), 100, 2)
    for x in people[:5]:
        a, b = np.sqrt(3.0) * x[0, :2]
        np.testing.assert_allclose(table.context({"a": a, "b": b}), x)
    world = env.Classification(people, LABELS)
    X, R, mu = rounds(world, 100, 1)
    assert sorted(map(tuple, X[:, 0])) == sorted(map(tuple, world.X[:, 0]))
    assert (mu == R).all()
    order = [np.flatnonzero((world.X[:, 0] == x).all(axis=1))[0] for x in X[:, 0]]
    assert order != sorted(order)
    assert (R.argmax(axis=1) == LABELS[order]).all()  # a label stays with its person
    with pytest.raises(ValueError, match=r"T must be an integer in \[1, 100\]"):
        next(world.blocks(101, RNG))


def test_a_fitted_world_has_the_shares_means_and_covariances_of_its_people():
    """5 standard errors and more."""
    X, R, _ = rounds(env.fitted_to(Z, LABELS), 40_000, 2)
    z = X[:, 0, :2] * np.sqrt(3.0)
    labels = R.argmax(axis=1)
    np.testing.assert_allclose(R.mean(axis=0), [0.5, 0.3, 0.2], atol=0.02)
    for k in (0, 1):
        mine = z[labels == k]
        np.testing.assert_allclose(
            mine.mean(axis=0),
            Z[k == LABELS].mean(axis=0),
            atol=0.02,
        )
        np.testing.assert_allclose(np.cov(mine.T), np.cov(Z[k == LABELS].T), atol=0.01)


def test_labels_of_a_plain_world_are_equally_frequent_and_apart():
    worlds = [env.separated(4, 2, np.random.default_rng(s)) for s in range(200)]
    far = [np.sum((w.means[0] - w.means[1]) ** 2) for w in worlds]
    assert np.mean(far) == pytest.approx((2.0 * 0.2) ** 2, rel=0.15)
    assert all(w.shares.tolist() == [0.5, 0.5] for w in worlds)


def test_needed_is_the_first_round_after_which_it_stays_above():
    rounds = np.array([1.0, 10.0, 100.0, 1000.0, 1200.0])
    rises = np.array([0.1, 0.6, 0.7, 0.8, 0.8]) + np.array([[0.0], [0.01], [0.0]])
    assert [env.needed(rises, rounds, guess) for guess in (0.5, -1.0, 0.9)] == [
        10,
        1,
        np.inf,
    ]
    falls = rises.copy()
    falls[:, 2] = 0.4
    assert env.needed(falls, rounds, 0.5) == 1000
    # the last round alone is no staying
    assert env.needed(falls[:, :4], rounds[:4], 0.5) == np.inf
    rises[0, 4] = 0.2  # the mean is above, the interval is not
    assert rises[:, 4].mean() > 0.5
    assert env.needed(rises, rounds, 0.5) == np.inf


def test_what_is_no_world_is_refused():
    with pytest.raises(ValueError, match="labels must"):
        env.fitted_to(Z, [0] * 99 + [1])
