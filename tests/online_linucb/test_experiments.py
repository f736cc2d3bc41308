"""What the chapter measures: every estimator on cases whose answer is known."""

from types import SimpleNamespace

import numpy as np
import pytest
from maler_twin import Twin
from streams import stream

from companion.environments import replay, sphere
from companion.online_linucb import experiments, maler, online_linucb
from companion.online_linucb.policy import attack
from companion.simulate import repetitions, trace


def test_minimisers_shrink_without_the_correction_and_do_not_with_it():
    """Six standard errors of a mean over 40 samples: 2e-9 each."""
    theta, rng, sigma = np.array([0.6, 0.0, 0.8]), np.random.default_rng(0), 0.7
    drawn = np.array([experiments.minimisers(theta, sigma, 2000, rng) for _ in range(40)])
    error = 6 * drawn.std(axis=0, ddof=1) / np.sqrt(40)
    expected = np.array([(1 / 3) / (1 / 3 + sigma**2), 1.0])
    # The corrected minimiser has a bias of the order of its variance, here 40 times the error's.
    bias = np.array([0.0, 3 * drawn[:, 1].var()])
    assert (np.abs(drawn.mean(axis=0) - expected) < error + bias).all()
    assert error.max() < 0.1


def test_weights_of_the_families_sum_to_one_and_begin_with_a_third():
    X, R, mu = stream()
    policy = online_linucb(
        3, 400, epsilon=1.0, delta=0.1, clip=1e9
    )  # so large that no expert learns anything
    W = experiments.family_weights(replay(X, R, mu), policy, 400, 3)
    np.testing.assert_array_equal(W[:, 0], np.arange(4, 401, 4))
    # Only Algorithm 5's constant loss (2 eta_c G D)^2 = 1/(4 T) moves the convex expert.
    left = np.exp(-W[:, 0] / 1600.0)
    expected = np.stack([left, np.ones(100), np.ones(100)], axis=1) / (left + 2.0)[:, None]
    np.testing.assert_allclose(W[:, 1:], expected, atol=1e-6)
    W = experiments.family_weights(
        replay(X, R, mu), online_linucb(3, 400, epsilon=30.0, delta=0.1, clip=3.0), 400, 3
    )
    np.testing.assert_allclose(W[:, 1:].sum(axis=1), 1.0, atol=1e-12)
    assert np.abs(W[-1, 1:] - 1 / 3).max() > 0.02


def test_needed_width_is_the_largest_distance_in_the_norm_of_V():
    """Without noise and with a fixed order of arms the matrices are known."""
    arms, theta = np.eye(3), np.array([0.9, -0.3, 0.5])
    X = np.repeat(arms[None], 60, axis=0)
    mu = X @ theta
    policy = online_linucb(3, 60, epsilon=np.inf, delta=0.1, learner="ogd", clip=4.0, width=3.0)
    need = experiments.needed_width(replay(X, mu, mu), policy, 60, 1)
    V, u, prediction, worst, g = np.eye(3), np.zeros(3), np.zeros(3), np.zeros(2), np.empty(3)
    for t in range(1, 61):
        centre = np.linalg.solve(V, u)
        width = np.sqrt(np.diag(np.linalg.inv(V)))
        k = int(np.argmax(centre + 3.0 * width))
        x, p = arms[k], prediction[k]
        V, u = V + np.outer(x, x), u + p * x
        g = 2 * x * (p - theta[k])
        prediction = prediction - 2 / (4.0 * np.sqrt(t)) * g
        prediction /= max(1.0, np.linalg.norm(prediction))
        gaps = [np.linalg.solve(V, u) - v for v in (theta, -theta)]
        worst = np.maximum(worst, [gap @ V @ gap for gap in gaps])
    assert need == pytest.approx(np.sqrt(worst), rel=1e-9)


@pytest.mark.parametrize("uphill", [False, True])
def test_learner_regret_by_hand(uphill):
    """Round by round, with the slow learner and the same draws."""
    T, sigma, G, theta = 50, 0.8, 6.0, np.ones(3) / np.sqrt(3)
    learner = maler.learner("maler", 3, T, gradient=G)
    found = experiments.learner_regret(learner, sigma, T, np.random.default_rng(4), uphill)
    rng, slow, total = np.random.default_rng(4), Twin(3, T, 1.0, G), np.zeros(3)
    x = rng.standard_normal((T, 3))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    y = np.where(rng.random(T) < (1 + x @ theta) / 2, 1.0, -1.0)
    y += sigma * rng.standard_normal(T)
    x = x + sigma * rng.standard_normal((T, 3))
    for t in range(T):
        now = slow.theta.copy()
        g = 2 * x[t] * (x[t] @ now - y[t]) - 2 * sigma**2 * now
        g *= min(1.0, G / np.linalg.norm(g))
        loss = [(x[t] @ v - y[t]) ** 2 - sigma**2 * v @ v for v in (now, theta)]
        total += [loss[0] - loss[1], g @ (now - theta), ((now - theta) ** 2).sum()]
        np.testing.assert_allclose(found[t], total, atol=1e-9)
        slow.update(-g if uphill else g)


