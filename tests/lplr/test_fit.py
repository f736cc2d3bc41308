"""LPLR: sums drawn at once have the law of messages sent one by one, and fits are what they say."""

import math

import numpy as np
import pytest
from lplr_quiet import quiet
from scipy import stats as sps

from companion.lplr.bandits import eliminate_with
from companion.lplr.bins import COUNT, SPREAD, open_layer, plant, predict
from companion.lplr.environments import constant, design, hard_bandit, split
from companion.lplr.fit import add_noise, fit_messages, fit_users, send, tell
from companion.lplr.messages import past
from companion.lplr.params import lplr_params
from companion.lplr.reading import read
from companion.lplr.trials import estimate_lplr, fit_design
from companion.simulate import repetitions

ALARM = 1e-7  # false-alarm rate of every statistical test below


def generator(*key):
    """A random stream named by integers."""
    return np.random.default_rng(list(key))


def scattered(d, K=40, seed=0, depth=3.0):
    """K points over several scales of norm, and a unit theta."""
    rng = np.random.default_rng(seed)
    points = rng.standard_normal((K, d))
    points *= (np.exp(-depth * rng.random(K)) / np.linalg.norm(points, axis=1))[:, None]
    theta = rng.standard_normal(d)
    return design(points, theta / np.linalg.norm(theta))


@pytest.mark.parametrize("d", [1, 2, 3, 4])
@pytest.mark.parametrize("gamma", [1.7, math.e, 8.0])
def test_without_noise_every_prediction_is_exact(d, gamma):
    M = {1.7: 12, math.e: 12, 8.0: 12}[gamma]
    p = lplr_params(d, 10**6, math.inf, gamma=gamma, M=M, threshold=0.0, z=0.0)
    world = scattered(d)
    tree = fit_design(world, p, 10**6, 1, signs=False)
    f, width = read(p, tree, world.points)
    stopped = p.edge[M]  # residuals below the last edge are left alone
    assert np.abs(f - world.means).max() <= max(1e-12, stopped)
    assert (np.abs(f - world.means) <= width + 1e-12).all()


def test_without_noise_and_with_deep_bins_errors_vanish():
    for d in (1, 2, 3, 4):
        p = lplr_params(d, 10**6, math.inf, gamma=8.0, M=14, threshold=0.0, z=0.0)
        world = scattered(d, K=25)
        f, _ = read(p, fit_design(world, p, 10**6, 2, signs=False), world.points)
        assert np.abs(f - world.means).max() < 1e-11


def test_one_point_per_bin_gives_the_mean_of_its_labels():
    p = lplr_params(1, 10**4, math.inf, threshold=0.0, z=0.0)
    phi = np.repeat([[1.0], [0.3], [0.1]], 200, axis=0)
    y = np.where(np.random.default_rng(0).random(600) < 0.7, 1.0, -1.0)
    order = np.random.default_rng(1).permutation(600)
    phi, y = phi[order], y[order]
    tree = fit_users(p, phi, y, generator(3))
    f, _ = read(p, tree, [[1.0], [0.3], [0.1]])
    for x, estimate in zip((1.0, 0.3, 0.1), f, strict=True):
        mine = phi[:300, 0] == x
        theta = np.clip(y[:300][mine].mean() / x, -1, 1)
        assert estimate == pytest.approx(x * theta, abs=1e-12)


def test_the_order_of_points_and_signs_of_directions_do_not_matter():
    p = lplr_params(2, 10**8, math.inf, threshold=0.0)
    world = scattered(2)
    order = np.random.default_rng(0).permutation(40)
    turned = design(world.points[order], world.theta)
    tree = fit_design(world, p, 10**6, 1, signs=False)
    other = fit_design(turned, p, 10**6, 1, signs=False)
    np.testing.assert_allclose(
        read(p, tree, world.points)[0], read(p, other, world.points)[0], atol=2e-3
    )
    before = np.array(read(p, tree, world.points))
    for b in range(tree.start[1]):  # u -> -u together with its coefficient changes nothing
        tree.frame[b, 0] *= -1
        tree.stat[b, 3] *= -1
    np.testing.assert_allclose(np.array(read(p, tree, world.points)), before, atol=1e-12)


def test_data_are_checked():
    p = lplr_params(2, 1000)
    good, y = np.full((8, 2), 0.5), np.ones(8)
    for phi, labels, what in (
        (good * 2, y, "phi"),
        (good * np.nan, y, "phi"),
        (good[:, :1], y, "phi"),
        (good[:3], y[:3], "phi"),
        (good, y * 1.1, "y"),
        (good, y * np.nan, "y"),
    ):
        with pytest.raises(ValueError, match=what):
            fit_users(p, phi, labels, generator(0))
    for args, what in (
        (([[1.1, 0]], [0, 0]), "points"),
        (([[1, 0]], [1, 1]), "theta"),
        (([[1, 0]], [0, 0], [1.1]), "prob"),
        (([[1, 0]], [0, 0], [-0.1]), "prob"),
        (([[np.inf, 0]], [0, 0]), "points"),
    ):
        with pytest.raises(ValueError, match=what):
            design(*args)
    with pytest.raises(ValueError, match="M"):
        lplr_params(4, 10**6, M=60)
    with pytest.raises(ValueError, match="n must be"):
        estimate_lplr(constant(0.5), lplr_params(1, 10**4), 10**18 + 10**3, [0])
    with pytest.raises(ValueError, match="n must be"):
        estimate_lplr(constant(0.5), lplr_params(1, 10**4), 1, [0])
    with pytest.raises(ValueError, match="n must be"):
        estimate_lplr(constant(0.5), lplr_params(1, 10**4), 100.5, [0])
    with pytest.raises(ValueError, match="T must be"):
        eliminate_with("lplr", hard_bandit(2, 0.3), 7, [0])
    with pytest.raises(ValueError, match="oracle"):
        eliminate_with("x", hard_bandit(2, 0.3), 1000, [0])


