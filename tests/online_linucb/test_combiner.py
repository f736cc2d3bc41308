"""The combiner against a slow twin of Algorithm 2, its constants, and Algorithm 9."""

import re
from collections.abc import Callable
from typing import get_args, get_origin, get_type_hints

import numpy as np
import pytest
from streams import run, stream

from companion import core
from companion.baselines.linucb import linucb
from companion.online_linucb.anytime import EPOCHS, anytime_linucb, of_epochs
from companion.online_linucb.combiner import combiner, record, theory_constants
from companion.online_linucb.online_linucb import (
    online_linucb,
    pair_noise,
    practical_clip,
    practical_width,
)

# --- Algorithm 9: restarts after 1, 2, 4, ... rounds ---------------------------------------------


@pytest.mark.parametrize("epsilon", [20.0, np.inf])
@pytest.mark.parametrize("learner", ["maler", "ogd"])
def test_is_a_sequence_of_restarts(epsilon, learner):
    X, R, _ = stream(n=500)
    policy = anytime_linucb(3, epsilon=epsilon, delta=0.1, k=0.5, lambda_min=0.2, learner=learner)
    arms, s = run(policy, X, R)
    rng, start = np.random.default_rng(1), 0
    for m in range(9):
        jitter = 2.0 ** (-m / 2) if 2.0 ** (-m / 2) >= 0.2 and epsilon < np.inf else 0.0
        epoch = online_linucb(3, 2**m, epsilon=epsilon, delta=0.1, learner=learner, jitter=jitter)
        state = epoch.init(epoch.params)
        block = slice(start, min(start + 2**m, 500))
        expected = np.empty(block.stop - start, dtype=np.int64)
        epoch.play(epoch.params, state, X[block], R[block], rng, expected)
        assert np.array_equal(arms[block], expected), m
        start += 2**m
    np.testing.assert_array_equal(s.run.centre, state.centre)
    assert (s.t[0], s.epoch[0], s.run.t[0]) == (500, 8, 500 - 255)


def test_parameters_are_functions_of_the_epochs_horizon():
    policy = anytime_linucb(
        3, epsilon=5.0, delta=0.1, k=0.125, lambda_min=0.4, width=lambda s, T: s + T
    )
    p = policy.params
    m = np.arange(EPOCHS)
    wanted = np.where(2.0 ** (-m / 8) >= 0.4, 2.0 ** (-m / 8), 0.0)
    assert 0 < (wanted > 0).sum() < EPOCHS
    np.testing.assert_allclose(p.jitter, wanted)
    np.testing.assert_allclose(p.width, p.sigma + 2.0**m)
    np.testing.assert_allclose(p.clip, [practical_clip(p.sigma, j, 3) for j in wanted])
    assert p.n_rates.tolist() == [int(np.ceil(i / 2)) + 1 for i in m]
    assert p.horizon.tolist() == [2**i for i in m]
    default = anytime_linucb(3, epsilon=5.0, delta=0.1).params
    np.testing.assert_allclose(default.width, [practical_width(p.sigma, 2.0**i) for i in m])


def test_has_no_horizon_and_the_privacy_of_one_message():
    policy = anytime_linucb(3, epsilon=5.0, delta=0.1, calibration="paper")
    assert core.horizon(policy) is None
    assert (
        policy.guarantee
        == online_linucb(3, 10, epsilon=5.0, delta=0.1, calibration="paper").guarantee
    )
    assert policy.params.sigma == pair_noise(5.0, 0.1, "paper", "ball")[0]


def test_clipped_records_are_counted_over_all_epochs():
    X, R, _ = stream(n=100, K=1)
    state = run(anytime_linucb(3, epsilon=5.0, delta=0.1), 9 * X, R)[1]
    assert state.run.clipped[0] == (np.linalg.norm(9 * X[:, 0], axis=1) > 1).sum() > 50


