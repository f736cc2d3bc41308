"""LPLR: sums drawn at once have the law of messages sent one by one."""

import math

import numpy as np
import pytest
from scipy import stats as sps

from companion.lplr import theory
from companion.lplr.bins import ACTIVE, COUNT, open_layer, plant, predict, walk
from companion.lplr.environments import design, split
from companion.lplr.fit import send
from companion.lplr.noise import add_matrix_noise, laplace_sum, multinomial
from companion.lplr.params import lplr_params
from companion.lplr.sufficient_statistics import ssp_estimate, ssp_model
from companion.lplr.trials import estimate_lplr, fit_design, fit_users, read
from companion.simulate import repetitions

ALARM = 1e-7  # false-alarm rate of every statistical test below


def generator(*key):
    """A random stream named by integers."""
    return np.random.default_rng(list(key))


# --------------------


def test_moments_of_summed_noise():
    rng, m = generator(4), 20_000
    for n in (10**3, 10**9, 10**18):
        z = np.array([laplace_sum(rng, n, 2.0) for _ in range(m)]) / math.sqrt(n)
        assert z.var() == pytest.approx(8.0, rel=0.08)  # 5.6 standard errors
        for one_sided, off, diagonal in (
            (False, 2 * 3 * 9.0, 4 * 3 * 9.0),
            (True, 3 * 9.0, 6 * 9.0),
        ):
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


def test_multinomial_counts_everyone_once():
    rng, prob = generator(9), np.array([0.2, 0.0, 0.5, 0.1])
    out = np.empty(4, dtype=np.int64)
    total = np.zeros(4)
    for _ in range(2000):
        multinomial(rng, 100, prob, out)
        total += out
    expected = np.array([*(prob * 200_000), 40_000])
    seen = np.array([*total, 200_000 - total.sum()])
    assert seen[1] == 0
    keep = expected > 0
    assert sps.chisquare(seen[keep], expected[keep]).pvalue > ALARM
    multinomial(rng, 10**18, np.array([0.3, 0.7]), out[:2])
    assert out[:2].sum() == 10**18


def test_one_bin_deeper_is_the_same_problem():
    """All vectors divided by gamma: counts and scaled eigenvalues keep their law."""
    p, draws = lplr_params(2, 10**10), 400
    seen = []
    for k in (0, 2):
        phi = 0.8 * p.edge[k] * np.array([0.6, 0.8])
        rows = []
        for one in repetitions(10, draws, k):
            tree = fit_design(design([phi], [0.5, 0.5]), p, 10**10, one, signs=False)
            rows.append(
                (tree.stat[k, COUNT], tree.mat[k, 0, 1] / p.edge[k] ** 2, abs(tree.frame[k, 0, 0]))
            )
        seen.append(np.array(rows))
    for column in range(3):
        assert sps.ks_2samp(seen[0][:, column], seen[1][:, column]).pvalue > ALARM


def test_empty_bins_are_not_taken_for_full_ones():
    """The threshold is 4.4 standard deviations of the count's noise at d = 1: chance 200 * 14 *
    6e-6 of any alarm.
    """
    for d in (1, 2):
        p = lplr_params(d, 10**12)
        phi = np.zeros(d)
        phi[0] = 0.9
        for one in repetitions(11, 20, d):
            tree = fit_design(design([phi], phi), p, 10**12, one)
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
