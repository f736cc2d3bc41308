"""LPLR: bins, walk, exactness without noise, laws of the aggregated path, privacy in closed form, elimination."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats as sps

from companion.eigen import ball_least_squares, jacobi
from companion.lplr import theory
from companion.lplr.baselines import ssp_estimate, ssp_guarantee, ssp_model, ssp_params
from companion.lplr.fit import fit_messages, send_update
from companion.lplr.messages import past, spread_messages, update_messages
from companion.lplr.noise import add_matrix_noise, laplace_sum, multinomial, tails
from companion.lplr.params import guarantee, lplr_params
from companion.lplr.tree import (
    ACTIVE,
    COUNT,
    SPREAD,
    VALUE,
    bin_index,
    plant,
    predict,
    reset,
    walk,
)
from companion.lplr.trials import (
    eliminate_with,
    estimate_lplr,
    estimate_ssp,
    fit_design,
    fit_users,
    generator,
    read,
)
from companion.lplr_environments import constant, contexts, design, family, hard_bandit, rare, split

ALARM = 1e-7  # false-alarm rate of every statistical test below


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
    tree = fit_design(world, p, 10**6, generator(1), signs=False)
    f, width = read(p, tree, world.points)
    stopped = p.edge[M]  # residuals below the last edge are left alone
    assert np.abs(f - world.means).max() <= max(1e-12, stopped)
    assert (np.abs(f - world.means) <= width + 1e-12).all()


def test_without_noise_and_with_deep_bins_errors_vanish():
    for d in (1, 2, 3, 4):
        p = lplr_params(d, 10**6, math.inf, gamma=8.0, M=14, threshold=0.0, z=0.0)
        world = scattered(d, K=25)
        f, _ = read(p, fit_design(world, p, 10**6, generator(2), signs=False), world.points)
        assert np.abs(f - world.means).max() < 1e-11


def test_one_point_per_bin_gives_the_mean_of_its_labels():
    p = lplr_params(1, 10**4, math.inf, threshold=0.0)
    phi = np.repeat([[1.0], [0.3], [0.1]], 200, axis=0)
    y = np.where(np.random.default_rng(0).random(600) < 0.7, 1.0, -1.0)
    order = np.random.default_rng(1).permutation(600)
    phi, y = phi[order], y[order]
    tree = fit_users(p, phi, y, generator(3))
    f, _ = read(p, tree, [[1.0], [0.3], [0.1]])
    for x, estimate in zip((1.0, 0.3, 0.1), f, strict=True):
        mine = (phi[:300, 0] == x)
        theta = np.clip(y[:300][mine].mean() / x, -1, 1)
        assert estimate == pytest.approx(x * theta, abs=1e-12)


def test_tree_invariants():
    for seed, (d, calibration) in enumerate(itertools.product((2, 3), ("corrected", "paper"))):
        p = lplr_params(d, 10**9, calibration=calibration)
        world = family("log-scale", d, 10**9, seed)
        tree = fit_design(world, p, 10**9, generator(seed))
        active = 0
        for h in range(d):
            for b in range(tree.start[h], tree.start[h + 1]):
                if tree.link[b, ACTIVE]:
                    active += 1
                    k = (b - tree.start[h]) % p.M
                    np.testing.assert_allclose(tree.frame[b] @ tree.frame[b].T, np.eye(d), atol=1e-10)
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
    tree = fit_design(world, p, 10**6, generator(1), signs=False)
    other = fit_design(turned, p, 10**6, generator(1), signs=False)
    np.testing.assert_allclose(read(p, tree, world.points)[0], read(p, other, world.points)[0], atol=2e-3)
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


# --- laws -------------------------------------------------------------------------------------------------------------


def test_moments_of_summed_noise():
    rng, m = generator(4), 20_000
    for n in (10**3, 10**9, 10**18):
        z = np.array([laplace_sum(rng, n, 2.0) for _ in range(m)]) / math.sqrt(n)
        assert z.var() == pytest.approx(8.0, rel=0.08)  # 5.6 standard errors
        for one_sided, off, diagonal in ((False, 2 * 3 * 9.0, 4 * 3 * 9.0), (True, 3 * 9.0, 6 * 9.0)):
            N = np.zeros((m, 2, 2))
            for i in range(m):
                add_matrix_noise(rng, n, 3.0, one_sided, 1.0, np.zeros((2, 2)), N[i])
            N /= math.sqrt(n)
            assert N[:, 0, 1].var() == pytest.approx(off, rel=0.08)
            assert N[:, 0, 0].var() == pytest.approx(diagonal, rel=0.08)
            assert np.abs(N.mean(axis=0)).max() < 6 * math.sqrt(diagonal / m)
            assert np.array_equal(N, N.transpose(0, 2, 1))


def test_symmetrised_wishart_is_laplace_in_one_dimension():
    rng, out = generator(5), np.zeros((20_000, 1, 1))
    for row in out:
        add_matrix_noise(rng, 1, 3.0, False, 1.0, np.zeros((1, 1)), row)
    assert sps.kstest(out.ravel(), sps.laplace(scale=6.0).cdf).pvalue > ALARM


@pytest.mark.parametrize("d", [1, 2, 3])
def test_impossible_messages_of_the_printed_noise_have_the_predicted_chance(d):
    p, rng = lplr_params(d, 10**4, M=1, calibration="paper"), generator(6, d)
    v, hits, trials = np.full(d, 0.8 / math.sqrt(d)), 0, 20_000
    for _ in range(trials):
        W = np.eye(d) * p.matrix_scale * (d + 1)
        add_matrix_noise(rng, 1, p.matrix_scale, True, 1.0, np.zeros((d, d)), W)
        hits += np.linalg.eigvalsh(W - np.outer(v, v))[0] < 0
    assert sps.binomtest(hits, trials, theory.support_violation(1.0, 0.8)).pvalue > ALARM


def _layer(p, users, rng, sums):
    """(count, vector, matrix) of bin 0 of layer 1, for `users` users who all hold (0.6, 0.5) and y = 1."""
    phi = np.array([0.6, 0.5])
    if sums:
        q = p._replace(threshold=-1e18)  # keep vector and matrix noise whatever the count
        tree = fit_design(design([phi], [0.9, 0.4], [1.0]), q, 4 * users, rng, signs=False)
    else:
        tree = plant(p)
        reset(p, tree)
        for _ in range(users):
            send_update(p, tree, 0, 0, phi, 0.74, rng)
    return tree.stat[0, COUNT], tree.vec[0, 1], tree.mat[0, 0, 0], tree.mat[0, 0, 1], np.linalg.eigvalsh(tree.mat[0])[-1]


@pytest.mark.slow
@pytest.mark.parametrize("calibration", ["corrected", "paper"])
@pytest.mark.parametrize("users", [1, 50, 200])
def test_sums_have_the_law_of_messages(users, calibration):
    p, draws = lplr_params(2, 10**4, M=2, calibration=calibration), 1500
    rng = generator(7, users)
    ours = np.array([_layer(p, users, rng, True) for _ in range(draws)])
    theirs = np.array([_layer(p, users, rng, False) for _ in range(draws)])
    for column in range(5):
        assert sps.ks_2samp(ours[:, column], theirs[:, column]).pvalue > ALARM


def test_a_whole_fit_from_sums_has_the_law_of_the_message_level_fit():
    world, users, draws = split(0.3, (0.6, -0.6)), 400, 600
    p = lplr_params(2, users, 200.0, M=3, threshold=5.0)
    rng = generator(8)
    fast = estimate_lplr(world, p, users, draws, rng)
    slow = np.empty((draws, 2))
    for i in range(draws):
        pick = rng.integers(0, 2, users)
        y = np.where(rng.random(users) < 0.5 + 0.5 * world.means[pick], 1.0, -1.0)
        tree = fit_users(p, world.points[pick], y, rng)
        f, width = read(p, tree, world.points)
        slow[i] = np.mean([abs(predict(p, tree, x, np.empty(2))[0] - m) for x, m in zip(world.points, world.means, strict=True)]), width.mean()
    assert sps.ks_2samp(fast.mad, slow[:, 0]).pvalue > ALARM
    assert sps.ks_2samp(fast.width, slow[:, 1]).pvalue > ALARM


def test_multinomial_counts_everyone_once():
    rng, prob = generator(9), np.array([0.2, 0.0, 0.5, 0.1])
    tail, out = np.empty(4), np.empty(4, dtype=np.int64)
    tails(prob, tail)
    total = np.zeros(4)
    for _ in range(2000):
        multinomial(rng, 100, prob, tail, out)
        total += out
    expected = np.array([*(prob * 200_000), 40_000])
    seen = np.array([*total, 200_000 - total.sum()])
    assert seen[1] == 0
    keep = expected > 0
    assert sps.chisquare(seen[keep], expected[keep]).pvalue > ALARM
    tails(np.array([0.3, 0.7]), tail[:2])
    multinomial(rng, 10**18, np.array([0.3, 0.7]), tail[:2], out[:2])
    assert out[:2].sum() == 10**18


def test_one_bin_deeper_is_the_same_problem():
    """All vectors divided by gamma: counts and scaled eigenvalues keep their law."""
    p, draws = lplr_params(2, 10**10), 400
    seen = []
    for k in (0, 2):
        phi = 0.8 * p.edge[k] * np.array([0.6, 0.8])
        rng, rows = generator(10, k), []
        for _ in range(draws):
            tree = fit_design(design([phi], [0.5, 0.5]), p, 10**10, rng, signs=False)
            rows.append((tree.stat[k, COUNT], tree.mat[k, 0, 1] / p.edge[k] ** 2, abs(tree.frame[k, 0, 0])))
        seen.append(np.array(rows))
    for column in range(3):
        assert sps.ks_2samp(seen[0][:, column], seen[1][:, column]).pvalue > ALARM


def test_empty_bins_are_not_taken_for_full_ones():
    """The threshold is 4.4 standard deviations of the count's noise at d = 1: chance 200 * 14 * 6e-6 of any alarm."""
    for d in (1, 2):
        p, rng = lplr_params(d, 10**12), generator(11, d)
        phi = np.zeros(d)
        phi[0] = 0.9
        for _ in range(20):
            tree = fit_design(design([phi], phi), p, 10**12, rng)
            visited = {walk(p, tree, h, phi, np.empty(d))[0] for h in range(d)}
            assert set(np.flatnonzero(tree.link[:-1, ACTIVE])) <= visited


