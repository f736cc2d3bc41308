"""The private LinUCBs: noise, guarantees, ridge regression on noisy statistics,
refusals."""

import numpy as np
import pytest
from scipy.stats import chi2
from streams import run, stream

from companion.accounting import privacy
from companion.accounting.binomial import binomial_epsilon
from companion.baselines.jdp_linucb import jdp_linucb
from companion.baselines.ldp_linucb import ldp_linucb, randomize
from companion.baselines.linucb import linucb, theorem_radius
from companion.baselines.sdp_linucb import RANGE, P, sdp_linucb, vector_sum
from companion.kernels import ridge as regression
from companion.kernels.mechanisms import statistics_size
from companion.online_linucb.corrected_ridge import corrected_ridge

BUDGET = {"epsilon": 1.0, "delta": 0.1}


def one_arm(n, d=3, seed=0):
    """A stream in which there is nothing to choose, so that the exact statistics are
    known."""
    X, R, _ = stream(n, K=1, d=d, seed=seed)
    x = X[:, 0]
    G = x.T @ x
    b = x.T @ R[:, 0]
    return X, R, G, b


def packed(G, b):
    """(G, b) as the vector in which the noise of one release is N(0, sigma^2 I)."""
    d = len(b)
    below = G[np.tril_indices(d, -1)]
    return np.concatenate([np.diag(G), np.sqrt(2) * below, b])


def looks_standard(z, level=1e-7):
    """Sum of squares of independent standard normals: two-sided, false alarms 2 *
    level."""
    total = np.sum(np.square(z))
    n = np.size(z)
    return level < chi2.cdf(total, n) and level < chi2.sf(total, n)


@pytest.mark.parametrize("make", [ldp_linucb, jdp_linucb, corrected_ridge])
def test_without_privacy_it_is_linucb(make):
    X, R, _ = stream()
    policy = make(3, 400, epsilon=np.inf, delta=0.1)
    arms, _ = run(policy, X, R)
    assert policy.guarantee.model == "none"
    same, _ = run(linucb(3, noise=0.5, failure=1 / 401), X, R)
    assert np.array_equal(arms, same)


def test_printed_noise_by_hand():
    """4 sqrt(2 ln 12.5)/0.5 of a message; 9 levels and sqrt(4.5) at the server."""
    printed = {"epsilon": 0.5, "delta": 0.1, "calibration": "paper"}
    local = ldp_linucb(5, 100, **printed).params.sigma
    joint = jdp_linucb(5, 400, **printed).params.sigma
    assert local == pytest.approx(17.9803577960, 1e-10)
    assert joint == pytest.approx(28.6065740821, 1e-10)


@pytest.mark.parametrize("make", [ldp_linucb, jdp_linucb])
@pytest.mark.parametrize(("epsilon", "honest"), [(0.5, True), (20.0, False)])
def test_guarantee_is_computed_from_the_noise(make, epsilon, honest):
    own = make(3, 400, epsilon=epsilon, delta=0.1)
    paper = make(3, 400, epsilon=epsilon, delta=0.1, calibration="paper")
    assert own.guarantee.epsilon == pytest.approx(epsilon, rel=1e-9)
    assert own.guarantee.claimed is None
    assert paper.guarantee.claimed == (epsilon, 0.1)
    sensitivity = np.sqrt(4.5)
    if make is jdp_linucb:
        sensitivity *= 3.0  # 9 levels for 400 rounds
    for policy in (own, paper):
        again = privacy.gaussian_epsilon(0.1, policy.params.sigma, sensitivity)
        assert policy.guarantee.epsilon == pytest.approx(again)
    # the classical formula at the right sensitivity: wasteful, then false
    if make is jdp_linucb:
        assert (paper.guarantee.epsilon <= epsilon) == honest
    else:  # four times the sensitivity 1: enough noise even at epsilon = 20
        assert paper.guarantee.epsilon <= epsilon


def test_a_matrix_without_inverse_leaves_the_last_model():
    policy = ldp_linucb(3, 400, epsilon=np.inf, delta=0.1)
    p = policy.params
    s = policy.init(policy.params)
    s.G[:] = np.eye(3)
    s.b[:] = 1.0
    regression.fit(s, p.ridge)
    V_inv = s.V_inv.copy()
    theta = s.theta.copy()
    s.G[:] = -p.ridge * np.eye(3)
    s.b[:] = 2.0
    regression.fit(s, p.ridge)
    assert np.array_equal(s.V_inv, V_inv)
    assert np.array_equal(s.theta, theta)


