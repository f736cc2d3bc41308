"""What the chapters measure of whole runs, and closed forms against values worked out by hand.

False alarms of the audits of a correct rule: 1e-6.
"""

import math

import numpy as np
import pytest
from scipy import optimize, stats

from companion.baselines.rs_glinucb import rs_glinucb
from companion.private_glm import experiments
from companion.private_glm import joint_glm as joint
from companion.private_glm.environments import fixed_world, paper_world, world
from companion.private_glm.experiments import covered
from companion.private_glm.joint_glm import PRESETS, joint_glm
from companion.private_glm.shuffle_glm import shuffle_glm
from companion.simulate import repetitions, simulate

TIGHT = PRESETS["tight"]
LEVEL = 1 - 1e-6


def test_fits_never_exceed_what_is_paid_for():
    env = world("ball", 3, 2.0)
    for preset in (TIGHT, PRESETS["explore"]):
        preset = preset._replace(cutoff_tau=2, cutoff_o=1, a_v=0.0, a_h=0.0)
        policy = joint_glm(3, 600, epsilon=1.0, delta=0.02, preset=preset)
        run = experiments.counted(env, policy, 600, repetitions(1, 3))
        assert run.fits[:, 1].max() == 2
        assert run.fits[:, 0].max() <= 1
        same = simulate(env, [policy], 600, repetitions(1, 3)).of(policy.name)
        np.testing.assert_allclose(run.regret, same)


def test_the_first_fit_is_dated_by_its_block():
    """e_1 has doubled its entry of H after six rounds: 0.5 + 6 slope(0)/e > 1."""
    for T, expected in ((120, 1), (6, 7)):
        env = fixed_world(np.tile(np.eye(2), (T, 1, 1)), [1.0, 0.0], "logistic")
        policy = joint_glm(
            2, T, epsilon=np.inf, delta=0.02, preset=TIGHT._replace(gamma=0.05, width=0.5)
        )
        run = experiments.counted(env, policy, T, repetitions(1, 2))
        assert run.first_fit.tolist() == [expected] * 2
        assert (run.fits[:, 1] > 0).all() == (T > 6)


def test_what_widths_cover():
    """A wide width covers all scores and rules out nobody; a narrow one does neither."""
    env, seeds = world("ball", 2, 1.5, K=5), repetitions(3, 4)

    def of(**options):
        policy = shuffle_glm(2, 5, 600, epsilon=4.0, delta=0.01, theta_bound=1.5, **options)
        return covered(env, policy, 600, seeds)

    wide, narrow = of(gamma=50.0), of(gamma=0.05)
    assert wide.inside.min() == 1.0
    assert wide.too_heavy.max() == wide.lost.max() == 0.0
    assert wide.alive.min() == 5.0
    assert wide.excess.min() > 0.0
    assert narrow.inside.mean() < 0.5
    assert narrow.alive.max() < 3.0
    assert narrow.too_heavy.mean() > 0.05
    assert narrow.lost.mean() > 0.0
    assert of(gamma=3.0).inside.mean() > 0.95  # of the theta that was played
    mixed = of(kappa=1e6, gamma=0.05)  # a wide first batch and a narrow second one
    assert mixed.inside[:, 0].min() == 1.0
    assert mixed.inside[:, 1].mean() < 0.5


def test_table_2_within_four_standard_errors():
    """`table2` at epsilon = 8, S = 2 of the prototype: 388 (5) in 20 runs; here 10 runs."""
    env = paper_world(5000, 3, 2.0, "probit")
    kw = {"link": "probit", "theta_bound": 2.0, "kappa": env.kappa[0]}
    policies = [
        joint_glm(3, 5000, epsilon=8.0, delta=0.02, preset="table2", **kw),
        rs_glinucb(3, 5000, **kw),
    ]
    policies.append(experiments.aliased(policies[1]))
    found = simulate(env, policies, 5000, repetitions(3, 10), grid=[2500, 5000])
    regret = found.final.mean(axis=0)
    assert abs(regret[0] - 388) < 4 * np.hypot(5, 5 * np.sqrt(2))
    assert 120 < regret[1] < 450
    late = found.regret[:, 2, 1] - found.regret[:, 2, 0]
    assert late.mean() > 0.3 * found.final[:, 2].mean()  # still linear in the second half