def test_sufficient_statistics_use_the_whole_ball_when_the_matrix_is_negative():
    model = ssp_model(1)
    model.mat[0, 0], model.vec[0] = -3.0, -1e-3
    ssp_estimate(model)
    assert model.theta[0] == pytest.approx(-1.0, abs=1e-9)
    model.mat[0, 0], model.vec[0] = 4e9, 1e9
    ssp_estimate(model)
    assert model.theta[0] == pytest.approx(0.25, abs=1e-12)


# --- privacy ----------------------------------------------------------------------------------------------------------


def _worst_loss(p):
    """Largest log-density ratio, d = 1, of the whole corrected message over pairs of users in two bins, one, or none."""
    users = [None] + [(k, x, y) for k in (0, 1) for x in (1.0, 0.5) for y in (-1.0, 0.0, 1.0)]
    scale = np.array([p.count_scale, p.vector_scale[0], 2 * p.matrix_scale])

    def centre(user):
        out = np.zeros((2, 3))
        if user is not None:
            out[user[0]] = 1.0, user[1] * user[2], user[1] ** 2
        return out

    worst = 0.0
    for a, b in itertools.product(users, users):
        # Laplace densities: the largest ratio is reached beyond both centres
        worst = max(worst, (np.abs(centre(a) - centre(b)) / scale).sum())
    return worst


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_the_corrected_message_loses_epsilon_and_no_more(epsilon):
    p = lplr_params(1, 10**4, epsilon)
    assert _worst_loss(p) == pytest.approx(epsilon, abs=1e-9)
    assert guarantee(p, epsilon).epsilon == pytest.approx(epsilon, abs=1e-9)
    printed = lplr_params(1, 10**4, epsilon, calibration="paper")
    assert _worst_loss(printed) > 1.3 * epsilon
    g = guarantee(printed, epsilon)
    assert g.epsilon == math.inf
    assert g.claimed == (epsilon, 0.0)
    assert ssp_guarantee(ssp_params(2, epsilon)).epsilon == pytest.approx(epsilon, abs=1e-9)


