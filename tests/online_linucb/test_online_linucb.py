"""Online LinUCB and Maler against slow twins, published values, bounds, and its privacy."""

import numpy as np
import pytest
from maler_twin import Twin
from plain import plain
from scipy.stats import kstest
from streams import THETA, run, stream

from companion.accounting import privacy
from companion.online_linucb.online_linucb import (
    conversion_width,
    gradient,
    init_learner,
    learn,
    make_learner,
    online_linucb,
    pair_noise,
    practical_clip,
    practical_width,
    randomize,
)

# --- Maler --------------------------------------------------------------------------------------


def clip(g, G):
    return g * min(1.0, G / np.linalg.norm(g))


@pytest.mark.parametrize(
    ("d", "D", "G", "seed"), [(2, 1.0, 3.0, 0), (4, 0.5, 1.0, 1), (3, 2, 9, 2)]
)
def test_equals_the_slow_twin_over_noisy_steps(d, D, G, seed):
    rng, T = np.random.default_rng(seed), 400
    p = make_learner("maler", d, T, ball=D, gradient=G)
    s, twin, left = init_learner(p), Twin(d, T, D, G), 0
    for _ in range(T):
        g = clip(2.0 * (s.theta - D) + 2.0 * G * rng.standard_normal(d), G)
        left += np.linalg.norm(s.newton, axis=1).max() > D * (1 - 1e-9)
        learn(p, s, g)
        twin.update(g)
        np.testing.assert_allclose(s.theta, twin.theta, rtol=0, atol=1e-12)
        np.testing.assert_allclose(np.exp(s.log_w), twin.w, rtol=0, atol=1e-12)
        everyone = np.vstack([s.convex, s.strong, s.newton])
        assert np.linalg.norm(everyone, axis=1).max() <= D * (1 + 1e-12)
        assert np.linalg.norm(s.theta) <= D * (1 + 1e-12)
    assert left > 10  # the projection in the Newton norm was really used
    np.testing.assert_allclose(s.S[0] @ s.S_inv[0], np.eye(d), atol=1e-9)


# d = 2, D = 1, G = 6, T = 64, g_t = 2 (theta_t - (.6, -.3)) + (sin t, cos 2t), clipped at 6:
# round: theta, then the weights of the convex and the first strong and Newton experts.
GOLDEN = {
    1: ((0.17613035781, -0.09031939422), (0.33246584365, 0.20860442386, 0.20860442386)),
    2: ((0.119600993755, -0.005040481985), None),
    8: ((0.38673739076, -0.17381591342), None),
    64: ((0.55405510630, -0.27580720290), (0.28654177192, 0.23069097244, 0.21406901183)),
}


def test_golden_values():
    p = make_learner("maler", 2, 64, gradient=6.0)
    s, n = init_learner(p), p.n
    for t in range(1, 65):
        g = 2 * (s.theta - (0.6, -0.3)) + (np.sin(t), np.cos(2 * t))
        learn(p, s, clip(g, 6.0))
        if t in GOLDEN:
            theta, weights = GOLDEN[t]
            np.testing.assert_allclose(s.theta, theta, atol=1e-10)
            if weights is not None:
                np.testing.assert_allclose(np.exp(s.log_w)[[0, 1, 1 + n]], weights, atol=1e-10)


# --- Algorithm 1 --------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [20.0, np.inf])
def test_plays_the_plain_version_of_the_chapter(epsilon):
    X, R, _ = stream()
    options = {"learner": "ogd", "width": 1.0, "clip": 5.0}
    policy = online_linucb(3, 400, epsilon=epsilon, delta=0.1, **options)
    slow = plain("online_linucb", np=np)["plain_online_linucb"]
    arms = run(policy, X, R)[0]
    sigma, rng = policy.params.sigma, np.random.default_rng(1)
    assert np.array_equal(arms, slow(X, R, rng, sigma=sigma, width=1.0, clip=5.0))
    best = (X @ THETA).argmax(axis=1)
    assert (arms == best)[200:].mean() > 0.5  # of four arms: it has learned


