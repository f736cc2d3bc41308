"""What the private LinUCBs cost, at the scale of the experiments; 5 standard errors or more."""

import numpy as np
import pytest

from companion.baselines.private_linucb import jdp_linucb, ldp_linucb
from companion.environments import sphere
from companion.online_linucb.combiner import combiner
from companion.online_linucb.corrected_ridge import corrected_ridge
from companion.online_linucb.online_linucb import (
    online_linucb,
    pair_noise,
    practical_width,
)
from companion.simulate import repetitions, simulate

T = 20_000
pytestmark = pytest.mark.slow


def significantly_less(a, b):
    """Paired: the mean of b - a is more than 5 standard errors above 0 (one-sided, below 3e-7)."""
    gap = b - a
    return gap.mean() > 5.0 * gap.std(ddof=1) / np.sqrt(len(gap))


def ogd(d, epsilon, factor, clip_factor=10.0, **options):
    sigma = pair_noise(epsilon, 0.1, options.get("calibration", "corrected"), "ball")[0]
    clip = clip_factor * (2 * sigma**2 * np.sqrt(2 * d) + 2)
    width = practical_width(sigma, T, factor)
    name = f"OGD, b = {factor:g}"
    options = {"learner": "ogd", "width": width, "clip": clip, **options}
    return online_linucb(d, T, epsilon=epsilon, **options).renamed(name)


def test_noisy_statistics_beat_noisy_pairs_at_the_same_privacy():
    """Well-conditioned contexts: pairs cost sigma^2, statistics sigma, a trusted server less."""
    policies = [
        ogd(3, 1.0, 1.0, clip_factor=3.0),
        corrected_ridge(3, T, epsilon=1.0, delta=0.1, noise=1.0),
        ldp_linucb(3, T, epsilon=1.0, delta=0.1, noise=1.0, width=0.1),
        jdp_linucb(3, T, epsilon=1.0, delta=0.1, noise=1.0, width=0.1),
    ]
    env = sphere(3, 3, offset=False, rewards="signs")
    final = simulate(env, policies, T, repetitions(0, 30)).final.T
    online, ridge, local, joint = final
    np.testing.assert_allclose([p.guarantee.epsilon for p in policies], 1.0, rtol=1e-9)
    assert significantly_less(local, ridge)
    assert significantly_less(local, online)
    assert significantly_less(joint, local)
    assert 0.3 < ridge.mean() / online.mean() < 3.0  # the closed form does not change the order


def test_combiner_stays_far_from_the_worst_of_its_learners():
    """Figure 1's set at epsilon = 10 with the paper's noise; widths too small to too large."""
    options = {"calibration": "paper", "universe": "offset_sphere"}
    guesses = [ogd(5, 10.0, b, **options) for b in (1.0, 3.0, 10.0, 30.0)]
    env = sphere(100, 5, fresh=False)
    seeds = repetitions(1, 50)
    final = simulate(env, [*guesses, combiner(guesses, T)], T, seeds).final
    assert significantly_less(final[:, -1], final[:, 0])  # the smallest guess locks in
    assert final[:, -1].mean() < 3.0 * final[:, :-1].mean(axis=0).min()


def test_maler_and_gradient_descent_pay_the_same_where_noise_is_small():
    """Paired difference within 5 standard errors plus a quarter of the mean."""
    sigma = pair_noise(10.0, 0.1, "paper", "ball")[0]
    width = practical_width(sigma, T)
    options = {"calibration": "paper", "universe": "offset_sphere", "width": width}
    policies = [
        online_linucb(5, T, epsilon=10.0, learner=kind, **options) for kind in ("maler", "ogd")
    ]
    final = simulate(sphere(100, 5, fresh=False), policies, T, repetitions(2, 20)).final
    gap = final[:, 0] - final[:, 1]
    assert abs(gap.mean()) < 5 * gap.std() / np.sqrt(len(gap)) + 0.25 * final.mean()
    assert final.mean() < 0.2 * 9375  # uniformly random play costs 9375


def test_noisy_pairs_learn_nothing_in_time_at_epsilon_1():
    """The paper's noise: regret is linear, a local baseline at the same epsilon is not."""
    pairs = online_linucb(
        5, T, epsilon=1.0, delta=0.1, calibration="paper", universe="offset_sphere", learner="ogd"
    )
    local = ldp_linucb(5, T, epsilon=1.0, delta=0.1, universe="offset_sphere")
    result = simulate(sphere(100, 5, fresh=False), [pairs, local], T, repetitions(3, 50))
    assert significantly_less(result.final[:, 1], result.final[:, 0])
    half = np.searchsorted(result.rounds, T // 2)
    late = result.final - result.regret[:, :, half]
    assert late[:, 0].mean() > 0.35 * result.final[:, 0].mean()
    assert result.final[:, 0].mean() > 0.5 * 9375