def test_terms_of_the_proof_add_up_what_happened():
    """Without noise every quantity follows from the arms; with noise, so does the message."""
    X, _, mu = stream(n=80)
    mu = X @ np.array([0.6, 0.3, -0.1])
    for epsilon in (np.inf, 5.0):
        policy = online_linucb(
            3, 80, epsilon=epsilon, delta=0.1, learner="ogd", clip=4.0, width=1.0
        )
        env, seed = replay(X, mu, mu), repetitions(5, 1)[0]
        seen = [
            (s.x.copy(), s.learner.theta.copy(), int(arms[0]), means.max() - means[0, arms[0]])
            for _, s, _, means, arms in trace(env, policy, 80, seed, 1)
        ]
        V, prediction, total = np.eye(3), np.zeros(3), np.zeros(5)
        for t, (message, after, arm, lost) in enumerate(seen):
            u, gap = X[t, arm], prediction - np.array([0.6, 0.3, -0.1])
            square = u @ np.linalg.solve(V, u)
            total += lost, (u @ gap) ** 2, ((message - u) @ gap) ** 2, gap @ gap, min(1.0, square)
            V, prediction = V + np.outer(message, message), after
        found = experiments.proof_terms(env, policy, 80, seed)
        np.testing.assert_allclose(found, total, rtol=1e-8, atol=1e-12)
        assert (found[2] > 0.01) == (epsilon < np.inf)


def test_oracle_loses_nothing_without_noise_and_plays_at_random_with_too_much():
    """Means of 300 worlds; 5.5 standard errors are 4e-8."""
    env, rng = sphere(5, 3, fresh=False), np.random.default_rng(2)
    loss = np.array([experiments.oracle_loss(env, 4000, [0.0, 1e4], rng) for _ in range(300)])
    blind = []
    for s in repetitions(3, 2000):
        mu = next(env.blocks(1, np.random.default_rng(s)))[2][0]
        blind.append(4000 * (mu.max() - mu.mean()))
    assert loss[:, 0].mean() < 0.02 * np.mean(blind)
    error = np.hypot(loss[:, 1].std() / np.sqrt(300), np.std(blind) / np.sqrt(2000))
    assert abs(loss[:, 1].mean() - np.mean(blind)) < 5.5 * error


def test_oracle_by_hand():
    """The same draws, one sigma after the other, one round after the other."""
    env, T, sigmas = sphere(6, 3, fresh=False), 300, (0.3, 1.0, 4.0)
    lost = np.zeros(3)
    for seed in range(20):
        found = experiments.oracle_loss(env, T, sigmas, np.random.default_rng(seed))
        rng = np.random.default_rng(seed)
        X, _, mu = next(env.blocks(1, rng))
        arms, means = X[0], mu[0]
        picks, coins = rng.integers(0, 6, T), rng.random(T)
        noise_x, noise_y = rng.standard_normal((T, 3)), rng.standard_normal(T)
        for i, sigma in enumerate(sigmas):
            total = np.zeros(3)
            for t, k in enumerate(picks):
                reward = float(coins[t] < means[k]) + sigma * noise_y[t]
                total += (arms[k] + sigma * noise_x[t]) * reward
            estimate = np.linalg.inv(
                np.cov(arms.T, bias=True) + np.outer(arms.mean(0), arms.mean(0))
            )
            favourite = np.argmax(arms @ estimate @ (total / T))
            assert found[i] == pytest.approx(T * (means.max() - means[favourite]), abs=1e-9)
        lost += found
    assert lost[0] < lost[2]


class Recorder:
    """A policy that plays arm `t mod K` and keeps what it was shown."""

    def __init__(self):
        self.params, self.shown = SimpleNamespace(d=3), []

    def init(self, params):
        self.shown.append(([], []))

    def play(self, params, state, X, R, rng, arms):
        X_seen, R_seen = self.shown[-1]
        X_seen.append(X.copy())
        R_seen.append(R.copy())
        arms[:] = np.arange(len(X)) % X.shape[1]


