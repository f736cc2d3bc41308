"""LPLR: privacy in closed form, lower bounds, elimination."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats as sps

from companion.lplr import lplr, suffstats, theory
from companion.lplr.bandits import eliminate_with
from companion.lplr.bins import COUNT, SPREAD, plant
from companion.lplr.environments import contexts, hard_bandit, rare, split
from companion.lplr.fit import fit_messages
from companion.lplr.messages import past, spread_messages, update_messages
from companion.lplr.noise import add_matrix_noise
from companion.lplr.params import guarantee, lplr_params
from companion.lplr.sufficient_statistics import ssp_guarantee, ssp_params
from companion.lplr.trials import estimate_lplr, estimate_ssp
from companion.simulate import repetitions, simulate

ALARM = 1e-7  # false-alarm rate of every statistical test below


def generator(*key):
    """A random stream named by integers."""
    return np.random.default_rng(list(key))


# --------------------


def _worst_loss(p):
    """Largest log-density ratio, d = 1, of the whole corrected message over pairs of users in two
    bins, one, or none.
    """
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
    """Characteristic function: the noise's law at c, checked through E exp(i tr(TN)) = det(I + 4c^2
    T^2)^(-(d+1)/2).
    """
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
    quiet = p._replace(
        count_scale=0.0, vector_scale=np.zeros(2), matrix_scale=0.0, spread_scale=0.0
    )
    rng = generator(13)
    for coef in (0.0, 5.0, -40.0):
        tree = past(quiet, coef, width=7.0)
        for _ in range(200):
            phi = rng.standard_normal(2)
            phi *= rng.random() / np.linalg.norm(phi)
            out = update_messages(quiet, tree, (phi, rng.choice([-1.0, 1.0])), rng, 1)[0]
            scaled = out / np.column_stack(
                [np.ones(2), p.edge[:2], p.edge[:2], *[p.edge[:2] ** 2] * 4]
            )
            assert np.abs(scaled[:, 0]).sum() <= 1
            assert np.abs(scaled[:, 1:3]).sum() <= 2 * math.sqrt(2) + 1e-9
            assert np.trace(scaled[:, 3:].sum(axis=0).reshape(2, 2)) <= 1 + 1e-9
            assert np.abs(spread_messages(quiet, tree, (phi, 0.0), rng, 1)).sum() <= p.cap + 1e-9


# -----------------------------------------------------------------------------------


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
            worst[0] += (
                estimate_lplr(world, lplr_params(2, n), n, repetitions(14, 100)).mse.mean() / 2
            )
            worst[1] += estimate_ssp(world, n, repetitions(15, 100))[1].mean() / 2
        assert min(worst) > floor
    # at the last n: LPLR gives up on e2, and pays its chance under the second hypothesis only
    assert worst[0] == pytest.approx(share / 2, rel=0.01)


def test_elimination_with_an_exact_oracle_pays_in_the_first_epoch_only():
    bandit = hard_bandit(2, 0.3)
    run = eliminate_with("exact", bandit, 10**6, repetitions(16, 4))
    assert (run.log[:, 1:, 4] == 0).all()
    assert (run.log[:, 0, 4] > 0).all()
    assert (run.lost == 0).all()
    blind = eliminate_with("none", bandit, 10**6, repetitions(17, 50)).regret
    gap = 2 * 0.3 * 0.5 / 2
    assert abs(blind.mean() / (gap * 10**6) - 1) < 0.002


@pytest.mark.parametrize(
    ("make", "options"),
    [(lplr, {"gamma": 4.0}), (lplr, {"gamma": 4.0, "per_action": True}), (suffstats, {})],
)
def test_fast_path_has_the_law_of_rounds_played_where_something_was_learned(make, options):
    """Rewards 0.9 and -0.9: a coin decides, until an epoch ends that tells the two arms apart.

    Two runs of uniform play would agree whatever the code does, so what was learned is checked.
    """
    T, options = 4000, {"epsilon": 1000.0, "n0": 64} | options
    bandit, policy = contexts([[[0.9, 0.0], [-0.9, 0.0]]], [1.0, 0.0]), make(2, T, 2, **options)
    result = simulate(bandit, [policy], T, repetitions(5, 60), grid=[128, 2000, T])
    uniform = 0.9 * result.rounds  # regret of random play
    assert (np.abs(result.regret[:, 0, 0] / uniform[0] - 1) < 0.5).all()
    assert (result.final[:, 0] < 0.5 * uniform[-1]).all()
    assert (result.regret[:, 0, 1] == result.final[:, 0]).mean() > 0.9
    oracle = "ssp" if make is suffstats else "lplr"
    fast = eliminate_with(oracle, bandit, T, repetitions(20, 2000), **options).regret
    assert sps.ks_2samp(result.final[:, 0], fast).pvalue > ALARM


@pytest.mark.slow
def test_rates_on_case_two():
    """Fitted exponents over n = 1e10 .. 1e16, sizes spread over one bin, 300 repetitions."""
    grid = 10.0 ** np.arange(10, 17, 2)
    ours, theirs = [], []
    for n in grid.astype(np.int64):
        p, seeds = lplr_params(2, int(n)), repetitions(21, 300, int(n))

        def world(rng, n=n):
            return split(0.5 * n**-0.25 * math.exp(-rng.random()), (0.7, 0.7))

        ours.append(estimate_lplr(world, p, int(n), seeds).mad.mean())
        theirs.append(estimate_ssp(world, int(n), seeds)[0].mean())
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


def test_messages_leave_the_tree_as_it_is_so_that_audits_may_share_it():
    p = lplr_params(2, 10**6, 1.0)
    tree = past(p, coef=0.5, width=0.1)
    before = [a.copy() for a in tree]
    user = np.array([0.3, 0.4]), 0.5
    for send in (update_messages, spread_messages):
        send(p, tree, user, np.random.default_rng(1), 10)
    assert all(np.array_equal(a, b) for a, b in zip(before, tree, strict=True))
