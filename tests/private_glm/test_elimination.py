"""Elimination by finished batches against a slow twin, arm by arm."""

import numpy as np
import pytest

from companion.kernels.linalg import dot, quad
from companion.private_glm.elimination import eliminate, ends
from companion.private_glm.shuffle import init, shuffle_glm


def test_elimination_keeps_an_arm_and_uses_the_first_width_once():
    policy = shuffle_glm(2, 4, 400, epsilon=1.0, delta=0.01, theta_bound=2.0, kappa=9.0, gamma=0.5)
    p, s = policy.params, init(policy.params)._replace(k=2)
    assert p.widths == pytest.approx([1.5, 0.5])
    assert (
        shuffle_glm(
            2, 4, 400, epsilon=1.0, delta=0.01, kappa=9.0, gamma=0.5, widths="paper"
        ).params.widths[1]
        == 1.5
    )
    s.V_inv[:] = 1e-8 * np.eye(2)
    s.theta[:] = 1.0, 0.0
    X = np.array([[0.9, 0.0], [0.1, 0.0], [-0.9, 0.0], [0.9, 0.0]])
    assert eliminate(p, s, X) == 2
    assert s.alive.tolist() == [1, 0, 0, 1]
    assert s.left[:2].tolist() == [0, 3]


@pytest.mark.parametrize("d", [1, 3, 4, 5, 7, 20, 23])
def test_ends_are_those_of_the_kernels_of_one_arm(d):
    """To the bit, of the arms on the list; the others stay as they were."""
    rng = np.random.default_rng(d)
    X, root, theta = (rng.standard_normal(size) for size in ((9, d), (d, d), d))
    A, left = root @ root.T + np.eye(d), np.array([0, 2, 3, 8])
    half, score = np.full((2, 9), -7.0)
    low = ends(d, X, A, theta, 0.3, left, half, score)
    for a in range(9):
        mine = (0.3 * np.sqrt(quad(A, X[a])), dot(X[a], theta)) if a in left else (-7.0, -7.0)
        assert (half[a], score[a]) == mine
    assert low == max(score[a] - half[a] for a in left)
    assert len({low, *(score - half)[left]}) == len(left)


def slow_elimination(p, s, X):
    """Line 17 as it is printed: batch by batch, arm by arm; (alive, half-widths of the first)."""
    alive, doubt = np.ones(p.K, bool), None
    for j in range(s.k):
        score = np.array([dot(x, s.theta[j]) for x in X])
        half = np.array([p.widths[j] * np.sqrt(quad(s.V_inv[j], x)) for x in X])
        doubt = half if j == 0 else doubt
        alive &= score + half >= (score - half)[alive].max()
    return alive, doubt


@pytest.mark.parametrize("d", [2, 3, 4, 5])
def test_elimination_is_that_of_all_arms_batch_by_batch(d):
    p = shuffle_glm(d, 12, 4000, epsilon=1.0, delta=0.01, theta_bound=2.0, M=4, gamma=0.02).params
    rng, sizes = np.random.default_rng(d), set()
    for _ in range(200):
        k = int(rng.integers(0, 4))
        s = init(p)._replace(k=k)
        s.theta[:] = 0.3 * rng.standard_normal(s.theta.shape)
        root = rng.standard_normal(s.V_inv.shape)
        s.V_inv[:] = root @ root.transpose(0, 2, 1) + 0.1 * np.eye(d)
        X = rng.uniform(-1.0, 1.0, (12, d)) / np.sqrt(d)
        alive, doubt = slow_elimination(p, s, X)
        assert eliminate(p, s, X) == alive.sum()
        assert s.alive.tolist() == alive.tolist()
        assert s.left[: alive.sum()].tolist() == np.flatnonzero(alive).tolist()
        assert k == 0 or s.doubt.tolist() == doubt.tolist()
        sizes.add(int(alive.sum()))
    assert len(sizes) > 4