@pytest.mark.parametrize("d", [2, 3])
def test_symmetrised_wishart_density_ratio_is_bounded(d):
    """Characteristic function: the noise's law at c, checked through E exp(i tr(TN)) = det(I + 4c^2 T^2)^(-(d+1)/2)."""
    rng, m, c = generator(12, d), 60_000, 0.5
    T = np.diag(np.linspace(0.3, 1.0, d))
    T[0, 1] = T[1, 0] = 0.2
    N = np.zeros((m, d, d))
    for row in N:
        add_matrix_noise(rng, 1, c, False, 1.0, np.zeros((d, d)), row)
    seen = np.cos(np.einsum("ij,nji->n", T, N))
    exact = np.linalg.det(np.eye(d) + 4 * c * c * T @ T) ** (-(d + 1) / 2)
    assert abs(seen.mean() - exact) < 5.5 * seen.std() / math.sqrt(m)


def test_labels_and_interval_statistics_stay_within_their_sensitivity():
    p = lplr_params(2, 10**4, 1.0, M=2)
    quiet = p._replace(count_scale=0.0, vector_scale=np.zeros(2), matrix_scale=0.0, spread_scale=0.0)
    rng = generator(13)
    for coef in (0.0, 5.0, -40.0):
        tree = past(quiet, coef, width=7.0)
        for _ in range(200):
            phi = rng.standard_normal(2)
            phi *= rng.random() / np.linalg.norm(phi)
            out = update_messages(quiet, tree, phi, rng.choice([-1.0, 1.0]), rng, 1)[0]
            scaled = out / np.column_stack([np.ones(2), p.edge[:2], p.edge[:2], *[p.edge[:2] ** 2] * 4])
            assert np.abs(scaled[:, 0]).sum() <= 1
            assert np.abs(scaled[:, 1:3]).sum() <= 2 * math.sqrt(2) + 1e-9
            assert np.trace(scaled[:, 3:].sum(axis=0).reshape(2, 2)) <= 1 + 1e-9
            assert np.abs(spread_messages(quiet, tree, phi, rng, 1)).sum() <= p.cap + 1e-9


