"""The paper's settings, and the errors of N-IHT, against the kernels called one by one."""

import numpy as np
import pytest
from plain import plain

from companion.fliphat import experiments as theory
from companion.fliphat.environments import autoregressive, gaussian_statistics, margin, pad
from companion.fliphat.exact_simulation import simulate_one_step
from companion.fliphat.experiments import (
    as_published,
    niht_errors,
    private_variants,
    regret_terms,
    scaling,
)
from companion.fliphat.fliphat import exact_factor, residual_fliphat
from companion.kernels.mechanisms import peel
from companion.simulate import simulate

project_l1 = plain("fliphat")["project_l1"]
TRUTH = np.array([1.0, -0.5, 0.0, 0.0])


def test_errors_are_those_of_algorithm_1_with_exactly_composed_noise():
    options = {"sparsity": 2, "delta": 0.02, "iterations": 3, "eta": 0.3}
    found = niht_errors(TRUTH, [50, 5000], [2.0, np.inf], [7], **options)
    assert found.shape == (1, 2, 2)
    rng = np.random.default_rng(np.random.SeedSequence(7))
    for i, n in enumerate((50, 5000)):
        G, c = gaussian_statistics(rng, n, TRUTH, 1.0)
        for j, e in enumerate((2.0, np.inf)):
            xi, theta = 4 * 0.3 * 3 * (6 + 3 * 1.5) / n * exact_factor(6, e, 0.02), np.zeros(4)
            for _ in range(3):
                v, picks = theta + 0.6 / n * (c - G @ theta), np.zeros(2, np.int64)
                theta = np.empty(4)
                peel(rng, v, 2, xi, theta, picks, np.zeros(4, np.bool_))
                theta = project_l1(theta, 1.5)
            assert found[0, j, i] == pytest.approx(((theta - TRUTH) ** 2).sum())


def test_settings_are_those_of_the_paper():
    policy = as_published(1.0, 400, 20_000, signal=[0.75, -0.5], sparsity=10, delta=0.01)
    p = policy.params
    assert (p.l1_radius, p.eta, p.row_clip, policy.name) == (1.25, 1e-4, np.inf, "ε = 1")
    assert policy.guarantee.claimed == (1.0, 0.01)
    made = private_variants(1.0, 30, 2000, signal=[0.75, -0.5], sparsity=4, delta=0.01)
    assert [(v.params.iterations.max(), v.params.warm) for v in made.values()] == [
        (1, False),
        (1, True),
        (3, False),
    ]
    for v in made.values():
        assert (v.params.l1_radius, v.params.gradient_clip, v.params.residual_clip) == (1.25, 1, 1)
        assert v.guarantee[:3] == ("joint", 1.0, 0.01)


def test_growth_is_measured_in_worlds_of_their_own():
    """Every (world, budget) has the regret of `simulate_one_step` under its own name."""
    options = {"signal": [0.75, -0.5], "sparsity": 3, "delta": 0.01, "iteration_rate": 0.3}
    worlds = {f"d = {n}": (autoregressive(3, pad([0.75, -0.5], n)), options) for n in (10, 20)}
    found = scaling(worlds, [1.0, 50.0], 100, [1, 2, 3])
    assert list(found) == [1.0, 50.0]
    policy = as_published(50.0, 20, 100, **options).renamed("ε = 50, d = 20")
    alone = simulate_one_step(worlds["d = 20"][0], [policy], 100, [1, 2, 3]).final[:, 0]
    np.testing.assert_array_equal(found[50.0][:, 1], alone)
    assert found[1.0].shape == (3, 2)
    assert len(np.unique(np.concatenate(list(found.values())))) == 12


def test_peeling_stays_below_its_bound_and_comes_close():
    rng = np.random.default_rng(1)
    found = [theory.peeling_error(rng, int(rng.integers(3, 12))) for _ in range(2000)]
    assert 0.8 < max(found) <= 1 + 1e-12


def test_terms_of_the_regret_are_those_of_the_run():
    """They add up to the regret of `simulate`, and the proof's inequalities hold in every mean;
    with a constant gap few rounds are close once the estimate is good."""
    world = margin(pad([0.7, -0.7], 10), gap=0.5, alpha=np.inf, noise=0.2)
    options = {"sparsity": 4, "epsilon": np.inf, "delta": 0.01, "iterations": 2, "warm": True}
    policy = residual_fliphat(10, 1000, **options)
    found = regret_terms(world, policy, 1000, [1, 2])
    assert found.shape == (2, 10, 4)
    lost, off, near, close = np.moveaxis(found, -1, 0)
    rounds = np.diff(np.minimum(2 ** np.arange(11), 1001))
    run = simulate(world, [policy], 1000, [1, 2]).final[:, 0]
    np.testing.assert_allclose(lost @ rounds, run)
    assert (lost <= near + 1e-12).all()
    assert (near <= off).all()
    assert close[:, 0].tolist() == [1.0, 1.0]
    assert (close[:, -1] < 0.5).all()


def test_moments_of_the_largest_of_a_few_normals():
    assert theory.best_moment(1) == pytest.approx(0.0, abs=1e-12)
    assert theory.best_moment(2) == pytest.approx(1 / np.sqrt(np.pi))
    assert theory.best_moment(3) == pytest.approx(1.5 / np.sqrt(np.pi))
    assert theory.best_moment(2, 2) == pytest.approx(1.0)
    assert theory.best_moment(3, 2) == pytest.approx(1 + np.sqrt(3) / (2 * np.pi))