@pytest.mark.parametrize(
    ("name", "arguments"), [("width", "(sigma, horizon)"), ("clip", "(sigma, jitter, d)")]
)
def test_a_number_for_a_function_is_refused_with_what_is_allowed(name, arguments):
    allowed = re.escape(f"{name} must be None or a function {arguments}")
    with pytest.raises(ValueError, match=f"{allowed}.*got {name}=1.0"):
        anytime_linucb(3, epsilon=1.0, delta=0.1, **{name: 1.0})
    options = get_type_hints(anytime_linucb)
    assert get_origin(get_args(options[name])[0]) is Callable


def test_the_last_epoch_does_not_end():
    X, R, _ = stream(n=20)
    policy = anytime_linucb(3, epsilon=np.inf, delta=0.1)
    p = of_epochs([online_linucb(3, T, epsilon=np.inf, delta=0.1).params for T in (1, 2)])
    s = run(policy._replace(params=p), X, R)[1]
    assert (s.t[0], s.epoch[0], s.run.t[0]) == (20, 1, 19)


# --- Algorithm 2 --------------------------------------------------------------------------------


def bases(T=400, epsilon=20.0, widths=(0.5, 3.0, 30.0), **options):
    return [online_linucb(3, T, epsilon=epsilon, delta=0.1, width=w, **options) for w in widths]


def twin(policies, p, X, R, seed=1):
    """Algorithm 2 in plain Python over live base learners: (arms, who was asked, active)."""
    rng, M = np.random.default_rng(seed), len(policies)
    states = [b.init(b.params) for b in policies]
    n, total, Z, active = np.zeros(M), np.zeros(M), np.zeros(M), set(range(M))
    arms, asked, sigma = [], [], policies[0].params.sigma

    def promise(i, m):
        inner = max(np.log(m * (1 + sigma**2)), 1.0)
        log = np.log(float(p.T) ** 3 * M * inner / p.failure)
        return p.L[i] * m ** p.alpha[i] + p.p * np.sqrt(m * (1 + sigma**2) * log)

    for D, y in zip(X, R, strict=True):
        U = {}
        for i in sorted(active, key=lambda i: p.R[i]):
            U[i] = np.inf
            if n[i] > 0:
                U[i] = total[i] / n[i] + min(1.0, promise(i, n[i]) / n[i]) - p.R[i] / p.T
        i = max(U, key=U.get)
        b = policies[i]
        arm = b.select(b.params, states[i], D, rng)
        b.update(b.params, states[i], arm, D[arm], y[arm], rng)
        noisy = states[i].message[3]
        Z[i] += (total[i] / n[i] if n[i] else 0.0) - noisy
        n[i], total[i] = n[i] + 1, total[i] + noisy
        if Z[i] >= promise(i, n[i]) and len(active) > 1:
            active.remove(i)
        arms.append(arm)
        asked.append(i)
    return np.array(arms), np.bincount(asked, minlength=M), active


@pytest.mark.parametrize(
    "options",
    [{}, {"p": 0.05, "L": 0.05}, {"R": (3.0, 0.0, 8.0), "p": 0.3, "alpha": (0.5, 0.75, 0.6)}],
)
def test_plays_algorithm_2(options):
    X, R, _ = stream()
    learners = bases()
    policy = combiner(learners, 400, **options)
    arms, s = run(policy, X, R)
    slow, counts, active = twin(learners, policy.params, X, R)
    assert np.array_equal(arms, slow)
    assert np.array_equal(s.counts, counts)
    assert set(np.flatnonzero(s.active)) == active
    assert s.t[0] == s.counts.sum() == 400


@pytest.mark.parametrize("make", ["online", "anytime"])
def test_one_learner_is_that_learner(make):
    X, R, _ = stream()
    learner = (
        online_linucb(3, 400, epsilon=5.0, delta=0.1)
        if make == "online"
        else anytime_linucb(3, epsilon=5.0, delta=0.1)
    )
    arms, s = run(combiner([learner], 400), X, R)
    own, _ = run(learner, X, R)
    assert np.array_equal(arms, own)
    assert s.counts.tolist() == [400]