@pytest.mark.parametrize(
    ("make", "rows"),  # rows whose noise the ridge must outweigh, in units of d; 6 levels
    [(ldp_linucb, 60), (jdp_linucb, 6 / 2), (sdp_linucb, 60)],
)
def test_model_is_ridge_regression_at_the_documented_ridge(make, rows):
    """lambda = 1 + shift sigma sqrt(d rows); its radius is LinUCB's at that lambda."""
    X, R, _, _ = one_arm(60)
    policy = make(3, 60, epsilon=5.0, delta=0.1, shift=0.3, width=0.7)
    q = policy.params
    s = run(policy, X, R)[1]
    ridge = 1.0 + 0.3 * q.sigma * np.sqrt(3 * rows)
    A = s.G + ridge * np.eye(3)
    np.testing.assert_allclose(s.V_inv @ A, np.eye(3), atol=1e-9)
    np.testing.assert_allclose(A @ s.theta, s.b, atol=1e-9 * np.abs(s.b).max())
    expected = 0.7 * theorem_radius(3, 60, ridge, 0.5, 1.0, 1 / 61)
    assert s.radius[0] == pytest.approx(expected)


@pytest.mark.parametrize("universe", privacy.UNIVERSES)
def test_statistics_of_clipped_records_stay_within_the_sensitivity(universe, rng):
    rows = []
    p = ldp_linucb(3, 10, **BUDGET, universe=universe).params
    p = p._replace(sigma=0.0)
    x = np.empty(3)
    message = np.empty(statistics_size(3))
    worst = [[0.5, np.sqrt(0.75), 0.0], [1.0, 0, 0], [-0.7, 0.1, 0.7], [0.7, -0.1, 0.7]]
    others = rng.standard_normal((400, 3)) * rng.random((400, 1)) * 3
    for v in np.vstack([worst, others]):
        for r in (-2.0, 0.0, 2.0):
            randomize(p, v, r, rng, x, message)
            rows.append(message.copy())
    rows = np.array(rows)
    squares = (rows**2).sum(1)
    distances = squares[:, None] + squares[None] - 2 * rows @ rows.T
    furthest = np.sqrt(distances.max())
    limit = privacy.STATISTICS_SENSITIVITY[universe]
    assert 0.98 * limit < furthest <= limit * (1 + 1e-8)
    assert np.ptp(rows, axis=0).max() <= min(limit, 2.0)  # `largest`, of one entry


@pytest.mark.parametrize("calibration", ["paper", "corrected"])
def test_local_noise_energy(calibration):
    """False alarms: 2 in 10^7."""
    X, R, G, b = one_arm(25)
    policy = ldp_linucb(3, 25, **BUDGET, calibration=calibration)
    z = []
    for seed in range(300):
        _, s = run(policy, X, R, seed=seed)
        z.append(packed(s.G - G, s.b - b))
    z = np.array(z) / (policy.params.sigma * np.sqrt(25))
    assert looks_standard(z)
    for i in range(9):  # on and off the diagonal alike
        assert looks_standard(z[:, i])
    assert np.allclose(s.G, s.G.T)


@pytest.mark.parametrize("t", [1, 7, 16, 21])
def test_tree_release_is_exact_plus_the_live_nodes(t):
    """Variance popcount(t) sigma^2; false alarms 2 in 10^7."""
    X, R, G, b = one_arm(t)
    policy = jdp_linucb(3, 31, **BUDGET)
    z = []
    for seed in range(300):
        _, s = run(policy, X, R, seed=seed)
        (live,) = np.nonzero(s.nodes.any(axis=1))
        np.testing.assert_allclose(s.release, s.exact + s.nodes[live[0]], atol=1e-9)
        assert (1 << live).sum() == t  # the one-bits of t
        z.append(packed(s.G - G, s.b - b))
    scale = policy.params.sigma * np.sqrt(t.bit_count())
    assert looks_standard(np.array(z) / scale)
    exact = packed(G, b)
    np.testing.assert_allclose(exact @ exact, s.exact @ s.exact, rtol=1e-12)


