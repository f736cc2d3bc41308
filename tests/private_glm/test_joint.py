"""Algorithm 2 against a slow twin, its releases, its refreshing rules, its limits."""

import math

import numpy as np
import pytest
from streams import NO_BUDGETS

from companion.kernels.glm import LOGISTIC, slope
from companion.private_glm.environments import world
from companion.private_glm.joint import init, joint_glm, select, update
from companion.private_glm.presets import PRESETS

TIGHT = PRESETS["tight"]


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
    return np.array(arms), len(rows[1]), theta


def test_without_noise_every_arm_is_the_twin_s():
    X, R, _ = next(world("ball", 3, 2.0, K=6).blocks(500, np.random.default_rng(4)))
    changes = {"gamma": 1.0, "width": 0.7, "penalty": 2.0, "steps_o": 5, "steps_tau": 5}
    preset = TIGHT._replace(cutoff_o=50, cutoff_tau=50, **changes)
    policy = joint_glm(
        3, 500, epsilon=np.inf, delta=0.02, theta_bound=2.0, kappa=9.0, preset=preset
    )
    arms = np.empty(500, np.int64)
    state = policy.play(policy.params, init(policy.params), X, R, np.random.default_rng(0), arms)
    twin, explored, theta = twin_arms(X, R, 2.0, 9.0, 1.0, 0.7, 5, 2.0)
    assert np.array_equal(arms, twin)
    np.testing.assert_allclose(state.theta_o, theta[1], atol=1e-9)
    np.testing.assert_allclose(state.theta_tau, theta[0], atol=1e-9)
    assert 5 < explored == state.rows.side.sum() < 400
    assert state.fits.min() >= 2  # both kinds of fits were made


def test_records_outside_the_universe_are_clipped_and_counted():
    policy = joint_glm(2, 10, epsilon=1.0, delta=0.02, preset=TIGHT._replace(gamma=0.01))
    state, rng = init(policy.params), np.random.default_rng(0)
    for x, r in (([30.0, 0.0], 0.5), ([0.3, 0.0], 7.0), ([0.3, 0.0], -7.0), ([0.6, 0.8], 1.0)):
        select(policy.params, state, np.zeros((1, 2)), rng)
        state = update(policy.params, state, 0, np.array(x), r, rng)
    assert state.clipped == 3
    assert np.linalg.norm(state.rows.X, axis=1).max() <= 1 + 1e-12
    assert state.rows.y[:4].tolist() == [0.5, 1.0, 0.0, 1.0]
    top = 0.25 / math.e
    assert abs(state.H.exact[0]) <= top * (1 + 0.09 + 0.09 + 0.36) + 1e-12


@pytest.mark.parametrize("gamma", [0.01, 1e3])
def test_matrices_that_go_on_doubling_stop_at_the_cutoff(gamma):
    """Every round exploits, or every round explores; both matrices double at least five times."""
    preset = TIGHT._replace(gamma=gamma, cutoff_tau=3, cutoff_o=3)
    policy = joint_glm(2, 400, epsilon=np.inf, delta=0.02, preset=preset)
    live = policy.start(0)
    for t in range(400):
        live.update(live.select(np.eye(2)[t % 2 :][:1]), 1.0)
    fits = [0, 3] if gamma < 1 else [3, 0]
    assert live.state.fits.tolist() == fits


def test_without_exploration_both_rules_refresh_alike():
    X, R, _ = next(world("ball", 3, 2.0).blocks(300, np.random.default_rng(4)))
    arms = {}
    for rule in ("paper", "corrected"):
        preset = TIGHT._replace(gamma=0.05, a_h=0.5)
        policy = joint_glm(3, 300, epsilon=4.0, delta=0.02, rule=rule, preset=preset)
        arms[rule] = np.empty(300, np.int64)
        policy.play(policy.params, init(policy.params), X, R, np.random.default_rng(0), arms[rule])
    assert np.array_equal(arms["paper"], arms["corrected"])


@pytest.mark.parametrize(("last", "fits"), [(0.4, 0), (-10.0, 1)])
def test_growth_that_noise_explains_makes_no_first_fit(last, fits):
    """V has outgrown its last value both times, but its trace by more than the guard only once."""
    policy = joint_glm(2, 50, epsilon=1.0, delta=0.02)
    state = init(policy.params)
    state.V.last[:] = last * policy.params.ridge_v * np.eye(2)
    select(policy.params, state, np.zeros((1, 2)), np.random.default_rng(0))
    assert state.fits.tolist() == [fits, 0]


def test_the_best_arm_survives_a_wide_elimination():
    """With gamma sqrt(kappa) large nothing is ruled out: the arm has the largest index of all."""
    preset = TIGHT._replace(gamma=0.05, width=0.0)
    policy = joint_glm(2, 50, epsilon=np.inf, delta=0.02, kappa=1e9, preset=preset)
    state = init(policy.params)
    state.theta_tau[:] = 1.0, 0.5
    state.theta_o[:] = -0.1, -0.05
    state.V.inverse[:] *= 1e-7  # so that Criterion I stays silent
    X = np.array([[0.1, 0.0], [0.9, 0.1], [0.0, 0.2]])
    assert select(policy.params, state, X, np.random.default_rng(0)) == 1


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *NO_BUDGETS,
        ("theta_bound", 0.0),
        ("kappa", 1.0),
        ("preset", "best"),
        ("rule", "literal"),
        ("link", "linear"),
        ("calibration", "tight"),
        ("width", -1.0),
    ],
)
def test_bad_input_is_refused_by_name(name, value):
    with pytest.raises(ValueError, match=name):
        joint_glm(**({"d": 3, "T": 100, "epsilon": 1.0} | {name: value}))


def test_the_tree_of_explored_rounds_has_new_noise_in_rounds_of_the_others():
    """Nobody explores: that V is released anew in every round must not depend on it."""
    policy = joint_glm(2, 10, epsilon=1.0, delta=0.02, preset=TIGHT._replace(gamma=0.01))
    state, rng, seen = init(policy.params), np.random.default_rng(0), []
    for _ in range(4):
        select(policy.params, state, np.eye(2), rng)
        assert state.rows.side[state.t] == 0
        state = update(policy.params, state, 0, np.array([0.6, 0.0]), 0.5, rng)
        seen.append(state.V.release.tobytes())
    assert len(set(seen)) == 4
    assert not state.V.exact.any()


def test_explored_contexts_enter_their_tree_clipped():
    policy = joint_glm(2, 10, epsilon=1.0, delta=0.02, preset=TIGHT._replace(gamma=1e3))
    state, rng = init(policy.params), np.random.default_rng(0)
    select(policy.params, state, np.eye(2), rng)
    state = update(policy.params, state, 0, np.array([30.0, 0.0]), 0.5, rng)
    assert state.V.exact.tolist() == [1.0, 0.0, 0.0]