def test_least_eigenvalues_of_groups_of_runs():
    policy = Recorder()
    found = experiments.least_eigenvalues(policy, 4, (1, 2, 5), 2500, 8)
    assert {M: e.shape for M, e in found.items()} == {1: (5, 2500), 2: (2, 2500), 5: (1, 2500)}
    worlds = [(np.concatenate(X), np.concatenate(R)) for X, R in policy.shown]
    arms = np.array([X[0] for X, _ in worlds])
    assert all((X[0] == X).all() for X, _ in worlds)  # fixed within a run, new in every run
    assert np.abs(arms[0] - arms[1]).max() > 0.1
    np.testing.assert_allclose(np.linalg.norm(arms, axis=2), 1.0)
    np.testing.assert_allclose(arms[:, :, 2], np.sqrt(0.5))
    rounds = np.arange(2500)
    x = arms[:, rounds % 4]  # (run, round, 3)
    for M, e in found.items():
        for i, values in enumerate(e):
            part = x[i * M : (i + 1) * M]
            moment = np.einsum("mti,mtj->tij", part, part) / M
            np.testing.assert_allclose(values, np.linalg.eigvalsh(moment)[:, 0], atol=1e-12)
    assert found[5].min() > 0.001 > np.abs(found[2]).max()  # fewer than d runs: rank too low


def test_least_eigenvalues_share_theta_and_nothing_else():
    """Means of 4000 Bernoulli rewards per arm: 5.5 standard errors, 1e-7 for all."""
    policy = Recorder()
    experiments.least_eigenvalues(policy, 6, (5,), 4000, 8)
    arms = np.concatenate([X[0][0] for X, _ in policy.shown])
    means = np.concatenate([np.concatenate(R).mean(axis=0) for _, R in policy.shown])
    theta = np.linalg.lstsq(arms, means, rcond=None)[0]
    assert np.abs(arms @ theta - means).max() < 5.5 * 0.5 / np.sqrt(4000)
    assert np.linalg.norm(theta) == pytest.approx(1.0, abs=0.05)
    assert theta[2] == pytest.approx(np.sqrt(0.5), abs=0.05)
    first, second = (np.concatenate(policy.shown[i][1]) for i in (0, 1))
    assert (first != second).mean() > 0.2  # rewards of different runs are different draws


def test_price_of_combining_by_hand():
    """Two worlds without spread: base learners 10 and 40, then 30 and 10; combiner 20 and 15."""
    finals = [np.tile([10.0, 40.0, 20.0], (8, 1)), np.tile([30.0, 10.0, 15.0], (8, 1))]
    q = experiments.price_of_combining(finals, np.random.default_rng(0))
    assert q == pytest.approx((2 / 3, 2 / 3, 2 / 3))  # worst 2 against worst 3 of the safest
    finals[0][:, 2] = 2.0  # far below both: the best base learner stays the measure
    q = experiments.price_of_combining(finals, np.random.default_rng(0))
    assert q == pytest.approx((0.5, 0.5, 0.5))


def test_price_of_combining_has_the_bootstraps_quantiles():
    finals = [np.random.default_rng(i).gamma(4.0, 1.0, (10, 3)) for i in (1, 2)]
    q = experiments.price_of_combining(finals, np.random.default_rng(5), draws=200)
    rng, prices = np.random.default_rng(5), []
    weights = [rng.multinomial(10, np.full(10, 0.1), 200) / 10 for _ in finals]
    for pair in zip(*weights, strict=True):
        means = [w @ f for w, f in zip(pair, finals, strict=True)]
        worst = np.max([m / m[:2].min() for m in means], axis=0)
        prices.append(worst[2] / worst[:2].min())
    assert (q.low, q.high) == pytest.approx(np.quantile(prices, [0.025, 0.975]))


def test_price_of_combining_has_an_interval_that_covers():
    """The bootstrap's interval holds the true price in most of 60 experiments."""
    hits, rng = 0, np.random.default_rng(1)
    means = np.array([[10.0, 40.0, 20.0], [30.0, 10.0, 15.0]])
    for _ in range(60):
        finals = [rng.gamma(4.0, m / 4.0, (40, 3)) for m in means]
        q = experiments.price_of_combining(finals, rng, draws=400)
        assert q.low < q.value < q.high
        hits += q.low <= 2 / 3 <= q.high
    assert hits >= 45


@pytest.mark.parametrize(("universe", "apart"), [("ball", 8), ("offset_sphere", 3)])
def test_the_attack_sends_the_messages_of_two_records_far_apart(universe, apart):
    """Means and deviations of 20000 messages: 5.5 standard errors."""
    policy = online_linucb(4, 100, epsilon=2.0, delta=0.1, universe=universe)
    (told,) = attack(policy)
    ends = [np.append(x, y) for x, y in (told.a, told.b)]
    assert np.linalg.norm(ends[0] - ends[1]) == pytest.approx(np.sqrt(apart))
    for record, end in zip((told.a, told.b), ends, strict=True):
        out = told.mechanism(record, np.random.default_rng(0), 20_000)
        error = 5.5 * policy.params.sigma / np.sqrt(20_000)
        assert np.abs(out.mean(axis=0) - end).max() < error
        assert out.std(axis=0) == pytest.approx(policy.params.sigma, rel=0.03)
