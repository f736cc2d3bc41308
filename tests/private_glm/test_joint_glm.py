"""Joint-DP GLM: its plain version, accounting, releases, refreshing rules, limits."""

import itertools
import math

import numpy as np
import pytest
from plain import plain
from streams import first_block, run

from companion.accounting.privacy import tree_levels
from companion.kernels import tree
from companion.kernels.glm import clip_eigenvalues
from companion.private_glm import joint_glm as joint
from companion.private_glm.environments import world
from companion.private_glm.joint_glm import PRESETS, init, joint_glm, select, update

TIGHT = PRESETS["tight"]


def made(T, epsilon=np.inf, **changes):
    """A policy in two dimensions: `tight` with these changes."""
    preset = TIGHT._replace(**changes)
    return joint_glm(2, T, epsilon=epsilon, delta=0.02, preset=preset)


@pytest.mark.parametrize("epsilon", [np.inf, 30.0])
def test_every_arm_is_that_of_the_plain_version(epsilon):
    X, R = first_block(world("ball", 3, 2.0, K=6), 500)
    preset = TIGHT._replace(
        gamma=2.0,
        width=0.7,
        penalty=2.0,
        steps_o=5,
        steps_tau=5,
        cutoff_o=50,
        cutoff_tau=50,
    )
    model = {"epsilon": epsilon, "delta": 0.02, "kappa": 9.0}
    policy = joint_glm(3, 500, theta_bound=2.0, preset=preset, **model)
    arms, state = run(policy, X, R, seed=0)
    twin = plain("joint_glm")["joint_glm_plain"]
    expected, explored, theta_o, theta_tau = twin(
        X,
        R,
        S=2.0,
        rng=np.random.default_rng(0),
        gamma=2.0,
        beta=0.7,
        penalty=2.0,
        steps=(5, 5),
        most_fits=(50, 50),
        **model,
    )
    assert np.array_equal(arms, expected)
    np.testing.assert_allclose(state.theta_o, theta_o, atol=1e-9)
    np.testing.assert_allclose(state.theta_tau, theta_tau, atol=1e-9)
    assert 5 < explored.sum() == state.explored.sum() < 400
    assert state.fits.min() >= 2  # both kinds of fits were made


@pytest.mark.parametrize(
    ("gamma", "explored", "weight"),
    [(0.01, 0, 0.25 / math.e), (1e3, 1, 1.0)],
)
def test_records_outside_the_universe_are_clipped_and_counted(
    gamma, explored, weight, rng
):
    """Norms 1, 0.3, 0.3, 0.6 along e_1 enter either tree, theta_o being 0 where nobody
    explores."""
    policy = made(10, gamma=gamma)
    state = init(policy.params)
    X = np.array([[30.0, 0.0], [0.3, 0.0], [0.3, 0.0], [0.6, 0.8]])
    for x, r in zip(X, (0.5, 7.0, -7.0, 1.0), strict=True):
        select(policy.params, state, x[None], rng)
        update(policy.params, state, 0, x, r, rng)
    assert (state.clipped[0], state.explored.sum()) == (3, 4 * explored)
    assert np.linalg.norm(state.X, axis=1).max() <= 1 + 1e-12
    assert state.y[:4].tolist() == [0.5, 1.0, 0.0, 1.0]
    tree = state.V if explored else state.H
    squares = 1 + 0.09 + 0.09 + 0.36
    assert tree.exact[0] == pytest.approx(weight * squares)


@pytest.mark.parametrize("gamma", [0.01, 1e3])
def test_both_trees_have_new_noise_in_every_round(gamma, rng):
    """Nobody's data may be seen in whether noise is drawn: here all exploit, or all
    explore."""
    policy = made(10, epsilon=1.0, gamma=gamma)
    state = init(policy.params)
    released = []
    for _ in range(3):
        select(policy.params, state, np.zeros((1, 2)), rng)
        update(policy.params, state, 0, np.zeros(2), 1.0, rng)
        released.append(np.concatenate([state.V.released, state.H.released]))
    assert (np.diff(released, axis=0) != 0.0).all()


@pytest.mark.parametrize("gamma", [0.01, 1e3])
def test_matrices_that_go_on_doubling_stop_at_the_cutoff(gamma):
    """Every round exploits, or every round explores; both matrices double at least five
    times."""
    live = made(400, gamma=gamma, cutoff_tau=3, cutoff_o=3).start(0)
    for t in range(400):
        context = np.eye(2)[t % 2]
        live.update(live.select(context[None]), 1.0)
    fits = [0, 3] if gamma < 1 else [3, 0]
    assert live.state.fits.tolist() == fits


@pytest.mark.parametrize(("last", "fits"), [(0.4, 0), (-10.0, 1)])
def test_growth_that_noise_explains_makes_no_first_fit(last, fits, rng):
    """V has outgrown its last value both times, but its trace by more than the guard only
    once."""
    policy = made(50, epsilon=1.0)
    state = init(policy.params)
    state.V.last[:] = last * policy.params.ridge_v * np.eye(2)
    select(policy.params, state, np.zeros((1, 2)), rng)
    assert state.fits.tolist() == [fits, 0]


def test_noise_alone_hardly_ever_reaches_the_guard_of_the_first_fit():
    """Traces of a tree's noise, 64 rounds in 5 dimensions; 300 runs, of which 3 may reach
    it."""
    rng = np.random.default_rng(1)
    T = 64
    d = 5
    levels = tree_levels(T)
    most = []
    for _ in range(300):
        nodes = np.zeros((levels, d))
        traces = []
        for t in range(1, T + 1):
            row = tree.advance(nodes, t, 1.0, rng)
            traces.append(nodes[row].sum())
        most.append(max(traces))
    guard = joint.guard(d, T, np.sqrt(levels))
    assert np.mean(np.array(most) > guard) <= 0.01
    assert guard < 4 * np.median(most)