# --- theory, elimination, bad input -----------------------------------------------------------------------------------


def test_chi_square_has_slope_three_and_the_known_limits():
    assert theory.chi_square_laplace([1e-3]) / 1e-9 == pytest.approx(1 / 3, rel=0.01)
    assert theory.chi_square_laplace([5e-4, 5e-4]) / 1e-9 == pytest.approx(1 / 12, rel=0.01)
    for mu in (0.1, 0.5):
        grid = np.linspace(-40, 40, 800_001)
        ratio = (np.exp(-abs(grid - mu)) + np.exp(-abs(grid + mu))) / 2 / np.exp(-abs(grid)) - 1
        value = np.trapezoid(ratio**2 * np.exp(-abs(grid)) / 2, grid)
        assert theory.chi_square_laplace([mu]) == pytest.approx(value, rel=1e-5)


def test_lower_bounds_hold_for_our_estimators():
    for n in (10**10, 10**14):
        share, floor = theory.theorem_1(n)
        worst = [0.0, 0.0]
        for t in (0.0, 1.0):
            world = rare(share, (0.0, t))
            worst[0] += estimate_lplr(world, lplr_params(2, n), n, 100, generator(14)).mse.mean() / 2
            worst[1] += estimate_ssp(world, n, 100, generator(15))[1].mean() / 2
        assert min(worst) > floor
    # at the last n: LPLR gives up on e2, and pays its chance under the second hypothesis only
    assert worst[0] == pytest.approx(share / 2, rel=0.01)


def test_elimination_with_an_exact_oracle_pays_in_the_first_epoch_only():
    bandit = hard_bandit(2, 0.3)
    run = eliminate_with("exact", bandit, 10**6, 4, generator(16))
    assert (run.log[:, 1:, 4] == 0).all()
    assert (run.log[:, 0, 4] > 0).all()
    assert (run.lost == 0).all()
    blind = eliminate_with("none", bandit, 10**6, 50, generator(17)).regret
    gap = 2 * 0.3 * 0.5 / 2
    assert abs(blind.mean() / (gap * 10**6) - 1) < 0.002


def test_regret_of_the_fast_path_matches_rounds_played():
    from companion.policies.lplr import lplr
    from companion.policies.suffstats import suffstats
    from companion.simulate import repetitions, simulate

    bandit, rounds = hard_bandit(2, 0.4), 6000
    options = {"n0": 64, "gamma": 4.0, "epsilon": 60.0}
    policies = [lplr(2, rounds, **options), suffstats(2, rounds, 20.0)]
    result = simulate(bandit, policies, rounds, repetitions(3, 60))
    fast = eliminate_with("lplr", bandit, rounds, 2000, generator(18), **options).regret
    assert sps.ks_2samp(result.final[:, 0], fast).pvalue > ALARM
    fast = eliminate_with("ssp", bandit, rounds, 2000, generator(19), epsilon=20.0).regret
    assert sps.ks_2samp(result.final[:, 1], fast).pvalue > ALARM


def test_per_action_policy_matches_its_fast_path():
    from companion.policies.lplr import lplr
    from companion.simulate import repetitions, simulate

    bandit, rounds = contexts([[[0.9, 0.1], [0.2, 0.9]]], [0.1, 0.8]), 4000
    options = {"n0": 64, "gamma": 4.0, "epsilon": 100.0}
    result = simulate(bandit, [lplr(2, rounds, arms=2, **options)], rounds, repetitions(5, 60))
    fast = eliminate_with("lplr", bandit, rounds, 2000, generator(20), per_action=True, **options)
    assert sps.ks_2samp(result.final[:, 0], fast.regret).pvalue > ALARM