def test_one_step_under_greedy_play():
    """E[x x'beta] of the greedy arm, by simulation, and the regret of a round; 6 standard errors
    in each of 7 numbers."""
    env = autoregressive(3, pad([1.0, 0.8, 0.6], 6), phi=0.6)
    theta, change, lost = theory.one_step_fixed_point(env, 4)
    assert change < 1e-12
    assert np.count_nonzero(theta) == 4
    X = np.concatenate([x for x, _, _ in env.blocks(200_000, np.random.default_rng(2))])
    best = (X @ theta).argmax(axis=1)
    x, mu = X[np.arange(len(X)), best], X @ env.beta
    rows = x * (x @ env.beta)[:, None]
    kept = theta != 0
    step, error = rows.mean(axis=0), rows.std(axis=0) / np.sqrt(len(rows))
    assert (np.abs(step - theta)[kept] < 6 * error[kept]).all()
    assert np.abs(step[~kept]).max() < np.abs(step[kept]).min()
    regret = mu.max(axis=1) - mu[np.arange(len(X)), best]
    assert abs(regret.mean() - lost) < 6 * regret.std() / np.sqrt(len(regret))


def test_a_root_by_hand():
    """z = 1 solves 5/4 - sqrt(36 z) - z/4 + 5 z^(1/4) = 0; z = 16 solves it with 10 and 2."""
    assert theory.zcdp_root(1.25, np.exp(-36.0)) == pytest.approx(1.0, rel=1e-9)
    assert theory.zcdp_root(10.0, np.exp(-16.0)) == pytest.approx(16.0, rel=1e-9)


def test_random_play_by_hand():
    """Three arms of standard deviation |beta| = 5 without correlation lose 5 (3/2)/sqrt(pi)."""
    env = autoregressive(3, [3.0, 4.0], phi=0.0)
    assert theory.random_regret(env, 7) == pytest.approx(7 * 7.5 / np.sqrt(np.pi))


def test_one_step_by_hand():
    """Two uncorrelated arms have q = 1: one step from zero estimates beta, and loses nothing; of
    two coordinates it keeps the larger, and loses m (|beta| - |beta_1|)."""
    env = autoregressive(2, [3.0, 4.0], phi=0.0)
    theta, change, lost = theory.one_step_fixed_point(env, 2)
    assert (theta.tolist(), change) == ([3.0, 4.0], 0.0)
    assert lost == pytest.approx(0.0, abs=1e-12)
    theta, _, lost = theory.one_step_fixed_point(env, 1)
    assert theta.tolist() == [0.0, 4.0]
    assert lost == pytest.approx((5 - 4) / np.sqrt(np.pi))
    three = autoregressive(3, [3.0, 4.0], phi=0.0)  # q = 1 + sqrt(3)/(2 pi): theta_2 = q beta_2
    theta, _, _ = theory.one_step_fixed_point(three, 1)
    assert theta[1] == pytest.approx(4 * (1 + np.sqrt(3) / (2 * np.pi)))


def test_bounds_of_the_regret_by_hand():
    """sparsity^2 log d = 16; delta = 1/e^4 and epsilon = 8: 4^3 4 / 64 = 4; T = 81: n to 5."""
    inputs = {"T": 81, "sparsity": 4, "log_d": 1.0, "epsilon": 8.0, "delta": np.exp(-4.0)}
    free, private = theory.regret_bound(0.0, **inputs)
    assert (free, private) == (pytest.approx(8 * 4), pytest.approx((1 + 4 + 9 + 16 + 25) * 2))
    free, private = theory.regret_bound(1.0, **inputs)
    psi = 1 / 2 + 16 / 4 + 81 / 8 + 256 / 16 + 625 / 32
    assert (free, private) == (pytest.approx(np.log(9.0) * 16), pytest.approx(psi * 4))
    free, _ = theory.regret_bound(3.0, **inputs)  # (T^-1 - 1)/(-2) = 40/81
    assert free == pytest.approx(40 / 81 * 16**2)


def test_the_lower_bound_by_hand():
    """s = 4, T = 9, log(d/s) = 4, log(1/delta) = 9: sqrt(4 16 9)/2 = 12 and sqrt(4 9 4) = 12."""
    assert theory.lower_bound(9, 4, 4.0, 2.0, np.exp(-9.0)) == pytest.approx((12.0, 12.0))
    assert theory.lower_bound(9, 4, 4.0, 2.0, 0.0) == pytest.approx((4 * 8 / 2, 12.0))


def test_the_budget_of_twice_the_regret_without_noise_by_hand():
    """Half-way, in logarithms, from 2 to 8; an end of the range where it is not in between."""
    half = np.sqrt(2.0)
    regret = np.array([[64.0, 8.0 * half, 8.0 / half, 4.0]])
    assert np.exp(theory.doubling_budget([0.5, 2.0, 8.0], regret)) == pytest.approx(4.0)
    assert np.exp(theory.doubling_budget([0.5, 2.0], regret[:, [0, 1, 3]])) == pytest.approx(2.0)
    assert np.exp(theory.doubling_budget([2.0, 8.0], regret[:, [2, 2, 3]])) == pytest.approx(2.0)
