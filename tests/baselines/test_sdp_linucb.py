"""SDP-LinUCB: the noise of a batch is what the guarantee says."""

import numpy as np
import pytest
from noisy_statistics import one_arm, packed
from scipy.stats import binom, ks_2samp
from streams import run, stream

from companion.accounting import privacy
from companion.accounting.binomial import binomial_delta, binomial_epsilon
from companion.baselines import sdp_linucb as sdp
from companion.baselines.linucb import linucb
from companion.baselines.private_linucb import amplified_local_budget, sdp_linucb, vector_sum
from companion.environments import sphere
from companion.kernels.mechanisms import (
    clip_record,
    pack_statistics,
    shuffle_messages,
    statistics_size,
)
from companion.online_linucb import published_code


def message_level(policy, X, R, rng):
    """One batch, bit by bit: what the analyser estimates from the shuffled messages."""
    p = policy.params
    n, B = statistics_size(p.d), p.statistics.batch
    bits = np.empty((n, 2 * int(np.ceil(p.g)) + p.b), dtype=np.int64)
    ones, v = np.zeros(n), np.empty(n)
    for x, r in zip(X[:, 0], R[:, 0], strict=True):
        pack_statistics(x, r, v)
        shuffle_messages(rng, v, sdp.RANGE, p.g, p.b, sdp.P, bits)
        ones += bits.sum(1)
    return sdp.RANGE / p.g * (ones - sdp.P * p.b * B) - B * sdp.RANGE


def test_without_privacy_and_batches_of_one_the_shuffled_one_is_linucb():
    X, R, _ = stream()
    policy = sdp_linucb(3, 400, epsilon=np.inf, delta=0.1, batch=1, protocol="amplification")
    arms = run(policy, X, R)[0]
    assert np.array_equal(arms, run(linucb(3, noise=0.5, failure=1 / 401), X, R)[0])


@pytest.mark.parametrize(
    ("query", "g", "b"),
    [((5, 1.0, 0.1, 20), 8.9442719100, 46_330_057), ((12, 2.0, 0.01, 20), 12.0, 51_970_194)],
)
def test_printed_noise_bits_by_hand(query, g, b):
    """24 10^4 g^2 ln^2(4 (d^2 + 1)/delta)/(eps^2 B), g = max(2 sqrt(B), d, 4)."""
    found = vector_sum(*query, np.sqrt(4.5), "paper")
    assert found[0] == pytest.approx(g, 1e-10)
    assert found[1] == b


def test_batch_of_the_policy_has_the_law_of_its_messages():
    """Means at 5.5 standard errors (4e-8 each), Kolmogorov-Smirnov at 1e-7."""
    policy = sdp_linucb(2, 20, epsilon=10.0, delta=0.1, batch=20)
    X, R, G, b = one_arm(20, d=2)
    truth, p, N = packed(G, b), policy.params, 1500
    rng = np.random.default_rng(0)
    slow = np.array([message_level(policy, X, R, rng) for _ in range(N)])
    slow = slow[:, [0, 2, 1, 3, 4]]  # x1^2, sqrt2 x1 x2, x2^2, ... in the order of `packed`
    fast = []
    for seed in range(N):
        _, s = run(policy, X, R, seed=seed)
        fast.append(packed(s.G, s.b))
    fast = np.array(fast)
    w = np.stack([packed(np.outer(x, x), r * x) for x, r in zip(X[:, 0], R[:, 0], strict=True)])
    rest = ((w + 1) * p.g) % 1
    noise = 20 * p.b * sdp.P * (1 - sdp.P)
    variance = (sdp.RANGE / p.g) ** 2 * (noise + (rest * (1 - rest)).sum(0))
    for draws in (slow, fast):
        assert (np.abs(draws.mean(0) - truth) < 5.5 * np.sqrt(variance / N)).all()
        assert (np.abs(draws.var(0) / variance - 1) < 5.5 * np.sqrt(2.2 / N)).all()
    assert all(ks_2samp(slow[:, i], fast[:, i]).pvalue > 1e-7 for i in range(5))
    # What the width assumes of one user and coordinate is the noise bits' share of that variance.
    assert p.statistics.sigma**2 * 20 == pytest.approx((sdp.RANGE / p.g) ** 2 * noise)