def test_as_run_the_warm_up_rounds_are_fitted_and_all_rows_once():
    """theta_warm is SciPy's fit of the warm-up rounds; theta_hat is fitted once."""
    env = paper_world(5000, 3, 2.5, "probit")
    repaired = rs_glinucb(3, 600, link="probit", theta_bound=2.5, kappa=env.kappa[0])
    policy = experiments.aliased(repaired)
    X, R, _ = next(env.blocks(5000, np.random.default_rng(1)))
    state, arms, thetas = policy.init(policy.params), np.empty(300, np.int64), []
    for part in (slice(0, 300), slice(300, 600)):
        rng = np.random.default_rng(0)
        policy.play(policy.params, state, X[part], R[part], rng, arms)
        thetas.append(state.theta_hat.copy())
    assert np.array_equal(*thetas)
    n = int(np.squeeze(state.n_warm))
    assert 10 < n < 100
    x, sign = state.X_warm[:n], 2.0 * state.y_warm[:n] - 1.0

    def loss(theta):
        return 0.25 * theta @ theta - stats.norm.logcdf(sign * (x @ theta)).sum()

    wanted = optimize.minimize(loss, np.zeros(3)).x
    assert np.linalg.norm(wanted) > 0.5
    np.testing.assert_allclose(state.theta_warm, wanted, atol=1e-3)
    assert state.warm.tolist() == [0, 0]


@pytest.mark.parametrize("rule", ["paper", "corrected"])
def test_leaks(rule):
    found = experiments.leaks(rule, 500, 2, level=LEVEL)
    assert set(found) == {
        "leak 1, the state",
        "leak 1, arms of others",
        "leak 2, estimates released",
        "leak 3, noise of gradients",
    }
    if rule == "paper":
        assert min(found.values()) > 1.5
    else:
        assert max(found.values()) <= 1.0


def test_the_second_leak_is_the_branch():
    """The noise alone outgrows so small a ridge; only who explores is not tested as printed."""
    a, b = experiments.late_world()
    assert np.allclose(np.linalg.norm(a[0][0], axis=1), 0.3)
    assert np.allclose(np.linalg.norm(a[0][1], axis=1), 1.0)
    assert not b[0][1].any()
    rng, fits = np.random.default_rng(0), {}
    for rule in ("paper", "corrected"):
        mechanism = experiments.estimates_released(experiments.late(rule))
        fits[rule] = [mechanism(data, rng, 200).mean() for data in (a, b)]
    assert fits["paper"][0] == 0.0
    assert min(fits["paper"][1], *fits["corrected"]) > 0.7


def test_a_tree_for_too_small_a_movement_is_seen():
    low, exact = experiments.tight_tree(0.25, 4 / 3, 0.02 / 3, 5000, 50_000, 1, level=LEVEL)
    assert 1.5 < low <= exact
    low, exact = experiments.tight_tree(np.sqrt(2.0), 4 / 3, 0.02 / 3, 5000, 50_000, 1, level=LEVEL)
    assert low <= exact <= 4 / 3


def test_explorations_of_others():
    """Without noise they give the user away; with noise they vary and show nothing."""
    assert experiments.exploration_audit(np.inf, 500, 1, level=LEVEL) > 1.5
    assert experiments.exploration_audit(1.0, 500, 1, level=LEVEL) <= 1.0


def test_node_losses_have_the_moments_of_a_gaussian():
    """Leaf 1 of 64 enters all 7 nodes: mean rho, variance 2 rho (6 standard errors)."""
    shift, sigma, trials = np.array([1.0, 0.0, -1.0]), 3.0, 4000
    rho = 7 * 2.0 / (2 * sigma**2)
    loss = experiments.node_loss(64, 1, sigma, shift, trials, 3)
    assert abs(loss.mean() - rho) < 6 * np.sqrt(2 * rho / trials)
    assert loss.var() == pytest.approx(2 * rho, rel=6 * np.sqrt(2 / trials))
    assert experiments.node_loss(64, 64, sigma, shift, 500, 3).mean() < 0.3 * rho


def test_terms_add_up_to_the_regret_and_potentials_to_their_bounds():
    env, seeds = world("ball", 3, 3.0), repetitions(1, 2)
    preset = PRESETS["explore"]._replace(gamma=0.4)
    policy = joint_glm(3, 300, epsilon=np.inf, delta=0.02, theta_bound=3.0, preset=preset)
    found = experiments.terms(env, policy, 300, seeds)
    parts = [found[k] for k in ("regret exploring", "before the first fit", "after it")]
    assert min(parts) > 0
    assert sum(parts) == pytest.approx(simulate(env, [policy], 300, seeds).final.mean())
    for side in "VH":
        assert 0 < found[f"potential of {side}"] <= found[f"bound {side}"]
    assert 0 < found["weights above the slope"] < 1


def test_the_potential_is_between_log_det_and_twice_it():
    X = np.random.default_rng(1).uniform(-0.5, 0.5, (40, 3))
    log_det = np.linalg.slogdet(np.eye(3) + X.T @ X)[1]
    assert log_det < experiments.potential(X, 1.0) < 2 * log_det
    by_hand = experiments.potential(np.diag([1.0, 2.0])[[0, 0, 1]], 1.0)
    assert by_hand == pytest.approx(1.0 + 1.0 / 2.0 + 1.0)  # at most 1 each