@pytest.mark.parametrize(
    ("epsilon", "exact", "rdp", "simple", "paper", "true"),
    [
        (2.0, 0.4928, 0.3651, 0.2057, 0.0102, 0.106),
        (8.0, 3.3847, 2.7458, 2.1712, 0.1629, 0.918),
    ],
)
def test_what_a_budget_buys(epsilon, exact, rdp, simple, paper, true):
    """Sums of both parts at delta = 0.02; the exact total is divided by what sharing
    saves."""
    spent = {}
    for calibration in joint.CALIBRATIONS:
        spent[calibration] = sum(joint.rho_budget(epsilon, 0.02, calibration))
    assert spent["rdp"] == pytest.approx(rdp, abs=1e-4)
    assert joint.simple_rho(epsilon, 0.02) == pytest.approx(simple, abs=1e-4)
    assert spent["paper"] == pytest.approx(paper, abs=1e-4)
    parts = joint.rho_budget(epsilon, 0.02, "corrected")
    assert joint.combined_rho(*parts) == pytest.approx(exact, abs=1e-4)
    assert joint.exact_epsilon(spent["paper"], 0.02) == pytest.approx(true, abs=1e-3)
    assert spent["corrected"] > spent["rdp"] > spent["paper"]


def worst_pair(rho_tree, rho_fits):
    """Grid search over two contexts, weights 0 or 1, and residuals."""
    best = 0.0
    for c in np.linspace(-1, 1, 60):
        for A, B in itertools.product((0.0, 1.0), repeat=2):
            leaves = A + B - 2 * A * B * c * c
            for a, b in itertools.product((-1.0, 0.0, 1.0), repeat=2):
                gradients = a * a + b * b - 2 * a * b * c
                loss = rho_tree * leaves / 2 + rho_fits * gradients / 4
                best = max(best, loss)
    return best


@pytest.mark.parametrize(
    "parts",
    [(1.0, 1.0), (1.0, 0.1), (0.1, 1.0), (1.0, 3.9), (0.0, 1.0)],
)
def test_combined_rho_is_that_of_the_worst_pair_of_contexts(parts):
    worst = worst_pair(*parts)
    combined = joint.combined_rho(*parts)
    assert worst == pytest.approx(combined, rel=2e-3)
    assert worst <= combined + 1e-12


@pytest.mark.parametrize("calibration", joint.CALIBRATIONS)
@pytest.mark.parametrize("preset", ["tight", "explore"])
def test_the_ledger_is_the_budget(calibration, preset):
    """Sensitivities, counts and noise of the running parameters give back what was
    bought."""
    policy = joint_glm(
        4, 1000, preset=preset, calibration=calibration, epsilon=3.0, delta=0.01
    )
    p = policy.params
    bought = joint.rho_budget(3.0, 0.01, calibration)
    users = joint.ledgers(p)
    for who in ("explores", "exploits"):
        assert [r.rho for r in users[who]] == pytest.approx(bought)
        assert users[who][0].times == tree_levels(1000) == 10
        assert users[who][1].sensitivity == 2.0
    root = np.sqrt(2)
    assert users["explores"][0].sensitivity == pytest.approx(root)
    tree_h, fits = users["exploits"]
    assert tree_h.sensitivity == pytest.approx(root * 0.25 / np.e)
    assert fits.times == p.fit_tau.steps * p.fit_tau.cutoff
    changing = sum(r.rho for r in users["changes sides"])
    assert changing <= joint.combined_rho(*bought)
    true = joint.exact_epsilon(joint.total_rho(p), 0.01)
    assert policy.guarantee.epsilon == pytest.approx(true)
    if calibration == "corrected":
        assert policy.guarantee.epsilon == pytest.approx(3.0)
    else:
        assert policy.guarantee.epsilon < 3.0
        assert policy.guarantee.claimed == (3.0, 0.01)


@pytest.mark.parametrize(("epsilon", "model"), [(1.0, "joint"), (np.inf, "none")])
def test_the_printed_rule_has_no_guarantee(epsilon, model):
    policy = joint_glm(3, 100, epsilon=epsilon, delta=0.02, rule="paper")
    assert policy.guarantee.epsilon == np.inf
    assert policy.guarantee.model == model


def test_eigenvalues_have_a_floor_and_others_stay(rng):
    work = np.zeros((2, 3, 3))
    Q, _ = np.linalg.qr(rng.standard_normal((3, 3)))
    B = Q @ np.diag([5.0, -2.0, 1.0]) @ Q.T
    expected = Q @ np.diag([5.0, 0.5, 1.0]) @ Q.T
    for floor in (0.5, 0.4):  # at the second one all stay
        clip_eigenvalues(B, floor, *work)
        np.testing.assert_allclose(B, expected, atol=1e-12)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("gamma", 0.0),
        ("a_h", np.nan),
        ("share", 1.0),
        ("steps_o", 0),
        ("cutoff_tau", 0),
        ("calibration", "tight"),
    ],
)
def test_a_bad_value_of_a_preset_is_refused_by_name(name, value):
    with pytest.raises(ValueError, match=name):
        made(100, **{name: value})


@pytest.mark.parametrize(("threshold", "explored"), [(1.0, 1), (1.0 + 1e-9, 0)])
def test_a_width_that_meets_the_threshold_explores(threshold, explored, rng):
    """V = I at the start, so that the form of e_1 is 1."""
    p = made(9).params._replace(threshold=threshold)
    s = init(p)
    select(p, s, np.eye(2), rng)
    assert s.explored[0] == explored
