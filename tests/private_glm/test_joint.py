"""Algorithm 2 against a slow twin, its releases, its refreshing rules, its limits."""

import math

import numpy as np
import pytest

from companion import audit
from companion.baselines.rs_glinucb import rs_glinucb
from companion.glm import LOGISTIC, mean, slope
from companion.private_glm import as_run, attacks, experiments
from companion.private_glm.continual import Scratch, add_leaf, publish, raise_floor, start
from companion.private_glm.descent import Descent, descend
from companion.private_glm.environments import (
    curvature,
    fixed_world,
    idle_regret,
    paper_world,
    world,
)
from companion.private_glm.joint import init, joint_glm, select, update
from companion.simulate import repetitions, simulate


def twin_arms(X, R, S, kappa, gamma, width, steps, penalty):
    """Algorithm 2 without noise in NumPy: ridges 1 and 1/2, safe refreshes."""
    n, _, d = X.shape
    V, H, V_last, H_last = np.eye(d), np.eye(d) / 2, np.eye(d), np.eye(d) / 2
    theta = {1: np.zeros(d), 0: np.zeros(d)}
    rows, arms = {1: [], 0: []}, []

    def grown(A, B):
        return np.linalg.eigvalsh(2 * B - A).min() <= 0

    def fit(side, P):
        v, kept = theta[side].copy(), []
        for _ in range(steps):
            g = penalty * v + sum(
                ((1 / (1 + np.exp(-x @ v)) - r) * x for x, r in rows[side]), np.zeros(d)
            )
            v = v - P @ g
            v *= min(1.0, S / max(np.linalg.norm(v), 1e-300))
            kept.append(v)
        theta[side] = np.mean(kept[steps // 2 :], axis=0)

    for t in range(n):
        if grown(V, V_last):
            V_last = V.copy()
            fit(1, np.linalg.inv(0.125 * V + penalty * np.eye(d)))
        if grown(H, H_last):
            H_last = H.copy()
            fit(0, np.linalg.inv(math.e * H + penalty * np.eye(d)))
        wide = np.einsum("ki,ij,kj->k", X[t], np.linalg.inv(V), X[t])
        if wide.max() >= 1 / (gamma**2 * kappa):
            arm, side = int(wide.argmax()), 1
        else:
            side, half = 0, gamma * np.sqrt(kappa * wide)
            keep = X[t] @ theta[1] + half >= (X[t] @ theta[1] - half).max()
            index = X[t] @ theta[0] + width * np.sqrt(
                np.einsum("ki,ij,kj->k", X[t], np.linalg.inv(H_last), X[t])
            )
            arm = int(np.where(keep, index, -np.inf).argmax())
        x = X[t, arm]
        if side:
            V = V + np.outer(x, x)
        else:
            H = H + slope(LOGISTIC, x @ theta[1]) / math.e * np.outer(x, x)
        rows[side].append((x, R[t, arm]))
        arms.append(arm)
    return np.array(arms), len(rows[1])


def test_without_noise_every_arm_is_the_twin_s():
    X, R, _ = next(world("ball", 3, 2.0, K=6).blocks(500, np.random.default_rng(4)))
    policy = joint_glm(
        3,
        500,
        np.inf,
        theta_bound=2.0,
        kappa=9.0,
        gamma=1.0,
        steps_o=5,
        steps_tau=5,
        width=0.7,
        penalty=2.0,
        cutoff_o=50,
        cutoff_tau=50,
    )
    arms = np.empty(500, np.int64)
    state = policy.play(policy.params, init(policy.params), X, R, np.random.default_rng(0), arms)
    twin, explored = twin_arms(X, R, 2.0, 9.0, 1.0, 0.7, 5, 2.0)
    assert np.array_equal(arms, twin)
    assert 5 < explored == state.explored.sum() < 400
    assert state.fits.min() >= 2  # both kinds of fits were made


def test_a_prefix_has_the_noise_of_its_live_blocks():
    """Variance popcount(t) sigma^2 on the diagonal, half of it off it (5.5 sigma)."""
    w, draws, sigma, runs = (
        Scratch(np.zeros((2, 2)), np.zeros((2, 2))),
        {1: [], 7: [], 8: []},
        2.0,
        4000,
    )
    rng = np.random.default_rng(5)
    for _ in range(runs):
        c = start(2, 4, 1e6)
        for t in range(1, 9):
            add_leaf(1.0, np.array([0.6, 0.8]), c.exact)
            publish(c, t, 1e6, sigma, rng, w)
            if t in draws:
                draws[t].append(c.value - 1e6 * np.eye(2) - t * np.outer([0.6, 0.8], [0.6, 0.8]))
    for t, blocks in ((1, 1), (7, 3), (8, 1)):
        z = np.array(draws[t])
        spread = 5.5 * np.sqrt(2 / runs)
        assert z[:, 0, 0].var() == pytest.approx(blocks * sigma**2, rel=spread)
        assert z[:, 0, 1].var() == pytest.approx(blocks * sigma**2 / 2, rel=spread)
        assert np.array_equal(z[:, 0, 1], z[:, 1, 0])


def test_eigenvalues_have_a_floor_and_others_stay():
    w, A = Scratch(np.zeros((3, 3)), np.zeros((3, 3))), np.diag([5.0, -2.0, 1.0])
    Q = np.linalg.qr(np.random.default_rng(0).standard_normal((3, 3)))[0]
    B = Q @ A @ Q.T
    assert raise_floor(B, 0.5, w)
    np.testing.assert_allclose(B, Q @ np.diag([5.0, 0.5, 1.0]) @ Q.T, atol=1e-12)
    assert not raise_floor(B, 0.4, w)


def test_descent_without_noise_finds_the_minimum_of_its_side():
    rng = np.random.default_rng(1)
    X, side = rng.standard_normal((200, 2)) / 2, rng.integers(0, 2, 200)
    y = (rng.random(200) < mean_of(X @ [1.0, -1.0])).astype(float)
    q, theta = Descent(400, 1, 0.0, 1.0, 0.25), np.zeros(2)
    P = np.linalg.inv(0.25 * X[side == 1].T @ X[side == 1] + np.eye(2))
    descend(q, LOGISTIC, 5.0, X, y, side, 1, 150, P, rng, theta, np.zeros((3, 2)))
    use = (side == 1) & (np.arange(200) < 150)
    gradient = X[use].T @ (mean_of(X[use] @ theta) - y[use]) + theta
    assert np.abs(gradient).max() < 1e-8


def mean_of(z):
    return np.array([mean(LOGISTIC, v) for v in z])


def test_records_outside_the_universe_are_clipped_and_counted():
    policy = joint_glm(2, 10, 1.0, gamma=0.01)
    state, rng = init(policy.params), np.random.default_rng(0)
    for x, r in (([30.0, 0.0], 0.5), ([0.3, 0.0], 7.0), ([0.3, 0.0], -7.0), ([0.6, 0.8], 1.0)):
        select(policy.params, state, np.zeros((1, 2)), rng)
        state = update(policy.params, state, 0, np.array(x), r, rng)
    assert state.clipped == 3
    assert np.linalg.norm(state.X, axis=1).max() <= 1 + 1e-12
    assert state.y[:4].tolist() == [0.5, 1.0, 0.0, 1.0]
    top = 0.25 / math.e
    assert abs(state.H.exact[0]) <= top * (1 + 0.09 + 0.09 + 0.36) + 1e-12


def test_fits_never_exceed_what_is_paid_for():
    env = world("ball", 3, 2.0)
    for preset in ("tight", "explore"):
        policy = joint_glm(3, 600, 1.0, preset=preset, cutoff_tau=2, cutoff_o=1, a_v=0.0, a_h=0.0)
        run = experiments.counted(env, policy, 600, repetitions(1, 3))
        assert run.fits[:, 1].max() == 2
        assert run.fits[:, 0].max() <= 1
        same = simulate(env, [policy], 600, repetitions(1, 3)).of(policy.name)
        np.testing.assert_allclose(run.regret, same)


def test_the_first_fit_is_dated_by_its_block():
    """e_1 has doubled its entry of H after six rounds: 0.5 + 6 slope(0)/e > 1."""
    for T, expected in ((120, 1), (6, 7)):
        env = fixed_world(np.tile(np.eye(2), (T, 1, 1)), [1.0, 0.0], "logistic")
        policy = joint_glm(2, T, np.inf, gamma=0.05, width=0.5)
        run = experiments.counted(env, policy, T, repetitions(1, 2))
        assert run.first_fit.tolist() == [expected] * 2
        assert (run.fits[:, 1] > 0).all() == (T > 6)


@pytest.mark.parametrize("gamma", [0.01, 1e3])
def test_matrices_that_go_on_doubling_stop_at_the_cutoff(gamma):
    """Every round exploits, or every round explores; both matrices double at least five times."""
    policy = joint_glm(2, 400, np.inf, gamma=gamma, cutoff_tau=3, cutoff_o=3)
    live = policy.start(0)
    for t in range(400):
        live.update(live.select(np.eye(2)[t % 2 :][:1]), 1.0)
    fits = [0, 3] if gamma < 1 else [3, 0]
    assert live.state.fits.tolist() == fits


def test_the_printed_rule_shows_a_user_and_the_corrected_one_does_not():
    """False alarms of a correct rule: 1e-6 (level of the audit)."""
    a, b = attacks.attack_world()
    found = {}
    for rule in ("paper", "corrected"):
        mechanism = attacks.estimate_changes(experiments.leaky(rule), 59)
        found[rule] = audit.epsilon_lower_bound(
            mechanism, a, b, delta=0.01, trials=400, seed=2, level=1 - 1e-6
        ).epsilon
    assert found["paper"] > 1.5
    assert found["corrected"] <= 1.0


def test_without_exploration_both_rules_refresh_alike():
    X, R, _ = next(world("ball", 3, 2.0).blocks(300, np.random.default_rng(4)))
    arms = {}
    for rule in ("paper", "corrected"):
        policy = joint_glm(3, 300, 4.0, gamma=0.05, rule=rule, a_h=0.5)
        arms[rule] = np.empty(300, np.int64)
        policy.play(policy.params, init(policy.params), X, R, np.random.default_rng(0), arms[rule])
    assert np.array_equal(arms["paper"], arms["corrected"])


@pytest.mark.parametrize(("last", "fits"), [(0.4, 0), (-10.0, 1)])
def test_growth_that_noise_explains_makes_no_first_fit(last, fits):
    """V has outgrown its last value both times, but its trace by more than the guard only once."""
    policy = joint_glm(2, 50, 1.0)
    state = init(policy.params)
    state.V.last[:] = last * policy.params.ridge_v * np.eye(2)
    select(policy.params, state, np.zeros((1, 2)), np.random.default_rng(0))
    assert state.fits.tolist() == [fits, 0]


def test_the_best_arm_survives_a_wide_elimination():
    """With gamma sqrt(kappa) large nothing is ruled out: the arm has the largest index of all."""
    policy = joint_glm(2, 50, np.inf, gamma=0.05, kappa=1e9, width=0.0)
    state = init(policy.params)
    state.theta_tau[:] = 1.0, 0.5
    state.theta_o[:] = -0.1, -0.05
    state.V.inverse[:] *= 1e-7  # so that Criterion I stays silent
    X = np.array([[0.1, 0.0], [0.9, 0.1], [0.0, 0.2]])
    assert select(policy.params, state, X, np.random.default_rng(0)) == 1


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("d", 0),
        ("T", 0),
        ("epsilon", 0.0),
        ("epsilon", np.nan),
        ("delta", 1.0),
        ("theta_bound", 0.0),
        ("kappa", 1.0),
        ("gamma", 0.0),
        ("width", -1.0),
        ("a_v", -1.0),
        ("a_h", np.nan),
        ("steps_o", 0),
        ("steps_tau", 0),
        ("cutoff_o", 0),
        ("cutoff_tau", 0),
        ("penalty", 0.0),
        ("share", 1.0),
        ("preset", "best"),
        ("rule", "literal"),
        ("link", "linear"),
        ("calibration", "tight"),
    ],
)
def test_bad_input_is_refused_by_name(name, value):
    with pytest.raises(ValueError, match=name):
        joint_glm(**({"d": 3, "T": 100, "epsilon": 1.0} | {name: value}))