def test_distances_grow_like_the_root_and_stay_below_the_bound():
    excesses = np.array([1e-4, 1e-2])
    share, moved = experiments.fits_with_excess(200, 3, 2.0, 1.0, excesses, 5, 1)
    assert share.shape == moved.shape == (5, 2)
    assert moved[:, 1] / moved[:, 0] == pytest.approx(10.0, rel=0.05)
    assert moved[:, 0] == pytest.approx(np.sqrt(2e-4), rel=0.3)  # the loss is quadratic there
    assert (share > 0).all()
    assert (share < 1).all()
    assert experiments.lemma_s1_bound(1.0, 4.0, 2.0, 1.0) == pytest.approx(4 * 3 + np.sqrt(8))
    assert experiments.lemma_s1_bound(2.0, 0.0, 0.0, 4.0) == pytest.approx(4 + np.sqrt(8))


def test_excess_loss_falls_with_rows_and_budget():
    """Like 1/n at a fixed budget, like 1/sqrt(rho) at a fixed n."""
    lost = experiments.excess_losses([(80, 0.02), (240, 0.02), (240, 0.16)], 40, 1).mean(axis=0)
    assert lost[0] > 1.7 * lost[1] > 1.7**2 * lost[2] > 0.0


def test_the_directional_rule_switches_less_and_bounds_the_ratio():
    quiet = experiments.switch_counts(4, 3000, 20.0, 0.0, 1)
    assert 1 <= quiet["directional"] < quiet["determinant"]
    assert quiet["its worst ratio"] <= 2.1
    noisy = experiments.switch_counts(4, 3000, 20.0, 1.0, 1)
    assert noisy["its worst ratio"] <= 2.1
    assert noisy["worst ratio of this"] > quiet["worst ratio of this"]


def test_without_noise_switches_are_those_of_numpy():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((400, 3)) / 2
    found = [experiments.switches(X, 0.3, 2.0, 0.0, rng, which)[0] for which in (True, False)]
    counts, last, last_det, H = [0, 0], 2 * np.eye(3), 2 * np.eye(3), 2 * np.eye(3)
    for x in X:
        H = H + 0.3 * np.outer(x, x)
        if np.linalg.eigvalsh(2 * last - H)[0] <= 0:
            counts[0], last = counts[0] + 1, H
        if np.linalg.det(H) >= 2 * np.linalg.det(last_det):
            counts[1], last_det = counts[1] + 1, H
    assert found == counts


def test_printed_constants_of_table_2():
    """Its first column: d = 3, S = 2, epsilon = 4, universal constants 1."""
    q = experiments.printed(3, 5000, 4.0, 0.02, 0.02, 2.0, 18.4, 2.51)
    assert q.ridge == pytest.approx(3069, rel=2e-3)
    assert q.width == pytest.approx(24.3, rel=2e-2)
    assert q.gamma == pytest.approx(1289, rel=2e-3)
    assert q.threshold == pytest.approx(3.3e-8, rel=0.05)
    assert q.cutoff_o == pytest.approx(6.2e9, rel=0.05)
    assert q.cutoff_tau == pytest.approx(43, rel=1e-2)
    assert experiments.exploration_rounds(3, 10.0, 0.01) == 3 * (100 - 10)
    assert experiments.exploration_rounds(3, 10.0, 0.2) == 0.0


def test_true_epsilon_of_the_printed_tree():
    for star, true in ((2.5, 0.36), (8.0, 1.62), (16.0, 4.05), (32.0, 10.6)):
        rho = experiments.printed_tree_rho(4.0, 0.02, star)
        assert joint.gdp(rho, 0.02 / 3) == pytest.approx(true, rel=0.02)


def test_composition_of_algorithm_7():
    for N, total in ((10**3, 3.84), (10**4, 4.18), (10**6, 4.77)):
        assert experiments.composed(4.0, 0.02, N) == pytest.approx(total, abs=6e-3)
    assert experiments.composed(1.0, 0.01, 10**6) == pytest.approx(1.03, abs=6e-3)


def test_bounds():
    assert experiments.switches_bound(8, 30_000, 20.0, L=math.sqrt(0.1)) == pytest.approx(76, abs=1)
    for d, e, delta in ((4, 2.0, 1e-6), (7, 0.5, 1e-9)):  # without delta: d/epsilon
        assert experiments.lower_bound(d, e, delta) == pytest.approx(d / e, rel=1e-3)
    e = math.sqrt(0.02 * math.log(50))
    assert experiments.lower_bound(4, e, 0.02) == pytest.approx(2 / e)
    assert experiments.first_batch(4.0, 1.0, 2, 3.0, 5.0) == pytest.approx(
        (2 * math.exp(3) * 4 * 9 * 5) ** (2 / 3)
    )
