"""The combiner against a slow twin of Algorithm 2, and its constants."""

import numpy as np
import pytest
from streams import run, stream

from companion.baselines.linucb import linucb
from companion.online_linucb.anytime import anytime_linucb
from companion.online_linucb.combiner import combiner, record, theory_constants
from companion.online_linucb.policy import online_linucb, randomize


def bases(T=400, epsilon=20.0, widths=(0.5, 3.0, 30.0), **options):
    return [online_linucb(3, T, epsilon=epsilon, width=w, **options) for w in widths]


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
        before = rng.bit_generator.state
        states[i] = b.update(b.params, states[i], arm, D[arm], y[arm], rng)
        after = rng.bit_generator.state
        rng.bit_generator.state = before
        noisy, _ = randomize(b.params, D[arm], y[arm], rng, np.empty(3))
        rng.bit_generator.state = after
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
    assert s.t == s.counts.sum() == 400


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
    assert np.array_equal(s.bases.t, s.counts)
    assert np.array_equal(s.bases.run.t[1:], s.counts[1:])
    n = s.counts[0]  # 1 + 2 + ... + 2^(m - 1) rounds in full epochs
    assert s.bases.epoch[0] == int(np.log2(n + 1))
    assert s.bases.run.t[0] == n - (2 ** s.bases.epoch[0] - 1)


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


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("T", 1),
        ("T", 1e30),
        ("L", 0.0),
        ("L", (1.0, 1.0)),
        ("alpha", 1.0),
        ("R", -1.0),
        ("p", -0.1),
        ("p", np.nan),
        ("failure", 1.0),
        ("constants", "x"),
    ],
)
def test_rejects_bad_input_by_name(name, value):
    with pytest.raises(ValueError, match=name):
        combiner(bases(), **{"T": 400, name: value})


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
    assert s.base == 1
    rng = np.random.default_rng(3)
    s = policy.update(policy.params, s, 0, np.array([0.6, 0.8]), 1.0, rng)
    assert np.linalg.norm(s.bases.run.x[1]) > 3.0
