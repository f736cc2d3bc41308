"""FLIPHAT's promises, measured on the running kernels: what a record moves, where, and the noise.

The movement of a release is taken with the noise switched off, over the corners of the universe;
the picks that a record enters are counted by the random numbers that are drawn; epsilon is rebuilt
from both by a double sum over all outcomes, which shares no code with the accounting.
"""

from itertools import product

import numpy as np
import pytest
from scipy.stats import binom

from companion.fliphat.policy import fliphat
from companion.fliphat.regression import Regression, step, work_for
from companion.fliphat.residual import residual_fliphat

D, T = 2, 128  # seven releases, on 1, 2, 4, ..., 64 rows (or on 1, 3, 7, ..., 127)
KEYS = {"sparsity": D, "epsilon": 1.5, "delta": 0.02}
SMALL = {"skip": 0, "eta": 0.3, "x_clip": 0.7, "residual_clip": 1.3}


def released(policy, rows, rewards):
    """Estimates after each release, (7, d), without noise; all coordinates are kept."""
    silent = np.zeros(len(policy.params.xi_first))
    p = policy.params._replace(xi_first=silent, xi_rest=silent)
    state, rng, found = policy.init(p), np.random.default_rng(0), []
    for t, (x, r) in enumerate(zip(rows, rewards, strict=True), 1):
        state = policy.update(p, state, 0, x, r, rng)
        if (t + 1) & t == 0:
            found.append(state.theta_hat.copy())
    return np.array(found)


def movements(policy, user, size=1e3):
    """Largest move of a coordinate of every release when the record of round `user` is replaced by
    another far outside the universe, corner by corner."""
    rng, worst = np.random.default_rng(1), 0.0
    rows, rewards = rng.choice([0.1, -0.1], (127, D)), rng.choice([0.05, -0.05], 127)
    corners = [np.array(c) for c in product((size, -size), repeat=D + 1)]
    found = []
    for c in corners:
        a, b = rows.copy(), rewards.copy()
        a[user - 1], b[user - 1] = c[:D], c[D]
        found.append(released(policy, a, b))
    for x, y in product(found, repeat=2):
        worst = np.maximum(worst, np.abs(x - y).max(axis=1))
    return worst


def peels(policy):
    """Number of peels of a run of 127 rounds, from the random numbers that it consumes.

    Peeling all D of D coordinates draws D (D + 1)/2 + D Laplace variables, two exponentials each.
    """
    rng, probe = np.random.default_rng(5), np.random.default_rng(5)
    state = policy.init(policy.params)
    for _ in range(127):
        state = policy.update(policy.params, state, 0, np.zeros(D), 0.0, rng)
    for count in range(50):
        if probe.bit_generator.state == rng.bit_generator.state:
            return count
        probe.standard_exponential(D * (D + 1) + 2 * D)
    raise AssertionError("no whole number of peels")


def delta_of(epsilon, picks, ratio):
    """The definition: sum over the outcomes of 2 k randomised responses."""
    a = np.arange(picks + 1)
    p1, p2 = 1 / (1 + np.exp(-2 * ratio)), 1 / (1 + np.exp(-ratio))
    loss = (2 * a[:, None] - picks) * 2 * ratio + (2 * a - picks) * ratio
    chance = binom.pmf(a, picks, p1)[:, None] * binom.pmf(a, picks, p2)
    return (chance * np.maximum(0, 1 - np.exp(np.minimum(epsilon - loss, 0)))).sum()


@pytest.mark.parametrize("iterations", [1, 3])
@pytest.mark.parametrize("forget", [True, False])
def test_the_residual_variant_gives_what_it_promises(iterations, forget):
    policy = residual_fliphat(D, T, forget=forget, iterations=iterations, **KEYS, **SMALL)
    single = residual_fliphat(D, T, forget=forget, iterations=1, **KEYS, **SMALL)
    late, early = movements(single, user=100), movements(single, user=1)
    entered = np.flatnonzero(early)
    assert np.flatnonzero(late).tolist() == [6]
    assert entered.tolist() == ([0] if forget else [0, 1, 2, 3, 4, 5, 6])
    picks = D * peels(policy) // 7 * len(entered)
    assert picks == D * iterations * (1 if forget else 7)
    move = np.array([movements(single, user=2**i)[i] for i in range(7)])
    n = 2 ** np.arange(7) if forget else 2 ** np.arange(1, 8) - 1
    np.testing.assert_allclose(move, 4 * 0.3 * 0.7 * 1.3 / n)
    for xi in (policy.params.xi_first, policy.params.xi_rest):
        for ratio in move / xi:
            assert delta_of(1.5, picks, ratio) == pytest.approx(0.02, rel=1e-6)
    assert policy.guarantee[:3] == ("joint", 1.5, 0.02)


