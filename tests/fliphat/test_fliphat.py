"""FLIPHAT and its residual variant: the algorithm, its calibration, what is released,
refusals.

False alarms of statistical tests have chance 1e-7; seeds are fixed.
"""

import time
from itertools import product

import mpmath
import numpy as np
import pytest
from plain import plain
from scipy import stats as sps
from streams import run

from companion.fliphat import fliphat as module
from companion.fliphat.fliphat import (
    fliphat,
    residual_fliphat,
    rows_in_release,
)

chapter = plain("fliphat")


def paper(epsilon=1.0, d=400, T=20_000, **changes):
    """The published configuration of Figure 1."""
    changes = {"calibration": "paper"} | changes
    return fliphat(
        d,
        T,
        sparsity=10,
        epsilon=epsilon,
        delta=0.01,
        b_max=3.4362195,
        **changes,
    )


def stream(n, d, K=2, seed=1):
    """X (n, K, d) normal, R (n, K) = X[..., 0] - X[..., 1] / 2 with normal noise of
    0.1."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, K, d))
    noise = 0.1 * rng.standard_normal((n, K))
    return X, X[:, :, 0] - 0.5 * X[:, :, 1] + noise


def fixed(policy, rows, rewards, seed=0, noise=True):
    """Estimates after each release, (n_releases, d), of users with these rows (n, d)."""
    p = policy.params
    silent = np.zeros(len(p.xi_first))
    if not noise:
        p = p._replace(xi_first=silent, xi_rest=silent)
    s = policy.init(p)
    rng = np.random.default_rng(seed)
    found = []
    for t, (x, r) in enumerate(zip(rows, rewards, strict=True), 1):
        policy.update(p, s, 0, x, r, rng)
        if (t + 1) & t == 0 and len(found) < len(silent):
            found.append(s.theta_hat.copy())
    return np.array(found)


# The algorithm


def plays_as_the_chapter(policy, **bounds):
    """The arms (300,) of the kernel, which are those of the chapter's plain version, and
    the best ones."""
    X, R = stream(300, 12, K=3)
    p = policy.params
    twin = chapter["plain_fliphat"](
        X,
        R,
        p.sparsity,
        p.iterations,
        p.xi_first,
        np.random.default_rng(0),
        eta=p.eta,
        C=p.l1_radius,
        **bounds,
    )
    arms, _ = run(policy, X, R, seed=0)
    assert (twin == arms).all()
    return arms, R.argmax(axis=1)


@pytest.mark.parametrize("changes", [{}, {"b_max": 1.0, "noise": 0.05, "x_max": 0.5}])
def test_the_chapters_plain_version_plays_the_same_arms(changes):
    """Without noise, several steps a release; the second case clips rewards and
    projects."""
    options = {
        "sparsity": 3,
        "b_max": 2.0,
        "eta": 0.2,
        "iteration_rate": 0.6,
    } | changes
    policy = fliphat(
        12,
        300,
        epsilon=np.inf,
        delta=0.01,
        calibration="paper",
        **options,
    )
    p = policy.params
    assert set(p.iterations) > {0, 2, 3} or changes
    arms, best = plays_as_the_chapter(policy, reward_clip=p.reward_clip)
    assert (arms == best)[150:].mean() > 0.8  # it has learned


# all bounds are active
CLIPS = {"x_clip": 0.8, "residual_clip": 0.7}
ACTIVE = {"sparsity": 3, "delta": 0.01, "l1_radius": 0.9, "eta": 0.3, **CLIPS}


@pytest.mark.parametrize("epsilon", [1.0, 50.0, np.inf])
def test_the_chapters_plain_version_has_the_same_noise_and_plays_the_same_arms(epsilon):
    """Its scales are computed from epsilon in the cell."""
    policy = residual_fliphat(12, 300, epsilon=epsilon, **ACTIVE)
    noise = chapter["scales"](2 ** np.arange(8), 3, 3, epsilon, 0.01, 0.3, **CLIPS)
    np.testing.assert_allclose(noise, policy.params.xi_first, rtol=1e-6)
    plays_as_the_chapter(policy, **CLIPS)


@pytest.mark.parametrize("warm_start", [False, True])
@pytest.mark.parametrize("forget", [False, True])
def test_releases_are_algorithm_1_with_fresh_noise_on_the_rows_of_the_episode(
    forget,
    warm_start,
):
    """d > sparsity + 4, so that every pick has many rivals."""
    policy = residual_fliphat(
        9,
        64,
        epsilon=200.0,
        min_rows=4,
        warm_start=warm_start,
        forget=forget,
        **ACTIVE,
    )
    p = policy.params
    rng = np.random.default_rng(4)
    X, R = stream(63, 9)
    found = fixed(policy, X[:, 0], R[:, 0], seed=4)
    theta = np.zeros(9)
    projected = 0
    for episode in range(6):
        rows = slice(2**episode - 1 if forget else 0, 2 ** (episode + 1) - 1)
        Z = X[rows, 0]
        y = R[rows, 0]
        theta = theta if warm_start else np.zeros(9)
        for m in range(p.iterations[episode]):
            step = np.clip(Z, -0.8, 0.8).T @ np.clip(y - Z @ theta, -0.7, 0.7)
            xi = p.xi_rest[episode] if m else p.xi_first[episode]
            theta = chapter["peel_top"](theta + 0.3 * 2 / len(y) * step, 3, xi, rng)
            projected += np.abs(theta).sum() > 0.9
            theta = chapter["project_l1"](theta, 0.9)
        np.testing.assert_allclose(found[episode], theta, atol=1e-12)
    assert projected > 0


def test_contexts_are_stored_clipped_and_counted():
    X, R = stream(60, 3)
    X[:, :, 2] = 0.0
    X[50:55, :, 2] = 50.0  # in the last episode whose rows are used, rounds 32 to 63
    keys = {"sparsity": 1, "epsilon": 1.0, "delta": 0.01}
    _, s = run(
        fliphat(3, 64, x_max=10.0, b_max=1.0, iteration_rate=1.0, **keys),
        X,
        R,
    )
    assert s.clipped[0] == 5
    assert np.abs(s.X).max() == 10.0
    _, s = run(residual_fliphat(3, 64, x_clip=10.0, **keys), X, R)
    assert s.clipped[0] == 5
    assert np.abs(s.X).max() == 50.0  # they are clipped in the gradient alone


# Calibration


def convolved_delta(epsilon, picks, ratio):
    """delta from the whole law of the loss, in 60 digits: quadratic in the picks."""
    with mpmath.workdps(60):
        e = mpmath.mpf(epsilon)
        r = mpmath.mpf(ratio)
        p = 1 / (1 + mpmath.exp(-2 * r))
        q = 1 / (1 + mpmath.exp(-r))
        total = mpmath.mpf(0)
        for a in range(picks + 1):
            first = mpmath.binomial(picks, a) * p**a * (1 - p) ** (picks - a)
            for b in range(picks + 1):
                loss = (2 * (2 * a - picks) + 2 * b - picks) * r
                second = mpmath.binomial(picks, b) * q**b * (1 - q) ** (picks - b)
                total += first * second * max(mpmath.mpf(0), -mpmath.expm1(e - loss))
        return total


def test_composition_is_exact_at_every_size_of_delta_and_rounded_to_the_private_side():
    rng = np.random.default_rng(2)
    for _ in range(30):
        k = int(rng.integers(1, 25))
        ratio = 10.0 ** rng.uniform(-9.0, 1.0)
        epsilon = float(3 * k * ratio * rng.uniform(0.0, 0.999))
        exact = convolved_delta(epsilon, k, ratio)
        found = module.composition_delta(epsilon, k, ratio)
        assert abs(found / exact - 1) < 1e-11 + 1e-14 * k
    for _ in range(30):
        k = int(rng.integers(1, 25))
        epsilon = 10.0 ** rng.uniform(-9.0, 1.0)
        delta = 10.0 ** rng.uniform(-100.0, -0.1)
        multiplier = module.noise_multiplier(k, epsilon, delta)
        assert convolved_delta(epsilon, k, 1.0 / multiplier) <= delta
        assert convolved_delta(epsilon, k, (1 + 1e-9) / multiplier) > delta * (1 - 1e-9)
        proved = module.composition_epsilon(delta, k, 1.0 / multiplier)
        assert proved == pytest.approx(epsilon, rel=1e-12)


def test_factors_of_huge_budgets_and_of_none():
    """Huge budgets: the losses of 3 k picks add up."""
    huge = module.noise_multiplier(46, 5980206.140672289, 2.5e-12)
    assert huge == pytest.approx(138 / 5980206.14, rel=1e-3)
    assert module.noise_multiplier(3, np.inf, 0.01) == 0.0
    assert (
        module.composition_epsilon(0.01, 7, 0.0)
        == module.composition_delta(1.0, 0, 0.3)
        == 0.0
    )
    assert module.composition_epsilon(0.01, 7, np.inf) == np.inf


def test_noise_scales_by_hand():
    """Four rows, eta = 1/2, x_max = 3, b_max = 2, R = 10: a row moves the first gradient
    step by 4 (1/2) 3 (10)/4 = 15, later ones by 4 (1/2) 3 (16)/4 = 24; printed:
    (1/2)(16)/4 = 2."""
    row = {
        "eta": 0.5,
        "x_max": 3.0,
        "b_max": 2.0,
        "R": np.array([10.0]),
    }
    budget = {"sparsity": 2, "epsilon": 1.5}
    n = np.array([4])
    three = np.array([3])
    first, later = module.corrected_scales(
        n, delta=0.02, iterations=three, **budget, **row
    )
    factor = module.noise_multiplier(6, 1.5, 0.02)
    assert (first[0], later[0]) == pytest.approx((15 * factor, 24 * factor))
    # log(M/delta) = 6, so the printed factor is 2 sqrt(3 2 6) M/1.5 = 24 and 8
    delta = 3 * np.exp(-6.0)
    xi, true = module.printed_scales(n, delta=delta, iterations=three, **budget, **row)
    assert xi[0] == pytest.approx(48.0)
    assert true == pytest.approx(module.composition_epsilon(delta, 6, 24 / 48))
    delta = np.exp(-6.0)
    one = np.array([1])
    xi, true = module.printed_scales(n, delta=delta, iterations=one, **budget, **row)
    assert xi[0] == pytest.approx(16.0)
    assert true == pytest.approx(module.composition_epsilon(delta, 2, 15 / 16))


def test_published_constants_and_defaults():
    """x_max = sqrt(2 log d), R = x_max b_max + sqrt(2 log(1 + n)), M = floor(0.16 log(1 +
    n b^2)); at b = 3 and n = 128 the last is floor(0.16 log 1153) = floor(1.128), at n =
    64 floor(1.017)."""
    policy = paper()
    p = policy.params
    assert policy.guarantee.epsilon == np.inf  # nothing bounds the contexts
    assert policy.guarantee.claimed == (1.0, 0.01)
    # no step up to n = 32, then exactly one
    assert p.iterations.tolist() == [0] * 6 + [1] * 8
    assert p.reward_clip[[6, 13]] == pytest.approx([14.784368, 16.140185], abs=1e-5)
    assert p.xi_first[13] == pytest.approx(8.045001e-6, rel=1e-6)
    assert paper(iteration_rate=1.6).params.iterations.max() == 18
    p = fliphat(1, 256, sparsity=1, epsilon=1.0, delta=0.01, b_max=3.0).params
    assert (p.row_clip, p.eta, p.l1_radius) == (
        pytest.approx(1.177410, rel=1e-6),
        1e-4,
        3.0,
    )
    assert p.iterations.tolist() == [0, 0, 0, 0, 0, 0, 1, 1]
    p = residual_fliphat(5, 128, sparsity=2, epsilon=1.5, delta=0.02).params
    assert p.iterations.tolist() == [0] * 5 + [3, 3]


# What a record moves, measured on the running kernels without noise, against the noise

# seven releases, on 1, 2, 4, ..., 64 rows (or on 1, 3, 7, ..., 127)
D = 2
T = 128
KEYS = {"sparsity": D, "epsilon": 1.5, "delta": 0.02}
SMALL = {"min_rows": 0, "eta": 0.3, "x_clip": 0.7, "residual_clip": 1.3}


def movements(policy, user, size=1e3):
    """Largest move of a coordinate of every release when the record of round `user` is
    replaced by another far outside the universe, corner by corner."""
    rng = np.random.default_rng(1)
    found = []
    rows = rng.choice([0.1, -0.1], (127, D))
    rewards = rng.choice([0.05, -0.05], 127)
    for c in product((size, -size), repeat=D + 1):
        a = rows.copy()
        b = rewards.copy()
        a[user - 1], b[user - 1] = c[:D], c[D]
        found.append(fixed(policy, a, b, noise=False))
    return np.max(
        [np.abs(x - y).max(axis=1) for x, y in product(found, repeat=2)],
        axis=0,
    )


@pytest.mark.parametrize("iterations", [1, 3])
@pytest.mark.parametrize("forget", [True, False])
def test_the_residual_variant_gives_what_it_promises(iterations, forget):
    policy = residual_fliphat(D, T, forget=forget, iterations=iterations, **KEYS, **SMALL)
    single = residual_fliphat(D, T, forget=forget, iterations=1, **KEYS, **SMALL)
    assert np.flatnonzero(movements(single, user=100)).tolist() == [6]
    entered = np.flatnonzero(movements(single, user=1))
    assert entered.tolist() == ([0] if forget else [0, 1, 2, 3, 4, 5, 6])
    assert policy.params.iterations.tolist() == [iterations] * 7
    move = np.array([movements(single, user=2**i)[i] for i in range(7)])
    n = 2 ** np.arange(7) if forget else 2 ** np.arange(1, 8) - 1
    np.testing.assert_allclose(move, 4 * 0.3 * 0.7 * 1.3 / n)
    for xi in (policy.params.xi_first, policy.params.xi_rest):
        for ratio in move / xi:
            delta = module.composition_delta(1.5, D * iterations * len(entered), ratio)
            assert delta == pytest.approx(0.02, rel=1e-6)
    assert policy.guarantee[:3] == ("joint", 1.5, 0.02)


def test_fliphat_gives_what_it_promises_and_says_what_the_printed_noise_gives():
    keys = {
        "b_max": 40.0,
        "x_max": 0.7,
        "noise": 0.5,
        "eta": 0.01,
    } | KEYS
    keys["iteration_rate"] = 0.136
    policy = fliphat(D, T, **keys)
    printed = fliphat(D, T, calibration="paper", clip_contexts=True, **keys)
    assert set(policy.params.iterations) == {1}
    bounds = 0.7 * 40 + 0.5 * np.sqrt(2 * np.log1p(2.0 ** np.arange(7)))
    for q, worst in ((policy, min), (printed, max)):
        move = np.array([movements(q, 2**i)[i] for i in range(7)])
        np.testing.assert_allclose(move, 4 * 0.01 * 0.7 * bounds / 2.0 ** np.arange(7))
        epsilon = q.guarantee.epsilon
        deltas = [
            module.composition_delta(epsilon, D, r) for r in move / q.params.xi_first
        ]
        assert worst(deltas) == pytest.approx(0.02, rel=1e-6)
    free = fliphat(D, T, calibration="paper", **keys)
    assert movements(free, 100)[6] > 100 * move[6]  # nothing bounds the contexts
    assert rows_in_release(20).tolist() == [1, 2, 4, 8]


# Refusals


def test_a_policy_that_never_takes_a_step_says_so():
    keys = {"sparsity": 2, "epsilon": 1.0, "delta": 0.01}
    with pytest.warns(
        UserWarning,
        match="FLIPHAT cannot learn as configured: none of its 5",
    ):
        fliphat(5, 63, b_max=1.0, **keys)  # 0.16 log(1 + 16) is below 1
    with pytest.warns(UserWarning, match="Residual FLIPHAT cannot learn"):
        residual_fliphat(5, 63, **keys)  # fewer than min_rows = 32 rows


def test_a_hundred_thousand_picks_take_linear_time():
    """A convolution took minutes.  The loss of so many picks is nearly normal."""
    k = 100_000
    ratio = 4e-4
    began = time.process_time()
    found = module.composition_delta(1.0, k, ratio)
    assert time.process_time() - began < 20.0
    p = 1 / (1 + np.exp(-2 * ratio))
    q = 1 / (1 + np.exp(-ratio))
    mean = k * ratio * (2 * (2 * p - 1) + (2 * q - 1))
    deviation = 2 * ratio * np.sqrt(k * (4 * p * (1 - p) + q * (1 - q)))
    normal = sps.norm(mean, deviation).expect(lambda z: -np.expm1(1.0 - z), lb=1.0)
    assert found == pytest.approx(normal, rel=1e-2)
