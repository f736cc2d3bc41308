"""What the chapters measure of whole runs, and closed forms against values worked out by
hand.

False alarms of the audits of a correct rule: 1e-6.
"""

import numpy as np
import pytest
from streams import first_block, run

from companion.baselines.rs_glinucb import rs_glinucb
from companion.kernels.glm import LOGISTIC
from companion.private_glm import experiments
from companion.private_glm import joint_glm as joint
from companion.private_glm.environments import fixed, paper_world, world
from companion.private_glm.joint_glm import PRESETS, joint_glm
from companion.private_glm.shuffle_glm import shuffle_glm
from companion.simulate import repetitions, simulate
from evidence.attacks import joint_glm as attacks

TIGHT = PRESETS["tight"]
LEVEL = 1 - 1e-6


@pytest.mark.parametrize("preset", ["tight", "explore"])
def test_fits_never_exceed_what_is_paid_for(preset):
    env = world("ball", 3, 2.0)
    preset = PRESETS[preset]._replace(cutoff_tau=2, cutoff_o=1, a_v=0.0, a_h=0.0)
    policy = joint_glm(3, 600, epsilon=1.0, delta=0.02, preset=preset)
    seeds = repetitions(1, 3)
    run = experiments.fit_counts(env, policy, 600, seeds)
    assert run.fits[:, 1].max() == 2
    assert run.fits[:, 0].max() <= 1
    same = simulate(env, [policy], 600, seeds, grid=[600])
    np.testing.assert_allclose(run.regret, same.final[:, 0])


@pytest.mark.parametrize(("T", "expected"), [(120, 1), (6, 7)])
def test_the_first_fit_is_dated_by_its_block(T, expected):
    """e_1 has doubled its entry of H after six rounds: 0.5 + 6 slope(0)/e > 1."""
    contexts = np.tile(np.eye(2), (T, 1, 1))
    env = fixed(contexts, np.eye(2)[0], LOGISTIC)
    preset = TIGHT._replace(gamma=0.05)
    policy = joint_glm(2, T, epsilon=np.inf, delta=0.02, preset=preset)
    run = experiments.fit_counts(env, policy, T, repetitions(1, 2))
    assert run.first_fit.tolist() == [expected] * 2
    assert (run.fits[:, 1] > 0).all() == (T > 6)


def test_what_widths_cover():
    """A wide width covers all scores and rules out nobody; a narrow one does neither."""
    env = world("ball", 2, 1.5, K=5)
    seeds = repetitions(3, 4)

    def of(**options):
        policy = shuffle_glm(
            2, 5, 600, epsilon=4.0, delta=0.01, theta_bound=1.5, **options
        )
        return experiments.coverage(env, policy, 600, seeds)

    wide = of(gamma=50.0)
    narrow = of(gamma=0.05)
    assert wide.inside.min() == 1.0
    assert wide.too_heavy.max() == wide.lost.max() == 0.0
    assert narrow.inside.mean() < 0.5
    assert min(narrow.too_heavy.mean(), narrow.lost.mean()) > 0.0
    assert of(gamma=3.0).inside.mean() > 0.95  # of the theta that was played


def test_as_run_the_warm_up_rounds_are_fitted_and_all_rows_once():
    env = paper_world(600, 3, 2.5, "probit")
    repaired = rs_glinucb(3, 600, link="probit", theta_bound=2.5, kappa=env.kappa[0])
    policy = experiments.aliased(repaired)
    X, R = first_block(env, 600, seed=1)
    _, early = run(policy, X[:300], R[:300])
    _, state = run(policy, X, R, cuts=[300])
    assert np.array_equal(early.theta_hat, state.theta_hat)
    assert np.linalg.norm(state.theta_warm) > 0.5
    assert state.warm.tolist() == [0, 0]


@pytest.mark.parametrize("rule", ["paper", "corrected"])
def test_leaks(rule):
    found = attacks.leaks(rule, trials=500, seed=2, level=LEVEL)
    assert len(found) == 3
    if rule == "paper":
        assert min(found.values()) > 1.5
    else:
        assert max(found.values()) <= 1.0


def test_a_tree_for_too_small_a_movement_is_seen():
    known = (4 / 3, 0.02 / 3, 5000)
    how = {"trials": 50_000, "seed": 1, "level": LEVEL}
    low, exact = attacks.tight_tree(0.25, *known, **how)
    assert 1.5 < low <= exact
    low, exact = attacks.tight_tree(np.sqrt(2.0), *known, **how)
    assert low <= exact <= 4 / 3


def test_printed_constants_of_table_2():
    """Its first column: d = 3, S = 2, epsilon = 4, universal constants 1."""
    model = {
        "d": 3,
        "T": 5000,
        "epsilon": 4.0,
        "delta": 0.02,
        "failure": 0.02,
        "kappa_star": 2.51,
    }
    assert experiments.printed_ridge(**model) == pytest.approx(3069, rel=2e-3)
    gamma = experiments.printed_gamma(**model, theta_bound=2.0, kappa=18.4)
    assert gamma == pytest.approx(1289, rel=2e-3)


@pytest.mark.parametrize(("star", "true"), [(2.5, 0.36), (32.0, 10.6)])
def test_true_epsilon_of_the_printed_tree(star, true):
    rho = experiments.printed_tree_rho(4.0, 0.02, star)
    assert joint.exact_epsilon(rho, 0.02 / 3) == pytest.approx(true, rel=0.02)


@pytest.mark.parametrize(
    ("epsilon", "delta", "N", "total"),
    [
        (4.0, 0.02, 10**3, 3.84),
        (4.0, 0.02, 10**6, 4.77),
        (1.0, 0.01, 10**6, 1.03),
    ],
)
def test_composition_of_algorithm_7(epsilon, delta, N, total):
    assert experiments.composed(epsilon, delta, N) == pytest.approx(total, abs=6e-3)


def test_switches_and_their_bound():
    """Axis by axis an entry doubles 8 times (1 + 3750/(4 e) < 2^9); in turn all double at
    once."""
    weight = 1 / (4 * np.e)
    assert experiments.axis_switches(8, 30_000, weight, 1.0, True) == 64
    assert experiments.axis_switches(8, 30_000, weight, 1.0, False) == 8
    bound = experiments.switches_bound(8, 30_000, 20.0, L=np.sqrt(0.1))
    assert bound == pytest.approx(76, abs=1)


# --- drivers whose numbers the chapters use --------------------------------------------


def test_the_first_batch_by_hand():
    """kappa = 4, S = d = gamma = 1, alpha = 4: (2 e^3 * 4)^(2/3) = 4 e^2."""
    assert experiments.first_batch(4.0, 1.0, 1, 1.0, 4.0) == pytest.approx(4.0 * np.e**2)


def test_the_number_of_exploited_fits_by_hand():
    """4 log2(1 + 6/2) = 8."""
    assert experiments.count2(2, 6) == pytest.approx(8.0)