def test_learners_keep_their_own_state():
    """Rounds of the anytime learner and of the others interleave; each sees only its own."""
    X, R, _ = stream()
    policy = combiner([anytime_linucb(3, epsilon=20.0, delta=0.1), *bases(learner="ogd")], 400)
    s = run(policy, X, R)[1]
    assert s.counts.min() > 0
    assert [b.t[0] for b in s.bases] == s.counts.tolist()
    assert [b.run.t[0] for b in s.bases[1:]] == s.counts[1:].tolist()
    n, first = s.counts[0], s.bases[0]  # 1 + 2 + ... + 2^(m - 1) rounds in full epochs
    assert first.epoch[0] == int(np.log2(n + 1))
    assert first.run.t[0] == n - (2 ** first.epoch[0] - 1)


def test_a_bad_learner_is_asked_less_and_less():
    """The second learner plays at random among arms whose rewards are far apart."""
    T, rng = 4000, np.random.default_rng(0)
    X = np.repeat(np.array([[[1.0, 0, 0], [0, 1.0, 0], [0, 0, 1.0]]]), T, axis=0)
    X = np.ascontiguousarray(X[:, rng.permutation(3)])
    R = np.ascontiguousarray(X @ np.array([1.0, -1.0, -1.0]))
    good, bad = bases(T, np.inf, widths=(2.0, 1e9))
    s = run(combiner([good, bad], T, L=0.3, p=0.3), X, R)[1]
    assert s.counts[1] < 0.1 * T
    half = run(combiner([good, bad], T, L=0.3, p=0.3), X[:1000], R[:1000])[1]
    assert s.counts[1] / T < half.counts[1] / 1000 or not half.active[1]


@pytest.mark.parametrize("seed", range(5))
def test_the_active_set_is_never_empty(seed):
    X, R, _ = stream(seed=seed)
    s = run(combiner(bases(epsilon=1.0), 400, L=1e-6, p=0.0), X, R, seed=seed)[1]
    assert s.active.sum() == 1  # everyone breaks such a promise
    assert s.counts.sum() == 400


# P = P' = 1, failure = 0.1: R_i / T, digits as printed.
REGRET = {(20_000, 5, 1.0): (36.9, 6.1, 3.2), (10**8, 5, 1.0): (15.6, 1.2, 0.4, 0.2, 0.1)}


@pytest.mark.parametrize("case", REGRET)
def test_constants_of_the_theorem(case):
    T, d, epsilon = case
    c = theory_constants(d, T, epsilon, 0.1)
    assert len(c.R) == np.ceil(np.log2(T) / 8) + 1
    np.testing.assert_allclose(c.R / T, REGRET[case], atol=0.0501)
    np.testing.assert_allclose(c.guess, 2.0 ** np.arange(len(c.R)) / T**0.125)
    assert c.alpha.tolist() == [0.75] + [0.5] * (len(c.R) - 1)
    if T == 20_000:
        np.testing.assert_allclose(c.guess, (0.29, 0.58, 1.16), atol=0.005)
    # alpha = 1/2: the coefficient of L^2 T eta is 2.25.
    log = 288 * np.log(float(T) ** 3 * len(c.R) / 0.1)
    rest = (1 / c.eta).sum() - 1 / c.eta[1]
    by_hand = c.L[1] * T**0.5 + 2.25 * c.L[1] ** 2 * T * c.eta[1] + log * T * c.eta[1] + rest
    assert c.R[1] == pytest.approx(by_hand, rel=1e-12)


def test_with_the_theorems_constants_it_does_not_adapt():
    X, R, _ = stream()
    policy = combiner(bases(), 400, constants="theory")
    s = run(policy, X, R)[1]
    best = np.argmin(policy.params.R)
    assert s.counts[best] == 398  # the others are tried once each
    assert sorted(s.counts) == [1, 1, 398]


