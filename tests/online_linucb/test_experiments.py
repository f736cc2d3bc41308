"""What the chapter measures: every estimator on cases whose answer is known."""

import numpy as np
import pytest
from maler_twin import Twin
from streams import stream

from companion.environments import replay
from companion.online_linucb import experiments, online_linucb
from companion.online_linucb.online_linucb import conversion_width, make_learner, regret_bound
from companion.simulate import repetitions, trace


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
    learner = make_learner("maler", 3, T, gradient=G)
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
            (
                s.message[:3].copy(),
                s.learner.theta.copy(),
                int(arms[0]),
                means.max() - means[0, arms[0]],
            )
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


def test_price_of_combining_by_hand():
    """Two worlds without spread: base learners 10 and 40, then 30 and 10; combiner 20 and 15."""
    finals = [np.tile([10.0, 40.0, 20.0], (8, 1)), np.tile([30.0, 10.0, 15.0], (8, 1))]
    q = experiments.price_of_combining(finals, np.random.default_rng(0))
    assert q == pytest.approx((2 / 3, 2 / 3, 2 / 3))  # worst 2 against worst 3 of the safest
    finals[0][:, 2] = 2.0  # far below both: the best base learner stays the measure
    q = experiments.price_of_combining(finals, np.random.default_rng(0))
    assert q == pytest.approx((0.5, 0.5, 0.5))


# --- closed forms -------------------------------------------------------------------------------

T, DELTA = 20_000, 0.1


@pytest.mark.parametrize(
    ("epsilon", "width", "clip"),
    [(0.2, 14_167, 1.05e5), (1.0, 2_868, 4380.0), (10.0, 329, 68.4)],
)
def test_width_and_clip_as_printed_at_the_papers_noise(epsilon, width, clip):
    """With sigma in the place of sqrt(ln(1/delta))/epsilon it would be 30165, 6049 and 626."""
    found = experiments.literal(5, T, epsilon, DELTA)
    assert round(found["width"]) == width
    assert found["clip"] == pytest.approx(clip, rel=5e-3)


# --- numbers from a pocket calculator -----------------------------------------------------------


def test_closed_forms_by_hand():
    """The displays of the paper at small arguments, computed apart from this package."""
    close = lambda value: pytest.approx(value, rel=1e-10)  # noqa: E731
    assert experiments.theory_clip(0.7, 0.16, 500, 0.05, ball=3.0) == close(275.5048745395)
    inner = make_learner("maler", 4, 900, ball=2.0, gradient=5.0)
    assert regret_bound(inner, 900) == close(2218.3347464017)
    assert regret_bound(inner, 900, 0.7) == close(4702.4432242272)
    width = experiments.theory_width(inner, 1.5, 0.02, 0.36, 900, 0.1, noise=0.3)
    assert width == close(548.7580535888)
    regret, Q = experiments.strong_bounds(inner, 0.7, 900, 0.05)
    assert regret == close(17018.8764177541)
    assert close(2 / 0.7 * regret) == Q
    small = make_learner("maler", 3, 100, gradient=2.0)
    assert conversion_width(small, 100) == close(18.8549574923)
    assert experiments.display_3_6(3, T, 0.5, DELTA, 0.25) == close(1488439337.943)