def test_a_message_hides_every_node_however_empty():
    """Vectors and matrices below the threshold: nobody reads them in sums; messages show them."""
    p, rng = lplr_params(2, 10**4, M=2, threshold=1e9), np.random.default_rng(0)
    for n in (1, 50):
        tree = plant(p)
        open_layer(p, tree, 0)
        add_noise(p, tree, 0, n, rng)
        assert (tree.stat[:2, COUNT] != 0.0).all()
        assert ((tree.vec[:2] != 0.0) == (n == 1)).all()
        assert ((tree.mat[:2] != 0.0) == (n == 1)).all()


def test_labels_are_clipped_in_messages_and_in_sums():
    """A coefficient of 50 in the past: labels lie in [-2, 2] on both paths, and agree."""
    p = quiet(lplr_params(2, 10**4, 1.0, M=2))
    points = np.array([[-0.7, 0.7], [0.7, 0.7], [0.1, 0.99]])
    tree, other, rng = past(p, 50.0), past(p, 50.0), np.random.default_rng(0)
    for phi, y in zip(points, (1.0, -1.0, 0.2), strict=True):
        tell(p, tree, 2, phi, 5, y, False, rng, np.empty(2))
        for _ in range(5):
            send(p, other, 2, phi, y, rng, np.empty(2))
    np.testing.assert_allclose(tree.vec, other.vec, atol=1e-12)
    np.testing.assert_allclose(tree.mat, other.mat, atol=1e-12)
    labels = np.array([1.0 + 1.0, -1.0 - 1.0, 0.2 - 1.0])  # clip(-35), clip(35), clip(5)
    assert tree.vec[:-1, 1].sum() == pytest.approx(5 * (labels * points[:, 1]).sum())


def _layer(p, users, rng, sums):
    """(count, vector, matrix) of bin 0 of layer 1, for `users` users who all hold (0.6, 0.5) and y
    = 1.
    """
    phi = np.array([0.6, 0.5])
    if sums:
        q = p._replace(threshold=-1e18)  # keep vector and matrix noise whatever the count
        tree = fit_design(design([phi], [0.9, 0.4], [1.0]), q, 4 * users, rng, signs=False)
    else:
        tree = plant(p)
        open_layer(p, tree, 0)
        for _ in range(users):
            send(p, tree, 0, phi, 0.74, rng, np.empty(2))
    return (
        tree.stat[0, COUNT],
        tree.vec[0, 1],
        tree.mat[0, 0, 0],
        tree.mat[0, 0, 1],
        np.linalg.eigvalsh(tree.mat[0])[-1],
    )


@pytest.mark.slow
@pytest.mark.parametrize("calibration", ["corrected", "paper"])
@pytest.mark.parametrize("users", [1, 50, 200])
def test_sums_have_the_law_of_messages(users, calibration):
    p, draws = lplr_params(2, 10**4, M=2, calibration=calibration), 1500
    rng = generator(7, users)
    ours = np.array([_layer(p, users, one, True) for one in repetitions(7, draws, users)])
    theirs = np.array([_layer(p, users, rng, False) for _ in range(draws)])
    for column in range(5):
        assert sps.ks_2samp(ours[:, column], theirs[:, column]).pvalue > ALARM


def test_a_whole_fit_from_sums_has_the_law_of_the_message_level_fit():
    world, users, draws = split(0.3, (0.6, -0.6)), 400, 600
    p = lplr_params(2, users, 200.0, M=3, threshold=5.0)
    rng = generator(8)
    fast = estimate_lplr(world, p, users, repetitions(8, draws))
    slow = np.empty((draws, 2))
    for i in range(draws):
        pick = rng.integers(0, 2, users)
        y = np.where(rng.random(users) < 0.5 + 0.5 * world.means[pick], 1.0, -1.0)
        tree = fit_users(p, world.points[pick], y, rng)
        _, width = read(p, tree, world.points)
        slow[i] = (
            np.mean(
                [
                    abs(predict(p, tree, x, np.empty(2))[0] - m)
                    for x, m in zip(world.points, world.means, strict=True)
                ]
            ),
            width.mean(),
        )
    assert sps.ks_2samp(fast.mad, slow[:, 0]).pvalue > ALARM
    assert sps.ks_2samp(fast.width, slow[:, 1]).pvalue > ALARM


def test_message_fit_uses_every_stage_once():
    p = lplr_params(2, 1000, math.inf, M=2, threshold=0.0)
    tree, rng = plant(p), generator(22)
    phi, y = rng.uniform(-0.6, 0.6, (103, 2)), np.ones(103)
    fit_messages(p, tree, phi, y, rng)
    n = 103 // 4
    assert tree.stat[: tree.start[1], COUNT].sum() == n
    assert tree.stat[: tree.start[1], SPREAD].sum() == 0