@pytest.mark.parametrize(
    ("epsilon", "cost"), [(0.2, (1.01, 1.03)), (1.0, (1.03, 1.05)), (10.0, (1.2, 1.3))]
)
@pytest.mark.parametrize("universe", privacy.UNIVERSES)
def test_noise_bits_are_the_fewest_that_provably_suffice(epsilon, cost, universe):
    sensitivity = privacy.STATISTICS_SENSITIVITY[universe]
    g, b, true = vector_sum(5, epsilon, 0.1, 20, sensitivity, "corrected")
    assert g == pytest.approx(2 * np.sqrt(20))
    noise = 0.25, sensitivity * g + np.sqrt(20), 20, int(np.ceil(2 * g))
    assert binomial_delta(epsilon, 20 * b, *noise) <= 0.1
    assert binomial_delta(epsilon, 20 * (b - 1), *noise) > 0.1
    assert 0.9 * epsilon < true <= epsilon
    # What a proof costs against Gaussian noise of the same variance.
    normal = np.ceil(privacy.gaussian_scale(epsilon, 0.1, noise[1]) ** 2 / (20 * 3 / 16))
    assert cost[0] < b / normal < cost[1]


@pytest.mark.parametrize("epsilon", [0.2, 1.0, 10.0, 1000.0])
def test_guarantee_of_the_published_noise_bits(epsilon):
    policy = sdp_linucb(5, 100, epsilon=epsilon, delta=0.1, calibration="paper")
    p, n = policy.params, 20
    noise = 20 * p.b, 0.25, np.sqrt(4.5) * p.g + np.sqrt(n), n, int(np.ceil(2 * p.g))
    assert policy.guarantee.epsilon == binomial_epsilon(0.1, *noise)
    assert policy.guarantee.epsilon <= 0.5 * epsilon
    assert policy.guarantee.claimed == (epsilon, 0.1)
    if epsilon == 1.0:
        assert p.b == pytest.approx(4.6e7, rel=0.01)


def test_entries_of_one_record_change_by_less_than_the_bound():
    """With rounding: at most `largest` = ceil(2 g), in both universes."""
    rng, (out, x) = np.random.default_rng(0), np.empty((2, 9))
    x = x[:3]
    for universe in privacy.UNIVERSES:
        rows = []
        for v in rng.standard_normal((2000, 3)):
            _, _ = clip_record(universe == "offset_sphere", 3.0 * v, 0.0, x)
            for y in (-1.0, 1.0) if universe == "ball" else (0.0, 1.0):
                pack_statistics(x, y, out)
                rows.append(out.copy())
        spread = np.ptp(rows, axis=0).max()
        assert 0.5 < spread / min(2.0, privacy.STATISTICS_SENSITIVITY[universe]) <= 1.0


def test_rounding_moves_a_count_by_less_than_one_more():
    """With a shared uniform number (what the mixture argument needs), entry by entry."""
    rng = np.random.default_rng(0)
    w, v = 18 * rng.random((2, 20_000))
    u = rng.random(20_000)
    moved = np.abs(np.floor(w + u) - np.floor(v + u))
    assert (moved < np.abs(w - v) + 1).all()
    assert (moved > np.abs(w - v) + 0.9).any()


@pytest.mark.parametrize("delta", [0.1, 1e-5])
@pytest.mark.parametrize("epsilon", [0.2, 1.0, 10.0])
def test_the_proof_is_needed_and_holds_for_the_furthest_move_of_one_entry(epsilon, delta):
    """The exact delta exceeds the request at the normal approximation's b, not at ours."""
    g, b, _ = vector_sum(5, epsilon, delta, 20, np.sqrt(4.5), "corrected")
    whole = np.sqrt(4.5) * g + np.sqrt(20)
    normal = int(np.ceil(privacy.gaussian_scale(epsilon, delta, whole) ** 2 / (20 * 3 / 16)))

    def exact(bits, move):
        x = np.arange(-move, bits + move + 1)
        here, there = binom.pmf(x, bits, sdp.P), binom.pmf(x - move, bits, sdp.P)
        pairs = (here, there), (there, here)
        return max(np.maximum(a - np.exp(epsilon) * c, 0).sum() for a, c in pairs)

    assert exact(20 * normal, int(np.ceil(whole))) > delta
    assert exact(20 * b, int(np.ceil(2 * g))) <= delta


