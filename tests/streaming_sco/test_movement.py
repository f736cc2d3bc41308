"""The exact movement of a leaf: searched in the running kernel, attained, and never exceeded."""

import math

import numpy as np
import pytest

from companion.accounting import privacy as pr
from companion.streaming_sco import learner, movement, streaming_fw

Y, R = 1.2, 2.0


def leaves(p, t, X, labels, theta, old):
    """Leaves of the kernel, (n, d)."""
    found = [learner.leaf(p, t, x, y, theta, old) for x, y in zip(X, labels, strict=True)]
    return np.array(found)[:, None] * X


@pytest.mark.parametrize("size", [0.0, 0.03, 2.0, 3.0])
def test_no_pair_moves_further_and_one_moves_as_far(size):
    p = streaming_fw(3, 10, epsilon=1.0, delta=1e-2, radius=R, label_bound=Y).params
    rng, old = np.random.default_rng(1), np.zeros(3)
    theta = np.array([size / 3.0, 0.0, 0.0])  # t = 2: w = 3 theta
    X = rng.standard_normal((1500, 3))
    X *= rng.choice([1.0, 1.0, 0.7], 1500)[:, None] / np.linalg.norm(X, axis=1)[:, None]
    g = leaves(p, 2, X, rng.choice([-Y, Y, 0.3], 1500), theta, old)
    squares = (g * g).sum(axis=1)
    far = math.sqrt((squares[:, None] + squares - 2 * g @ g.T).max())
    most = movement.leaf_movement(size, Y)
    assert 0.98 * most < far <= most
    angles = np.linspace(0.0, math.pi, 20_001)
    pair = np.array([np.cos(angles), np.sin(angles), 0 * angles]).T
    up = leaves(p, 2, pair, np.full(len(pair), -Y), theta, old)
    assert 2 * up[:, 1].max() == pytest.approx(most, rel=1e-6)  # x and its mirror image


@pytest.mark.parametrize("c", [0.3, 1.0])
def test_no_history_makes_w_longer_than_three_halves_of_the_radius(c):
    rng, longest = np.random.default_rng(2), 0.0
    for _ in range(300):
        theta, old = np.zeros(2), np.zeros(2)
        for t in range(1, 12):
            longest = max(longest, np.linalg.norm((t + 1) * theta - t * old))
            angle = rng.choice([0.0, math.pi]) + rng.choice([0.0, 0.2]) * rng.standard_normal()
            v = np.array([math.cos(angle), math.sin(angle)])
            theta, old = theta + c / (t + 1) * (v - theta), theta
    assert longest <= movement.FARTHEST + 1e-12
    assert longest > 0.99 * movement.FARTHEST or c < 1.0


def test_the_first_leaf_counts_where_the_ball_is_small():
    """w = 0 there, but it lies in one block more than any other."""
    small = movement.sum_movement(0.02, 1.0, 9.0, 5.0, 4.0)
    assert small == pytest.approx(4.0 * math.sqrt(5.0), rel=1e-12)
    large = movement.sum_movement(2.0, Y, 9.0, 11.0, 10.0)
    assert large == pytest.approx(9.604276 * math.sqrt(10.0), rel=1e-6)
    assert movement.sum_movement(2.0, Y, 0.5, 11.0, 10.0) == pytest.approx(math.sqrt(11.0))


@pytest.mark.parametrize("kind", ["tree", "sqrt"])
def test_squared_shifts_of_every_leaf_stay_within_the_noise(kind):
    """Every leaf's own releases, counted by brute force, times its own movement."""
    n = 11
    o = streaming_fw(2, n, epsilon=1.0, delta=1e-2, radius=R, label_bound=Y, factorisation=kind)
    spent = o.params.sigma * pr.gaussian_mu(1.0, 1e-2)
    if kind == "tree":  # node t covers (t - 2^level, t]
        held = [sum(t - (t & -t) < i <= t for t in range(1, n + 1)) for i in range(1, n + 1)]
    else:
        f = np.array([math.comb(2 * k, k) / 4**k for k in range(n)])
        held = [(f[: n - i + 1] ** 2).sum() for i in range(1, n + 1)]
    sizes = [0.0, 1.5, 1.5] + [1 + 2 / t for t in range(4, n + 1)]
    moves = [
        movement.leaf_movement(R * s, Y) * math.sqrt(h) for s, h in zip(sizes, held, strict=True)
    ]
    assert max(moves) == pytest.approx(spent, rel=1e-9)
    assert o.guarantee.epsilon == pytest.approx(1.0, rel=1e-9)