@pytest.mark.parametrize("rate", [0.136, 0.5])
def test_corrected_fliphat_gives_what_it_promises(rate):
    """One step in a release is measured; the sensitivity of later steps is the proposition's."""
    keys = {"b_max": 40.0, "x_max": 0.7, "noise": 0.5, "eta": 0.01}
    policy = fliphat(D, T, iteration_rate=rate, **keys, **KEYS)
    one = policy.params._replace(iterations=np.ones(7, np.int64))
    bounds = 0.7 * 40 + 0.5 * np.sqrt(2 * np.log1p(2.0 ** np.arange(7)))
    move = np.array([movements(policy._replace(params=one), 2**i)[i] for i in range(7)])
    np.testing.assert_allclose(move, 4 * 0.01 * 0.7 * bounds / 2.0 ** np.arange(7))
    later = 4 * 0.01 * 0.7 * (bounds + 0.7 * 40) / 2.0 ** np.arange(7)
    p = policy.params
    assert peels(policy) == p.iterations.sum()
    for i in np.flatnonzero(p.iterations):
        k = D * p.iterations[i]
        assert delta_of(1.5, k, move[i] / p.xi_first[i]) == pytest.approx(0.02, rel=1e-6)
        assert delta_of(1.5, k, later[i] / p.xi_rest[i]) == pytest.approx(0.02, rel=1e-6)
    assert policy.guarantee[:3] == ("joint", 1.5, 0.02)


def test_the_paper_calibration_says_what_it_gives():
    keys = {"b_max": 40.0, "x_max": 0.7, "noise": 0.5, "eta": 0.01, "iteration_rate": 0.136}
    policy = fliphat(D, T, calibration="paper", clip_contexts=True, **keys, **KEYS)
    p = policy.params
    assert set(p.iterations) == {1}
    move = np.array([movements(policy, 2**i)[i] for i in range(7)])
    worst = max(
        delta_of(policy.guarantee.epsilon, D, m / x) for m, x in zip(move, p.xi_first, strict=True)
    )
    assert worst == pytest.approx(0.02, rel=1e-6)
    assert policy.guarantee.claimed == (1.5, 0.02)
    free = fliphat(D, T, calibration="paper", **keys, **KEYS)
    assert movements(free, 100)[6] > 100 * move[6]  # nothing bounds the contexts
    assert free.guarantee.epsilon == np.inf


@pytest.mark.parametrize("m", [0, 1])
def test_each_iteration_takes_its_own_noise(m):
    q = Regression(4, 2, 1.0, np.inf, np.inf, np.inf, np.inf, 0.0, 1.0)
    w, theta, rng = work_for(4, 4), np.zeros(4), np.random.default_rng(3)
    step(q, m, 10, rng, theta, np.zeros(4, np.int64), 0, w)
    assert (theta != 0).all() == (m == 1)


def test_warm_starts_and_short_releases():
    """A warm start moves on from the last estimate; fewer than `skip` rows give no release."""
    policy = residual_fliphat(D, T, warm=True, iterations=1, **KEYS, **SMALL | {"skip": 16})
    rows, rewards = np.full((127, D), 0.1), np.full(127, 0.05)
    found = released(policy, rows, rewards)
    assert not found[:4].any()
    step_size = 2 * 0.3 * 0.1 * 0.05
    np.testing.assert_allclose(found[4], step_size)
    expected = found[4] + 2 * 0.3 * 0.1 * (0.05 - 0.2 * found[4][0])
    np.testing.assert_allclose(found[5], expected)
    assert policy.params.iterations.tolist() == [0, 0, 0, 0, 1, 1, 1]