@pytest.mark.parametrize("batch", [1, 20, 100, 1000, 10_000, 10**6])
@pytest.mark.parametrize(("epsilon", "delta"), [(0.2, 0.1), (1.0, 0.1), (0.2, 1e-5), (3.0, 1e-5)])
def test_local_budget_is_amplified_to_the_one_that_was_asked_for(batch, epsilon, delta):
    e0, d0 = amplified_local_budget(epsilon, delta, batch)
    noise = privacy.gaussian_scale(e0, d0)
    assert noise <= privacy.gaussian_scale(epsilon, delta)  # never worse than not shuffling
    if (e0, d0) != (epsilon, delta):
        assert e0 > epsilon
        assert privacy.shuffle_epsilon(e0, delta / 2, batch) <= epsilon * (1 + 1e-9)
        spent = (np.exp(epsilon) + 1) * (1 + np.exp(-e0) / 2) * batch * d0
        assert delta / 2 + spent <= delta * (1 + 1e-12)
    if batch == 20:
        assert (e0, d0) == (epsilon, delta)
    if batch == 10**6 and epsilon < 1:
        assert e0 > 2 * epsilon


@pytest.mark.parametrize("protocol", ["vector", "amplification"])
def test_the_model_changes_only_at_the_end_of_a_batch(protocol):
    X, R, _, _ = one_arm(60)
    policy = sdp_linucb(3, 60, epsilon=5.0, delta=0.1, protocol=protocol)
    rng, s, seen = np.random.default_rng(0), policy.init(policy.params), []
    for t in range(60):
        before = s.model.theta.copy()
        s = policy.update(policy.params, s, 0, X[t, 0], R[t, 0], rng)
        if not np.array_equal(before, s.model.theta):
            seen.append(t + 1)
    assert seen == [20, 40, 60]
    assert policy.guarantee.model == "shuffle"


@pytest.mark.parametrize(
    ("name", "value"), [("batch", 0), ("protocol", "mail"), ("epsilon", np.inf)]
)
def test_the_shuffled_one_rejects_bad_input_by_name(name, value):
    with pytest.raises(ValueError, match=name):
        sdp_linucb(**{"d": 3, "T": 400, "epsilon": 1.0, name: value})


@pytest.mark.parametrize(
    "make",
    [
        lambda: sdp_linucb(5, 2_000, epsilon=10.0, delta=0.1, universe="offset_sphere", width=0.1),
        lambda: published_code.baseline("SDP (vector)", 5, 2_000, epsilon=10.0, delta=0.1),
        lambda: published_code.baseline("LDP", 5, 2_000, epsilon=10.0, delta=0.1),
    ],
)
def test_a_choice_stands_for_the_rest_of_its_batch_where_arms_stay(make):
    """`play` against a twin that selects in every round, over arms that are fixed, or almost."""
    policy = make()
    p, changes = policy.params, 0
    X, R, _ = next(sphere(9, 5, fresh=False).blocks(1_400, np.random.default_rng(6)))
    X = X.copy()
    for t in range(700, 1_400, 7):  # in the second half one arm moves now and then
        X[t:, t % 9, 0] *= -1.0
    rng, arms, s = np.random.default_rng(8), np.empty(len(X), np.int64), policy.init(p)
    policy.play(p, policy.init(p), X, R, np.random.default_rng(8), arms)
    for t in range(len(X)):
        arm = policy.select(p, s, X[t], rng)
        assert arms[t] == arm
        changes += t > 0 and arm != arms[t - 1]
        s = policy.update(p, s, arm, X[t, arm], R[t, arm], rng)
    assert changes > 9


def test_a_batch_begins_with_nothing():
    X, R, _, _ = one_arm(21)
    policy = sdp_linucb(3, 40, epsilon=10.0, delta=0.1, batch=20)
    assert not run(policy, X[:20], R[:20])[1].counts.any()
    assert run(policy, X, R)[1].counts.any()