def twin(policy, X, R, seed=1):
    """Algorithm 1 with its matrices spelled out, drawing the same noise: (arms, pairs, centre)."""
    p, rng = policy.params, np.random.default_rng(seed)
    d, G = p.d, p.learner.gradient
    learner = Twin(d, p.T, p.learner.ball, G)
    V, u, arms = np.eye(d), np.zeros(d), []
    for D, y in zip(X, R, strict=True):
        width = np.sqrt(np.einsum("ki,ij,kj->k", D, np.linalg.inv(V), D))
        arms.append(int(np.argmax(D @ np.linalg.solve(V, u) + p.width * width)))
        x, y = D[arms[-1]], y[arms[-1]]
        if p.jitter > 0:
            x = x + np.sqrt(p.jitter) * rng.standard_normal(d)
        x = x + p.sigma * rng.standard_normal(d)
        y = y + p.sigma * rng.standard_normal()
        theta = learner.theta.copy()
        g = 2 * x * (x @ theta - y) - 2 * p.sigma**2 * theta
        V, u = V + np.outer(x, x), u + (x @ theta) * x
        learner.update(g * min(1.0, G / max(np.linalg.norm(g), 1e-300)))
    return arms, np.linalg.solve(V, u), learner.theta


@pytest.mark.parametrize(
    "options",
    [{"epsilon": 20.0}, {"epsilon": 1.0, "jitter": 0.3, "clip": 5.0}, {"epsilon": np.inf}],
)
def test_plays_algorithm_1(options):
    X, R, _ = stream()
    policy = online_linucb(3, 400, delta=0.1, **options)
    arms, state = run(policy, X, R)
    slow, centre, theta = twin(policy, X, R)
    assert np.array_equal(arms, slow)
    np.testing.assert_allclose(state.centre, centre, atol=1e-9)
    np.testing.assert_allclose(state.learner.theta, theta, atol=1e-9)


# --- the loss -----------------------------------------------------------------------------------

ARMS = np.array([[0.9, 0.1, 0.0], [-0.2, 0.7, 0.3], [0.1, -0.4, 0.8]])


@pytest.mark.parametrize("jitter", [0.0, 0.4])
def test_mean_gradient_has_no_errors_in_variables_bias(jitter):
    """Mean over the noise: 2 S (theta - theta*) + 2 jitter theta.  False alarms: 3 in 10^7."""
    policy = online_linucb(3, 100, epsilon=8.0, delta=0.1, jitter=jitter, clip=1e6)
    p, rng, out, g = policy.params, np.random.default_rng(5), np.empty(4), np.empty(3)
    theta, draws = np.array([-0.3, 0.5, 0.4]), []
    for i in range(45_000):
        x = ARMS[i % 3]
        y = 1.0 if rng.random() < 0.5 + 0.5 * (x @ THETA) else -1.0
        randomize(p, x, y, rng, out)
        gradient(p, out[:3], out[3], theta, g)
        draws.append(g.copy())
    draws = np.array(draws)
    S = ARMS.T @ ARMS / 3
    expected = 2 * S @ (theta - THETA) + 2 * jitter * theta
    error = 5.3 * draws.std(0) / np.sqrt(len(draws))
    assert (np.abs(draws.mean(0) - expected) < error).all()
    uncorrected = expected + 2 * p.sigma**2 * theta
    assert (np.abs(draws.mean(0) - uncorrected) > 3 * error).any()  # the test has power


def test_width_of_the_conversion_by_hand():
    inner = online_linucb(3, 100, epsilon=1.0, delta=0.1, clip=2.0).params.learner
    M = (2 * np.log(3) + 1.5) * 2.0 * 2.0 * 10.0
    square = 1 + 1 + 2 * M + 32 / 4 * np.log((0.5 * np.sqrt(8) + np.sqrt(1 + M)) / 0.01)
    assert conversion_width(inner, 100) == pytest.approx(np.sqrt(square), rel=1e-12)
    assert practical_clip(1.0, 0.5, 2, 3.0) == pytest.approx(3 * (2 * 1.5 * 2 + 2))
    assert practical_width(0.5, 100, 3.0) == pytest.approx(3 * 0.5 * np.sqrt(np.log(100)))


# --- privacy ------------------------------------------------------------------------------------

# delta = 0.1, the paper's noise.  nominal epsilon: sigma; true epsilon at delta = 0.1 and true
# delta at the nominal epsilon, for the pair in the ball, then in the environment of Figure 1.
PAPER = {
    0.2: (22.475, (0.0, 0.0033), (0.0, 0.0001)),
    1.0: (4.495, (0.479, 0.0238), (0.139, 0.0009)),
    10.0: (0.4495, (26.95, 0.916), (11.51, 0.184)),
}
CORRECTED = {  # sigma of one Gaussian release of the pair
    0.2: (6.5026, 3.9820),
    1.0: (3.0713, 1.8808),
    10.0: (0.7971, 0.4881),
}