def test_printed_noise_bits_by_hand():
    """24 10^4 g^2 ln^2(4 (d^2 + 1)/delta)/(eps^2 B), g = max(2 sqrt(B), d, 4)."""
    s = np.sqrt(4.5)
    g, b, _ = vector_sum(5, 1.0, 0.1, 20, s, "paper")
    assert g == pytest.approx(8.9442719100, 1e-10)
    assert b == 46_330_057
    g, b, _ = vector_sum(12, 2.0, 0.01, 20, s, "paper")
    assert g == 12.0
    assert b == 51_970_194


def test_batch_of_the_policy_has_the_moments_of_its_messages():
    """At 5.5 standard errors (4e-8 each); kernels/test_mechanisms.py compares the
    laws."""
    policy = sdp_linucb(2, 20, epsilon=10.0, delta=0.1, batch=20)
    X, R, G, b = one_arm(20, d=2)
    p = policy.params
    N = 1500
    draws = []
    for seed in range(N):
        s = run(policy, X, R, seed=seed)[1]
        draws.append(packed(s.G, s.b))
    draws = np.array(draws)
    users = []
    for x, r in zip(X[:, 0], R[:, 0], strict=True):
        users.append(packed(np.outer(x, x), r * x))
    counts = (np.array(users) + 1) * p.g
    rest = counts % 1  # before they are rounded
    rounding = (rest * (1 - rest)).sum(0)
    noise = 20 * p.b * P * (1 - P)
    variance = (RANGE / p.g) ** 2 * (noise + rounding)
    off = np.abs(draws.mean(0) - packed(G, b))
    assert (off < 5.5 * np.sqrt(variance / N)).all()
    share = draws.var(0) / variance
    assert (np.abs(share - 1) < 5.5 * np.sqrt(2.2 / N)).all()


@pytest.mark.parametrize("epsilon", [0.2, 1.0, 10.0, 1000.0])
def test_guarantee_of_the_published_noise_bits(epsilon):
    policy = sdp_linucb(5, 100, epsilon=epsilon, delta=0.1, calibration="paper")
    p = policy.params
    n = 20
    move = np.sqrt(4.5) * p.g + np.sqrt(n)
    largest = int(np.ceil(2 * p.g))
    noise = 20 * p.b, 0.25, move, n, largest
    assert policy.guarantee.epsilon == binomial_epsilon(0.1, *noise)
    assert policy.guarantee.epsilon <= 0.5 * epsilon
    assert policy.guarantee.claimed == (epsilon, 0.1)


def test_the_model_changes_only_at_the_end_of_a_batch(rng):
    X, R, _, _ = one_arm(60)
    policy = sdp_linucb(3, 60, epsilon=5.0, delta=0.1)
    s = policy.init(policy.params)
    seen = []
    for t in range(60):
        before = s.theta.copy()
        policy.update(policy.params, s, 0, X[t, 0], R[t, 0], rng)
        if not np.array_equal(before, s.theta):
            seen.append(t + 1)
            assert not s.counts.any()  # nothing of a batch is released again
    assert seen == [20, 40, 60]
    assert policy.guarantee.model == "shuffle"


@pytest.mark.parametrize("k", [1, 3, 6])
def test_a_power_of_two_of_rounds_has_a_level_more(k):
    """2^k - 1 rounds have k levels; at 2^k the noise is sqrt((k + 1)/k) times as
    large."""
    before = jdp_linucb(2, 2**k - 1, **BUDGET).params.sigma
    at = jdp_linucb(2, 2**k, **BUDGET).params.sigma
    assert at / before == pytest.approx(np.sqrt((k + 1) / k))


def test_a_miss_has_the_chance_of_one_in_all_rounds_and_one_more():
    assert ldp_linucb(2, 99, **BUDGET).params.failure == 0.01


def test_the_noise_of_a_user_by_hand():
    """Of b bits: sqrt(b p (1 - p))/g, p = 1/4."""
    p = sdp_linucb(2, 20, **BUDGET).params
    assert p.sigma == pytest.approx(np.sqrt(p.b * 3.0) / 4.0 / p.g)
