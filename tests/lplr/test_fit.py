"""LPLR: bins, walk, exactness without noise, invariants of the tree, bad input."""

import itertools
import math

import numpy as np
import pytest

from companion.eigen import ball_least_squares, jacobi
from companion.lplr.bandits import eliminate_with
from companion.lplr.bins import ACTIVE, VALUE, bin_index, predict, walk
from companion.lplr.environments import constant, design, family, hard_bandit
from companion.lplr.params import lplr_params
from companion.lplr.trials import estimate_lplr, fit_design, fit_users, read

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


@pytest.mark.parametrize("gamma", [1.25, 2.0, math.e, 8.0])
def test_bin_edges_belong_to_their_own_bin(gamma):
    p = lplr_params(1, 10**8, gamma=gamma)
    assert bin_index(p, 1.0) == 0
    assert bin_index(p, 0.0) == p.M
    for k in range(p.M + 1):
        assert bin_index(p, p.edge[k]) == k
        assert bin_index(p, p.edge[k] * (1 + 1e-6)) == max(k - 1, 0)
    assert bin_index(p, p.edge[p.M] / 2) == p.M


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


def test_tree_invariants():
    for seed, (d, calibration) in enumerate(itertools.product((2, 3), ("corrected", "paper"))):
        p = lplr_params(d, 10**9, calibration=calibration)
        world = family("log-scale", d, 10**9, seed)
        tree = fit_design(world, p, 10**9, seed)
        active = 0
        for h in range(d):
            for b in range(tree.start[h], tree.start[h + 1]):
                if tree.link[b, ACTIVE]:
                    active += 1
                    k = (b - tree.start[h]) % p.M
                    np.testing.assert_allclose(
                        tree.frame[b] @ tree.frame[b].T, np.eye(d), atol=1e-10
                    )
                    low = p.edge[k] ** 2 * p.smallest_value / (d - h)
                    assert low * (1 - 1e-12) <= tree.stat[b, VALUE] <= p.edge[k] ** 2
        assert active > d
        residual = np.empty(d)
        for x in world.points[:100]:
            etas = [walk(p, tree, h, x, residual)[2] for h in range(d)]
            reached = [e for h, e in enumerate(etas) if walk(p, tree, h, x, residual)[0] >= 0]
            assert (np.diff(reached) >= 0).all()
            assert predict(p, tree, x, residual)[1] <= p.cap
            assert predict(p, tree, x, residual)[1] >= max(reached, default=0.0)


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


def test_compress_and_clip_is_within_twice_the_error():
    rng = np.random.default_rng(0)
    for _ in range(300):
        d = int(rng.integers(2, 5))
        q, _ = np.linalg.qr(rng.standard_normal((d, d)))
        U, V = q[:, :1], q[:, 1:]
        root = V @ rng.standard_normal((d - 1, d - 1))
        truth = root @ root.T
        noise = rng.standard_normal((d, d))
        X = truth + (noise + noise.T) * rng.random()
        values, vectors = np.linalg.eigh(V.T @ X @ V)
        clipped = V @ vectors @ np.diag(np.maximum(values, 0)) @ vectors.T @ V.T
        error = np.linalg.norm(X - truth, 2)
        assert np.linalg.norm(clipped - truth, 2) <= 2 * error + 1e-12
        assert abs(max(values[-1], 0) - np.linalg.eigvalsh(truth)[-1]) <= error + 1e-12
        assert np.abs(clipped @ U).max() < 1e-12


def test_jacobi_and_least_squares_in_the_ball_against_numpy():
    rng = np.random.default_rng(0)
    for m in (1, 2, 3, 5):
        A = rng.standard_normal((m, m))
        A = A + A.T
        D, rows = A.copy(), np.empty((m, m))
        jacobi(D, rows)
        np.testing.assert_allclose(np.sort(np.diag(D)), np.linalg.eigvalsh(A), atol=1e-12)
        np.testing.assert_allclose(rows.T @ np.diag(np.diag(D)) @ rows, A, atol=1e-12)
        S, b, out = A @ A.T, rng.standard_normal(m) * 3, np.empty(m)
        ball_least_squares(S.copy(), b, rows, np.empty(m), out)
        gradient = S @ out - b
        assert np.linalg.norm(out) <= 1 + 1e-9
        multiplier = -(gradient @ out) / (out @ out)
        assert multiplier >= -1e-9
        np.testing.assert_allclose(gradient, -multiplier * out, atol=1e-7)


def test_edge_cases():
    p = lplr_params(1, 100)
    assert (
        read(p, fit_design(constant(0.5), p, 2, 0), [[0.5]])[0][0] == 0
    )  # nothing is learned from 2 users
    p = lplr_params(2, 10**6)
    dummy = design([[0.5, 0.5]], [0.1, 0.1], [0.0])
    f, width = read(p, fit_design(dummy, p, 10**6, 0), [[0.3, 0.4], [0.0, 0.0]])
    np.testing.assert_allclose(f, 0)
    np.testing.assert_allclose(width, [0.5, 0.0])


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("d", 0),
        ("d", 1.5),
        ("T", 1),
        ("T", 2 * 10**18),
        ("epsilon", 0.0),
        ("epsilon", -1.0),
        ("epsilon", np.nan),
        ("gamma", 1.0),
        ("gamma", np.inf),
        ("M", 0),
        ("rho", 0.0),
        ("failure", 1.0),
        ("z", -1.0),
        ("threshold", -1.0),
        ("calibration", "x"),
        ("constants", "x"),
        ("project", 2),
    ],
)
def test_parameters_reject_bad_input_by_name(name, value):
    with pytest.raises(ValueError, match=f"{name}.*"):
        lplr_params(**{"d": 2, "T": 1000, name: value})


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
