"""The baselines as their program ran them: noise scales, bias and releases."""

import numba
import numpy as np
import pytest
from streams import run, stream

from companion.online_linucb import published_code
from companion.online_linucb.published_code import baseline, scales

# T = 20000, d = 5, epsilon = 1, delta = 0.1, B = 20: noise per entry, Gamma, width.
PRINTED = {
    "LinUCB": (0, 1, 7.30),
    "LDP": (1.794, 567, 57.5),
    "JDP": (10.13, 71.3, 23.4),
    "SDP (amplification)": (0.557, 176, 34.1),
    "SDP (vector)": (0, 69.2, 23.1),
}
BITS = {0.2: 1530.39, 1.0: 612.16, 10.0: 6.12}
BIAS = {0.2: -0.310, 1.0: -0.124, 10.0: -0.096}  # per batch of 20 users and entry
TRUE_EPSILON = {0.2: 0.14, 1.0: 3.59, 10.0: 210}  # of "LDP" at delta = 0.1


@pytest.mark.parametrize("kind", published_code.KINDS)
def test_scales_are_the_printed_ones(kind):
    """Halves of the last printed digit are below 2e-3 of it."""
    sigma, gamma, _, _ = scales(kind, 5, 20_000, 1.0, 0.1)
    p = baseline(kind, 5, 20_000, epsilon=1.0, delta=0.1).params
    found = (sigma, gamma, p.width)
    assert found == pytest.approx(PRINTED[kind], rel=2e-3)
    assert p.ridge == (1e-4 if kind == "LinUCB" else 2 * gamma)


@numba.njit
def mean_error(p, v, n, rng):
    total = 0.0
    for _ in range(n):
        total += published_code.count(p, v, rng) - v
    return total / n


@pytest.mark.parametrize("epsilon", BITS)
def test_vector_sum_of_the_program_is_biased(epsilon):
    """5.5 standard errors: 4e-8."""
    p = baseline("SDP (vector)", 5, 20_000, epsilon=epsilon, delta=0.1).params
    assert p.b == pytest.approx(BITS[epsilon], abs=0.005)
    assert p.g == pytest.approx(8.944, abs=0.0005)
    n = 3_000_000
    variance = int(p.b) * 3 / 16 + 0.25
    error = published_code.NORM / p.g * np.sqrt(variance / n)
    measured = mean_error(p, 0.3, n, np.random.default_rng(0))
    off = measured - BIAS[epsilon] / 20
    assert abs(off) < 5.5 * error + 0.0005 / 20
    assert abs(measured) > 6 * error  # zero would have been found out


@pytest.mark.parametrize(("epsilon", "true"), TRUE_EPSILON.items())
def test_true_epsilon_of_the_local_noise(epsilon, true):
    guarantee = baseline("LDP", 5, 20_000, epsilon=epsilon, delta=0.1).guarantee
    assert guarantee.epsilon == pytest.approx(true, rel=0.03)
    assert guarantee.claimed == (epsilon, 0.1)


@pytest.mark.parametrize("kind", ["JDP", "SDP (vector)"])
def test_departures_3_and_4_protect_nothing(kind):
    assert baseline(kind, 5, 100, epsilon=1.0, delta=0.1).guarantee.epsilon == np.inf


# what is stored and released, round by round


@pytest.mark.parametrize("kind", ["LDP", "SDP (amplification)"])
def test_local_noise_has_the_programs_scale(kind):
    """800 users at x = 0: 5.5 standard errors of each standard deviation, 4e-8 each."""
    policy = baseline(kind, 3, 801, epsilon=5.0, delta=0.1)
    p = policy.params
    s = policy.init(p)
    rng = np.random.default_rng(3)
    nobody = np.zeros(3)
    above = np.triu_indices(3, 1)
    sums = []
    for _ in range(801):
        policy.update(p, s, 0, nobody, 0.5, rng)
        np.testing.assert_array_equal(s.G, s.G.T)
        diagonal = np.diag(s.G)
        sums.append(np.concatenate([diagonal, s.b, s.G[above]]))
    z = np.diff(sums, axis=0) / p.sigma
    z[:, 6:] *= np.sqrt(2.0)  # off the diagonal
    covariance = z.T @ z / 800
    products = covariance[np.triu_indices(9, 1)]
    limit = 5.5 / np.sqrt(800)
    far = np.abs(z.std(axis=0) - 1)
    assert far.max() < limit / np.sqrt(2.0)
    assert np.abs(z.mean(axis=0)).max() < limit
    assert np.abs(products).max() < limit


def need_model(s, A, b):
    """The model in force is that of the matrix A and the vector b."""
    theta = np.linalg.solve(A, b)
    np.testing.assert_allclose(s.V_inv @ A, np.eye(3), atol=1e-8)
    np.testing.assert_allclose(s.theta, theta, atol=1e-9)


@pytest.mark.parametrize(("kind", "batch"), [("LDP", 1), ("SDP (amplification)", 20)])
def test_model_is_refreshed_once_a_batch_from_what_was_stored(kind, batch):
    X, R, _ = stream(n=45, K=1)
    policy = baseline(kind, 3, 45, epsilon=50.0, delta=0.1)
    for n in (19, 20, 39, 41):
        full = n - n % batch
        _, s = run(policy, X[:n], R[:n])
        _, last = run(policy, X[:full], R[:full])
        need_model(s, last.G + policy.params.ridge * np.eye(3), last.b)


def test_jdp_adds_the_first_noises_to_exact_statistics():
    """floor(ln(1 + t)) + 1 of floor(ln T) + 1 noises, drawn once; the statistics stay
    clean."""
    X, R, _ = stream(n=60, K=1)
    policy = baseline("JDP", 3, 60, epsilon=1.0, delta=0.1)
    p = policy.params
    _, first = run(policy, X[:1], R[:1])
    assert first.noise_G.shape == (5, 3, 3)  # floor(ln 60) + 1
    assert first.noise_b.shape == (5, 3)
    assert 0.2 < np.abs(first.noise_b).mean() / p.sigma < 3
    assert len(np.unique(np.abs(first.noise_G))) == 5 * 6
    for n in (1, 2, 6, 7, 8, 19, 20, 54, 60):
        _, s = run(policy, X[:n], R[:n])
        live = int(np.floor(np.log(1 + n))) + 1
        x = np.sqrt(2) * X[:n, 0]
        np.testing.assert_allclose(s.G, x.T @ x, atol=1e-9)
        np.testing.assert_array_equal(s.noise_G, first.noise_G)
        A = s.G + p.ridge * np.eye(3)
        A += s.noise_G[:live].sum(axis=0)
        b = x.T @ R[:n, 0]
        b += s.noise_b[:live].sum(axis=0)
        need_model(s, A, b)


def test_nan_scores_win():
    policy = baseline("LDP", 2, 10, epsilon=1.0, delta=0.1)
    p = policy.params
    s = policy.init(p)
    s.G[1, 1] = -p.ridge - 1.0
    published_code.refit(p, s, 1)
    X = np.array([[0.9, 0.0], [0.0, 0.1], [0.0, 0.2]])
    assert policy.select(p, s, X, None) == 1