def test_guarantee_is_that_of_one_message():
    learners = bases(epsilon=3.0, calibration="paper")
    assert combiner(learners, 400).guarantee == learners[0].guarantee


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ([], "bases must hold at least one"),
        (
            [
                online_linucb(3, 400, epsilon=1.0, delta=0.1),
                online_linucb(3, 400, epsilon=2.0, delta=0.1),
            ],
            "bases must share",
        ),
        (
            [
                online_linucb(3, 400, epsilon=1.0, delta=0.1),
                online_linucb(4, 400, epsilon=1.0, delta=0.1),
            ],
            "bases must share",
        ),
        (
            [
                online_linucb(3, 400, epsilon=1.0, delta=0.1),
                anytime_linucb(3, epsilon=1.0, delta=0.1, universe="offset_sphere"),
            ],
            "share",
        ),
        ([online_linucb(3, 300, epsilon=1.0, delta=0.1)], r"bases\[0\] must have a horizon"),
        ([online_linucb(3, 400, epsilon=1.0, delta=0.1), linucb(3)], r"bases\[1\] must be"),
        ([3], r"bases\[0\] must be"),
    ],
)
def test_rejects_learners_that_do_not_match(wrong, text):
    with pytest.raises(ValueError, match=text):
        combiner(wrong, 400)


def test_the_theorem_needs_a_finite_epsilon():
    with pytest.raises(ValueError, match="epsilon=inf"):
        combiner(bases(epsilon=np.inf), 400, constants="theory")


def test_a_learner_is_dropped_when_its_excess_reaches_its_promise():
    """Without noise and concentration: promise sqrt(n)/2, rewards 1, 0, 0, ...; met at n = 6."""
    bases = [online_linucb(2, 100, epsilon=np.inf, delta=0.1, width=w) for w in (1.0, 2.0)]
    policy = combiner(bases, 100, L=0.5, p=0.0)
    s = policy.init(policy.params)
    for n, y in enumerate([1.0, 0.0, 0.0, 0.0, 0.0, 0.0], start=1):
        assert s.active[0], n
        record(policy.params, s, 0, y)
    excess = -1.0 + 1.0 + 1 / 2 + 1 / 3 + 1 / 4 + 1 / 5
    assert s.excess[0] == pytest.approx(excess)
    assert s.active.tolist() == [False, True]


def test_a_message_carries_the_perturbation_of_the_learner_that_serves():
    bases = [online_linucb(2, 100, epsilon=1e3, delta=0.1, jitter=v) for v in (0.0, 100.0)]
    policy = combiner(bases, 100, R=[1.0, 0.0])
    s = policy.init(policy.params)
    assert s.base[0] == 1
    rng = np.random.default_rng(3)
    policy.update(policy.params, s, 0, np.array([0.6, 0.8]), 1.0, rng)
    assert np.linalg.norm(s.bases[1].run.message[:2]) > 3.0


T = 20_000


def test_constants_of_the_anytime_learner_by_hand():
    d, epsilon, failure = 5, 0.7, 0.1
    c = theory_constants(d, T, epsilon, failure)
    M, log, root = 3, np.log(T) ** 1.5, epsilon * T**0.125
    eta = [
        root / (np.sqrt(d * T) * (log * root + 1)),
        *[epsilon / (log * np.sqrt(d * T))] * 2,
    ]
    np.testing.assert_allclose(c.eta, eta, rtol=1e-12)
    L = log * np.sqrt(d) * (root + 1) / root
    factor = 0.25 ** (1 / 3) * 1.75 ** (4 / 3) / 0.75 ** (1 / 3)
    R = L * T**0.75 + factor * L ** (4 / 3) * T * eta[0] ** (1 / 3)
    R += 288 * np.log(T**3 * M / failure) * T * eta[0] + 2 / eta[1]
    assert c.L[0] == pytest.approx(L, rel=1e-12)
    assert c.R[0] == pytest.approx(R, rel=1e-12)


def test_constants_of_theorem_4_1_by_hand():
    c = theory_constants(5, T, 0.7, 0.1)
    np.testing.assert_allclose(c.guess, [0.289982140011, 0.579964280022, 1.159928560044], 1e-10)
    np.testing.assert_allclose(c.L, [98.559062074995, 171.659544600617, 85.829772300309], 1e-10)
    np.testing.assert_allclose(c.eta, [1.00134362593e-4, *[7.10257453468e-5] * 2], 1e-10)
    np.testing.assert_allclose(c.R, [831261.690824, 156069.765132, 73295.701332], 1e-10)
    assert list(c.alpha) == [0.75, 0.5, 0.5]