def test_the_environment_is_the_paper_s():
    env = paper_world(5000, 3, 2.0, "probit")
    assert env.kappa[0] == pytest.approx(18.393670, abs=1e-6)
    np.testing.assert_allclose(env.theta / 2, [0.147708, 0.913296, 0.379570], atol=1e-6)
    np.testing.assert_allclose(env.X[0, 0], [0.804172, 0.160843, -0.414626], atol=1e-6)
    for S, kappa in ((2.5, 56.436006), (3.0, 222.147513)):
        assert curvature(env.link, env.X, env.theta * S / 2)[0] == pytest.approx(kappa, abs=1e-6)
    assert idle_regret(env, 5000, "random")[-1] == pytest.approx(2144, abs=1)
    assert idle_regret(env, 5000, "longest")[-1] == pytest.approx(2173, abs=1)
    wide = paper_world(3, 5, 3.5, "logistic")
    np.testing.assert_allclose(
        wide.theta, [0.336116, 2.078246, 0.863730, 0.291589, -2.643268], atol=1e-6
    )
    np.testing.assert_allclose(
        wide.X[0, 0], [-0.213525, 0.049939, -0.078375, 0.273725, -0.770789], atol=1e-6
    )


def test_table_2_within_four_standard_errors():
    """`table2` at epsilon = 8, S = 2 of the prototype: 388 (5) in 20 runs; here 10 runs."""
    env = paper_world(5000, 3, 2.0, "probit")
    kw = {"link": "probit", "theta_bound": 2.0, "kappa": env.kappa[0]}
    policies = [joint_glm(3, 5000, 8.0, preset="table2", **kw), rs_glinucb(3, 5000, **kw)]
    policies.append(as_run.aliased(policies[1]))
    found = simulate(env, policies, 5000, repetitions(3, 10), grid=[2500, 5000])
    regret = found.final.mean(axis=0)
    assert abs(regret[0] - 388) < 4 * np.hypot(5, 5 * np.sqrt(2))
    assert 120 < regret[1] < 450
    late = found.regret[:, 2, 1] - found.regret[:, 2, 0]
    assert late.mean() > 0.3 * found.final[:, 2].mean()  # still linear in the second half
    thetas = {}
    for policy in policies[1:]:  # as run the second estimate is fitted once
        X, R, _ = next(env.blocks(5000, np.random.default_rng(1)))
        state, arms = policy.init(policy.params), np.empty(300, np.int64)
        for part in (slice(0, 300), slice(300, 600)):
            rng = np.random.default_rng(0)
            state = policy.play(policy.params, state, X[part], R[part], rng, arms)
            thetas.setdefault(policy.name, []).append(state.theta_hat.copy())
    same = {name: np.array_equal(*both) for name, both in thetas.items()}
    assert same == {"RS-GLinUCB": False, "RS-GLinUCB, as run": True}