def printed(value, digits):
    """`digits` with the rounding of its last decimal allowed."""
    text = f"{digits!r}"
    return abs(value - digits) <= 0.500001 * 10.0 ** -len(text.split(".")[1])


@pytest.mark.parametrize("epsilon", PAPER)
def test_guarantee_of_the_papers_noise_and_of_ours(epsilon):
    for universe, column in (("ball", 0), ("offset_sphere", 1)):
        sigma, g = pair_noise(epsilon, 0.1, "paper", universe)
        true_epsilon, true_delta = PAPER[epsilon][1 + column]
        assert abs(sigma - PAPER[epsilon][0]) <= 5.1e-4
        assert printed(g.epsilon, true_epsilon)
        assert g.claimed == (epsilon, 0.1)
        exact = privacy.gaussian_delta(epsilon, sigma, privacy.PAIR_SENSITIVITY[universe])
        assert printed(exact, true_delta)
        sigma, g = pair_noise(epsilon, 0.1, "corrected", universe)
        assert abs(sigma - CORRECTED[epsilon][column]) <= 5.1e-5
        assert g.epsilon == pytest.approx(epsilon, rel=1e-9)
        assert (g.model, g.neighbours, g.claimed) == ("local", "replace one record", None)


def test_the_claim_fails_at_delta_1e_5_already_below_epsilon_1():
    assert pair_noise(1.0, 1e-5, "paper", "ball")[1].epsilon == pytest.approx(1.098, abs=5e-4)
    assert pair_noise(0.37, 1e-5, "paper", "ball")[1].epsilon > 0.37
    assert pair_noise(0.36, 1e-5, "paper", "ball")[1].epsilon < 0.36


@pytest.mark.parametrize("universe", privacy.UNIVERSES)
def test_no_two_clipped_records_are_further_apart_than_the_sensitivity(universe):
    policy = online_linucb(3, 100, epsilon=5.0, delta=0.1, universe=universe)
    p = policy.params._replace(sigma=0.0)
    rng, records = np.random.default_rng(0), []
    extreme = [np.array(x) for x in ([1.0, 0, 0.7], [-1.0, 0, 0.7], [9.0, 9, 9], [-9.0, -9, -9])]
    for x in [*extreme, *(3 * rng.standard_normal((300, 3)))]:
        for y in (-5.0, 5.0, rng.standard_normal()):
            records.append(np.empty(4))
            clipped = randomize(p, x, y, rng, records[-1])
            assert clipped == (np.abs(records[-1] - [*x, y]).max() > 1e-12)
    records = np.array(records)
    furthest = np.sqrt(((records[:, None] - records[None]) ** 2).sum(2).max())
    limit = privacy.PAIR_SENSITIVITY[universe]
    assert 0.999 * limit < furthest <= limit * (1 + 1e-8)


def test_message_is_the_record_plus_independent_gaussian_noise():
    """Kolmogorov-Smirnov at 1e-7 for each coordinate, correlations at 5.5 sigma (4e-8 each)."""
    p, rng = (
        online_linucb(3, 100, epsilon=3.0, delta=0.1, jitter=0.2).params,
        np.random.default_rng(11),
    )
    x, draws = np.array([0.3, -0.2, 0.5]), np.empty((20_000, 4))
    for out in draws:
        assert randomize(p, x, 0.25, rng, out) == 0
    draws -= [*x, 0.25]
    scale = np.sqrt([p.sigma**2 + 0.2] * 3 + [p.sigma**2])
    z = draws / scale
    assert all(kstest(z[:, i], "norm").pvalue > 1e-7 for i in range(4))
    correlation = (z.T @ z / len(z))[np.triu_indices(4, 1)]
    assert np.abs(correlation).max() < 5.5 / np.sqrt(len(z))


def test_clipped_records_are_counted():
    X, R, _ = stream(n=60)
    arms, s = run(online_linucb(3, 60, epsilon=5.0, delta=0.1), 3 * X, R)
    assert s.clipped[0] == (np.linalg.norm(3 * X[np.arange(60), arms], axis=1) > 1).sum() > 0