def test_edge_cases():
    p = lplr_params(1, 100)
    assert read(p, fit_design(constant(0.5), p, 2, generator(0)), [[0.5]])[0][0] == 0  # nothing is learned from 2 users
    p = lplr_params(2, 10**6)
    dummy = design([[0.5, 0.5]], [0.1, 0.1], [0.0])
    f, width = read(p, fit_design(dummy, p, 10**6, generator(0)), [[0.3, 0.4], [0.0, 0.0]])
    np.testing.assert_allclose(f, 0)
    np.testing.assert_allclose(width, [0.5, 0.0])


@pytest.mark.parametrize(
    ("name", "value"),
    [("d", 0), ("d", 1.5), ("T", 1), ("T", 2 * 10**18), ("epsilon", 0.0), ("epsilon", -1.0), ("epsilon", np.nan),
     ("gamma", 1.0), ("gamma", np.inf), ("M", 0), ("rho", 0.0), ("failure", 1.0), ("z", -1.0), ("threshold", -1.0),
     ("calibration", "x"), ("constants", "x"), ("project", 2)],
)  # fmt: skip
def test_parameters_reject_bad_input_by_name(name, value):
    with pytest.raises(ValueError, match=f"{name}.*"):
        lplr_params(**{"d": 2, "T": 1000, name: value})


def test_data_are_checked():
    p = lplr_params(2, 1000)
    good, y = np.full((8, 2), 0.5), np.ones(8)
    for phi, labels, what in (
        (good * 2, y, "phi"), (good * np.nan, y, "phi"), (good[:, :1], y, "phi"), (good[:3], y[:3], "phi"),
        (good, y * 1.1, "y"), (good, y * np.nan, "y"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=what):
            fit_users(p, phi, labels, generator(0))
    for args, what in (
        (([[1.1, 0]], [0, 0]), "points"), (([[1, 0]], [1, 1]), "theta"), (([[1, 0]], [0, 0], [1.1]), "prob"),
        (([[1, 0]], [0, 0], [-0.1]), "prob"), (([[np.inf, 0]], [0, 0]), "points"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=what):
            design(*args)
    with pytest.raises(ValueError, match="M"):
        lplr_params(4, 10**6, M=60)
    with pytest.raises(ValueError, match="n must be"):
        estimate_lplr(constant(0.5), lplr_params(1, 10**4), 10**18 + 10**3, 2, generator(0))
    with pytest.raises(ValueError, match="n must be"):
        estimate_lplr(constant(0.5), lplr_params(1, 10**4), 1, 2, generator(0))
    with pytest.raises(ValueError, match="n must be"):
        estimate_lplr(constant(0.5), lplr_params(1, 10**4), 100.5, 2, generator(0))
    with pytest.raises(ValueError, match="T must be"):
        eliminate_with("lplr", hard_bandit(2, 0.3), 7, 2, generator(0))
    with pytest.raises(ValueError, match="oracle"):
        eliminate_with("x", hard_bandit(2, 0.3), 1000, 2, generator(0))


@pytest.mark.slow
def test_rates_on_case_two():
    """Fitted exponents over n = 1e10 .. 1e16, sizes spread over one bin, 300 repetitions."""
    grid = 10.0 ** np.arange(10, 17, 2)
    ours, theirs = [], []
    for n in grid.astype(np.int64):
        rng, p = generator(21, int(n)), lplr_params(2, int(n))
        worlds = [split(0.5 * n**-0.25 * math.exp(-rng.random()), (0.7, 0.7)) for _ in range(300)]
        ours.append(np.mean([estimate_lplr(w, p, int(n), 1, rng).mad[0] for w in worlds]))
        theirs.append(np.mean([estimate_ssp(w, int(n), 1, rng)[0][0] for w in worlds]))
    assert -0.55 <= np.polyfit(np.log(grid), np.log(ours), 1)[0] <= -0.42
    assert -0.30 <= np.polyfit(np.log(grid), np.log(theirs), 1)[0] <= -0.22


def test_message_fit_uses_every_stage_once():
    p = lplr_params(2, 1000, math.inf, M=2, threshold=0.0)
    tree, rng = plant(p), generator(22)
    phi, y = rng.uniform(-0.6, 0.6, (103, 2)), np.ones(103)
    fit_messages(p, tree, phi, y, rng)
    n = 103 // 4
    assert tree.stat[: tree.start[1], COUNT].sum() == n
    assert tree.stat[: tree.start[1], SPREAD].sum() == 0
