"""The paper's settings, and the errors of N-IHT, against the kernels called one by
one."""

import numpy as np
import pytest
from plain import plain
from streams import rounds

from companion.fliphat import experiments
from companion.fliphat.environments import (
    autoregressive,
    gaussian_statistics,
    pad,
)
from companion.fliphat.exact_simulation import simulate_one_step
from companion.fliphat.experiments import (
    as_published,
    final_regrets,
    niht_errors,
)
from companion.fliphat.fliphat import noise_multiplier
from companion.kernels.mechanisms import peel

project_l1 = plain("fliphat")["project_l1"]
TRUTH = np.array([1.0, -0.5, 0.0, 0.0])


def test_errors_are_those_of_algorithm_1_with_exactly_composed_noise():
    found = niht_errors(
        TRUTH, [50, 5000], [2.0, np.inf], [7], sparsity=2, delta=0.02, iterations=3
    )
    rng = np.random.default_rng(np.random.SeedSequence(7))
    for i, n in enumerate((50, 5000)):
        G, c = gaussian_statistics(rng, n, TRUTH, 1.0)
        for j, e in enumerate((2.0, np.inf)):
            xi = 4 * 0.4 * 3 * (6 + 3 * 1.5) / n * noise_multiplier(6, e, 0.02)
            theta = np.zeros(4)
            for _ in range(3):
                v = theta + 0.8 / n * (c - G @ theta)
                picks = np.zeros(2, np.int64)
                theta = np.empty(4)
                peel(rng, v, 2, xi, theta, picks, np.zeros(4, np.bool_))
                theta = project_l1(theta, 1.5)
            assert found[0, j, i] == pytest.approx(((theta - TRUTH) ** 2).sum())


def test_every_setting_and_budget_has_the_regret_of_its_own_policy():
    signal = [0.75, -0.5]
    options = {
        "signal": signal,
        "sparsity": 3,
        "delta": 0.01,
        "iteration_rate": 0.3,
    }
    large = autoregressive(3, pad(signal, 20))
    settings = {
        "d = 10": (autoregressive(3, pad(signal, 10)), options),
        "d = 20": (large, options),
    }
    policy = as_published(50.0, 20, 100, **options).renamed("ε = 50, d = 20")
    alone = simulate_one_step(large, [policy], 100, [1, 2, 3]).final[:, 0]
    found = final_regrets(settings, [1.0, 50.0], 100, [1, 2, 3])
    np.testing.assert_array_equal(found[50.0][:, 1], alone)
    louder = final_regrets(settings, [1.0, 25.0], 100, [1, 2, 3], noise=0.5)
    np.testing.assert_array_equal(louder[25.0][:, 1], alone)


def test_the_exact_loss_of_signs_by_hand():
    """One sign of u = 2 log(3/2), log 2 in all: right with 1 - (2/3)^2/2 = 7/9, so that
    delta is 7/9 - (2/9) exp(epsilon)."""
    u = 2 * np.log(1.5)
    delta = 7 / 9 - 2 / 9 * 2.0
    assert experiments.epsilon_of_signs(u, 1, delta) == pytest.approx(np.log(2.0))
    assert experiments.epsilon_of_signs(u, 1, 0.9) == 0.0


def test_moments_of_the_largest_of_a_few_normals():
    moment = experiments.maximum_moment
    assert moment(3) == pytest.approx(1.5 / np.sqrt(np.pi))
    assert moment(3, 2) == pytest.approx(1 + np.sqrt(3) / (2 * np.pi))
    # random play loses |beta| = 5 times the first
    env = autoregressive(3, [3.0, 4.0], phi=0.0)
    assert experiments.random_regret(env, 7) == pytest.approx(7 * 7.5 / np.sqrt(np.pi))


def test_one_step_under_greedy_play():
    """E[x x'beta] of the greedy arm, by simulation, and the regret of a round; 6 standard
    errors in each of 7 numbers."""
    env = autoregressive(3, pad([1.0, 0.8, 0.6], 6), phi=0.6)
    theta, lost = experiments.one_step_fixed_point(env, 4)
    assert np.count_nonzero(theta) == 4
    X, _, _ = rounds(env, 200_000, 2)
    best = (X @ theta).argmax(axis=1)
    x = X[np.arange(len(X)), best]
    mu = X @ env.beta
    rows = x * (x @ env.beta)[:, None]
    kept = theta != 0
    step = rows.mean(axis=0)
    error = rows.std(axis=0) / np.sqrt(len(rows))
    assert (np.abs(step - theta)[kept] < 6 * error[kept]).all()
    assert np.abs(step[~kept]).max() < np.abs(step[kept]).min()
    regret = mu.max(axis=1) - mu[np.arange(len(X)), best]
    assert abs(regret.mean() - lost) < 6 * regret.std() / np.sqrt(len(regret))


def test_variants_are_what_they_are_called():
    made = experiments.private_variants(
        d=20, T=2000, signal=[0.75, -0.5], sparsity=2, epsilon=1.0, delta=0.01
    )
    steps = {name: policy.params.iterations.max() for name, policy in made.items()}
    warm = {name for name, policy in made.items() if policy.params.warm_start}
    assert (
        steps["one step"],
        steps["warm start"],
        steps["three steps"],
    ) == (1, 1, 3)
    assert warm == {"warm start"}
    assert {policy.params.l1_radius for policy in made.values()} == {1.25}
    assert {policy.guarantee.epsilon for policy in made.values()} == {1.0}
    assert made["corrected"].params.row_clip < np.inf


@pytest.mark.parametrize(
    ("root", "epsilon", "log"),
    [
        (1.0, 1.25, 36.0),
        (16.0, 10.0, 16.0),
        (81.0, 9.0 * np.sqrt(2.0) + 5.25, 2.0),
    ],
)
def test_a_root_where_the_logarithm_is_not_a_square_by_hand(root, epsilon, log):
    """epsilon - sqrt(z log(1/delta)) - z/4 + 5 z^(1/4) = 0 at z = 1, 16, 81 = 3^4: there
    5/4 - 6 - 1/4 + 5, 10 - 16 - 4 + 10, and 9 sqrt(2) + 21/4 - 9 sqrt(2) - 81/4 + 15."""
    assert experiments.zcdp_root(epsilon, np.exp(-log)) == pytest.approx(root, rel=1e-9)


def test_many_steps_hide_the_missing_factor(monkeypatch):
    """One step by the parameters of the policy itself; the least number by a search of
    its own."""
    x_max = np.sqrt(2 * np.log(400))
    setting = {"sparsity": 10, "delta": 0.01, "x_max": x_max}
    one = as_published(1.0, 20, 167, signal=[2.0, -1.5], clip_contexts=True, **setting)
    bound = one.params.reward_clip[-1]
    # from zero the residual is the reward
    share = bound / (bound + 3.5 * x_max)
    assert one.params.iterations[-1] == 1
    found = experiments.printed_epsilon(1.0, 1, factor=4.0 * share, **setting)
    assert found == pytest.approx(one.guarantee.epsilon)
    assert experiments.enough_steps(1.0, **setting) == 35
    assert experiments.printed_epsilon(1.0, 34, **setting) > 1.0
    assert experiments.enough_steps(1.0, factor=2.0, **setting) == 11
    monkeypatch.setattr(experiments, "MOST_STEPS", 34)
    with pytest.raises(ValueError, match="needs more than 34 steps"):
        experiments.enough_steps(1.0, **setting)
