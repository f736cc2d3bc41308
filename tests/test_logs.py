"""Estimates from logs, against a world whose values are known: every expectation is a finite sum.

The world: two contexts, two arms, rewards 0 or 1.  Logs of n rounds are enumerated with their
probabilities, so bias is computed, not sampled.
"""

import itertools

import numpy as np
import pytest
from streams import stream as make_stream

from companion import logs, stats
from companion.accounting.privacy import NO_PRIVACY
from companion.baselines.linucb import linucb
from companion.baselines.random import random
from companion.logs import (
    doubly_robust,
    fitted,
    inverse_weighted,
    log_of,
    private_mean,
    private_value,
    replay_value,
    self_normalised,
)

SEEN = np.array([[[1.0, 0.0], [0.0, 1.0]], [[0.5, 0.5], [0.5, -0.5]]])  # (context, arm, d)
SHARE = np.array([0.3, 0.7])  # of the contexts
PAYS = np.array([[0.9, 0.2], [0.4, 0.6]])  # probability of a reward of 1
DRAWN = np.array([[0.25, 0.75], [0.6, 0.4]])  # by the one who logged
RULE = np.array([[1.0, 0.0], [0.2, 0.8]])  # to be valued
VALUE = float((SHARE[:, None] * RULE * PAYS).sum())


def rounds():
    """(context, arm, reward, probability) of everything that a round can be."""
    for c, a, r in itertools.product((0, 1), (0, 1), (0, 1)):
        yield c, a, r, SHARE[c] * DRAWN[c, a] * (PAYS[c, a] if r else 1 - PAYS[c, a])


def logged(several):
    """(log, target, probability) of a sequence of rounds."""
    c, a, r, p = (np.array(part) for part in zip(*several, strict=True))
    return log_of(SEEN[c], a, r.astype(float), DRAWN[c]), RULE[c], float(np.prod(p))


def expected(estimate, n=2):
    """The expectation of an estimator over all logs of n rounds, NaN left out."""
    total = 0.0
    for several in itertools.product(rounds(), repeat=n):
        log, target, p = logged(several)
        total += p * estimate(log, target).interval.value
    return total


def test_the_logs_are_a_distribution():
    assert sum(p for *_, p in rounds()) == pytest.approx(1.0)


def test_inverse_weighting_is_unbiased():
    assert expected(inverse_weighted) == pytest.approx(VALUE, abs=1e-13)


def test_doubly_robust_is_unbiased_whatever_the_model():
    for model in (np.full((2, 2), 7.0), np.array([[0.1, -3.0], [2.0, 0.5]])):
        found = expected(lambda log, target, m=model: doubly_robust(log, target, m))
        assert found == pytest.approx(VALUE, abs=1e-12)
    assert expected(doubly_robust) == pytest.approx(VALUE, abs=1e-13)  # fitted on the other fold


def test_a_model_that_saw_its_own_row_is_biased():
    """Why `fitted` leaves the row out."""

    def peeking(log, target):
        model = fitted(log)
        model[np.arange(2), log.arms] = log.rewards
        return doubly_robust(log, target, model)

    assert abs(expected(peeking) - VALUE) > 0.01


def test_the_bias_of_self_normalisation_is_what_it_says():
    """Over all logs of n rounds: the mean of sum w r / sum w is n times that of w r / (w + sum w').

    w' are the weights of the other n - 1 rounds; their sum is a number of thirds.
    """
    atoms = [(RULE[c, a] / DRAWN[c, a], r, p) for c, a, r, p in rounds()]
    assert {round(3 * w, 12) for w, *_ in atoms} == {0.0, 1.0, 6.0, 12.0}
    law, n = {0: 1.0}, 60
    for _ in range(n - 1):
        new = {}
        for a, q in law.items():
            for w, _, p in atoms:
                key = a + round(3 * w)
                new[key] = new.get(key, 0.0) + q * p
        law = new
    mean = n * sum(
        q * p * w * r / (w + a / 3) for a, q in law.items() for w, r, p in atoms if w > 0
    )
    spread = sum(p * w * w for w, _, p in atoms) - 1.0
    common = sum(p * w * w * r for w, r, p in atoms) - VALUE
    said = VALUE * spread - common
    assert abs(said) > 0.1
    assert n * (mean - VALUE) == pytest.approx(said, rel=0.15)


def world(n, rng):
    c = rng.choice(2, n, p=SHARE)
    a = (rng.random(n) < DRAWN[c, 1]).astype(int)
    return log_of(SEEN[c], a, (rng.random(n) < PAYS[c, a]).astype(float), DRAWN[c]), RULE[c]


@pytest.mark.parametrize("estimate", [inverse_weighted, self_normalised, doubly_robust])
def test_intervals_cover(estimate):
    """400 logs of 300 rounds at 95 %: 89 % to 99.5 % hold the value (false alarm below 1e-6)."""
    rng = np.random.default_rng(1)
    found = [estimate(*world(300, rng)).interval for _ in range(400)]
    share = np.mean([i.low <= VALUE <= i.high for i in found])
    assert 0.89 < share <= 0.995
    assert np.mean([i.value for i in found]) == pytest.approx(VALUE, abs=0.02)


def test_self_normalised_does_not_mind_a_constant_and_arms_are_shares():
    log, target = world(200, np.random.default_rng(2))
    lifted = log._replace(rewards=log.rewards + 5.0)
    a, b = (self_normalised(x, target).interval for x in (log, lifted))
    np.testing.assert_allclose(np.array(b) - 5.0, a)
    arms = target.argmax(axis=1)
    for estimate in (inverse_weighted, self_normalised, doubly_robust):
        assert estimate(log, arms) == estimate(log, np.eye(2)[arms])
        assert estimate(log, arms).guarantee == NO_PRIVACY


X, R, _ = make_stream(300)
ARMS = np.random.default_rng(3).integers(0, X.shape[1], 300)
UNIFORM = log_of(X, ARMS, R[np.arange(300), ARMS], "uniform")


def test_replay_is_the_mean_of_the_rounds_in_which_the_policy_agrees():
    """Random play is valued at the mean of the logged rewards, and learning pays more."""
    live, found = linucb(3).start(1), []
    for x, arm, reward in zip(X, ARMS, UNIFORM.rewards, strict=True):
        before = live.state
        if live.select(x) == arm:
            live.update(arm, reward)
            found.append(reward)
        else:
            live.state = before
            live._open.clear()
    estimate = replay_value(linucb(3), UNIFORM, 1)
    assert estimate.interval == stats.mean_interval(found)
    assert estimate.rounds == len(found)
    assert estimate.interval.value > replay_value(random(), UNIFORM, 1).interval.value


def test_replay_of_a_fixed_rule_is_unbiased():
    """Over all logs of 3 rounds in which two arms were equally likely, given that some agree."""

    class Rule:
        def __call__(self, p, s, x, rng):
            return 0 if x[0, 0] == 1.0 else 1

    policy = random()._replace(select=Rule(), update=lambda p, s, *_: s)
    total = weight = 0.0
    for several in itertools.product(rounds(), repeat=3):
        c, a, r, p = (np.array(part) for part in zip(*several, strict=True))
        log = log_of(SEEN[c], a, r.astype(float), "uniform")
        p = np.prod(p / DRAWN[c, a] / 2)
        estimate = replay_value(policy, log, 0)
        if estimate.rounds:
            total, weight = total + p * estimate.interval.value, weight + p
    assert weight == pytest.approx(1 - 0.5**3)
    assert total / weight == pytest.approx(SHARE @ [PAYS[0, 0], PAYS[1, 1]], abs=1e-13)


def test_few_rounds_have_no_interval():
    short = log_of(X[:1], ARMS[:1], [0.5], "uniform")
    found = [replay_value(random(), short, seed) for seed in range(40)]
    assert {e.rounds for e in found} == {0, 1}
    assert all(e.interval.high == np.inf for e in found)


@pytest.mark.parametrize(
    "call",
    [
        lambda log: replay_value(linucb(3), log, 1),
        lambda log: inverse_weighted(log, log.arms),
        lambda log: self_normalised(log, log.arms),
        lambda log: doubly_robust(log, log.arms),
        lambda log: private_value(log, log.arms, 0, 1, 0.1, 1.0),
    ],
)
def test_a_log_without_propensities_is_refused(call):
    call(UNIFORM)
    with pytest.raises(ValueError, match="log must have propensities"):
        call(log_of(X, ARMS, UNIFORM.rewards))
    log_like = type("Fake", (), {"arms": ARMS})()
    with pytest.raises(ValueError, match="log must be made by log_of"):
        call(log_like)


def test_replay_refuses_a_log_that_is_not_uniform():
    log, _ = world(20, np.random.default_rng(0))
    with pytest.raises(ValueError, match="uniform propensities"):
        replay_value(linucb(2), log, 1)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"arms": [9] * 300}, "arms must be integers in"),
        ({"arms": [0.0] * 300}, "arms must be integers in"),
        ({"arms": [0] * 299}, r"arms must have shape \(300\)"),
        ({"rewards": [np.nan] * 300}, "rewards must be finite"),
        ({"rewards": [1e40] * 300}, "rewards must be finite, at most"),
        ({"propensities": [0.5] * 300}, "propensities must have shape"),
        ({"propensities": np.full(X.shape[:2], 0.3)}, "propensities must have rows"),
        ({"propensities": np.eye(X.shape[1])[ARMS]}, r"propensities must be in \(0, 1\]"),
        ({"propensities": "known"}, "propensities must"),
    ],
)
def test_a_log_out_of_order_is_refused(change, words):
    keys = {"X": X, "arms": ARMS, "rewards": UNIFORM.rewards, "propensities": "uniform"} | change
    with pytest.raises(ValueError, match=words):
        log_of(**keys)


def test_a_target_that_is_none_is_refused():
    for bad in ([7] * 300, np.full((300, X.shape[1]), 0.9), [0] * 3, -np.ones((300, 5))):
        with pytest.raises(ValueError, match="target must"):
            inverse_weighted(UNIFORM, bad)
    never = (ARMS + 1) % X.shape[1]
    with pytest.raises(ValueError, match="target must play the logged arm"):
        self_normalised(UNIFORM, never)


def quiet(monkeypatch):
    """No noise, and a list of the scales that would have been drawn."""
    scales = []
    monkeypatch.setattr(logs, "laplace", lambda rng, scale: scales.append(scale) or 0.0)
    return scales


def test_one_person_moves_the_private_mean_by_its_sensitivity_and_the_noise_fits(monkeypatch):
    """The largest movement over neighbours, over the scale of the noise, is the epsilon said."""
    scales = quiet(monkeypatch)
    rng, moved = np.random.default_rng(0), []
    for _ in range(200):
        a = rng.uniform(-3, 5, 8)
        b = a.copy()
        b[rng.integers(8)] = rng.choice([-1e9, -1.0, 3.0, 1e9])
        a[rng.integers(8)] = rng.choice([-1e9, 3.0])
        if (a != b).sum() == 1:
            pair = [private_mean(v, -1.0, 3.0, 0.7) for v in (a, b)]
            moved.append(abs(pair[0].interval.value - pair[1].interval.value))
    assert max(moved) == pytest.approx(4.0 / 8)
    assert max(moved) / scales[0] == pytest.approx(0.7)
    assert pair[0].guarantee.epsilon == pytest.approx(0.7)
    assert (pair[0].guarantee.model, pair[0].guarantee.delta) == ("central", 0.0)


def test_one_row_of_a_log_moves_its_private_value_by_its_sensitivity(monkeypatch):
    """Two-sided rewards; the propensity of a row may be below what was said, it is clipped."""
    scales, n = quiet(monkeypatch), 4
    base = [(0, 0, 0, 1)] * (n - 1)
    found = []
    for c, a, r, p0 in itertools.product((0, 1), (0, 1), (-9.0, -1.0, 0.5, 2.0, 9.0), (0.01, 0.6)):
        rows = [*base, (c, a, r, 1)]
        c_, a_, r_, _ = (np.array(part) for part in zip(*rows, strict=True))
        shares = np.array([*DRAWN[c_[:-1]], [p0, 1 - p0]])
        log = log_of(SEEN[c_], a_, r_.astype(float), shares)
        for rule in (RULE[c_], np.eye(2)[a_]):
            e = private_value(log, rule, -1.0, 2.0, 0.25, 0.5)
            found.append(e.interval.value)
    spread = max(found) - min(found)
    assert spread == pytest.approx((2.0 + 1.0) / 0.25 / n)
    assert spread / scales[0] == pytest.approx(e.guarantee.epsilon)
    assert e.guarantee.epsilon == pytest.approx(0.5)


def test_the_noise_of_a_private_mean_is_laplace_and_its_interval_holds():
    """Mean size of the noise within 6 standard errors; intervals of 95 % hold in 93 % at least."""
    values = np.tile([0.0, 1.0], 50)
    found = [private_mean(values, 0, 1, 0.5, seed).interval for seed in range(4000)]
    noise = np.array([i.value for i in found]) - 0.5
    scale = 1 / 100 / 0.5
    assert np.abs(noise).mean() == pytest.approx(scale, abs=6 * scale / np.sqrt(4000))
    assert np.var(noise) == pytest.approx(2 * scale**2, rel=0.25)
    assert np.mean([i.low <= 0.5 <= i.high for i in found]) > 0.93


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"low": 1.0, "high": 1.0}, "low must be below high"),
        ({"epsilon": 0.0}, "epsilon must be"),
        ({"epsilon": np.inf}, "epsilon must be"),
        ({"values": []}, "values must"),
        ({"values": [np.nan]}, "values must be finite"),
        ({"level": 1.0}, "level must be"),
    ],
)
def test_bad_arguments_of_a_private_mean(change, words):
    with pytest.raises(ValueError, match=words):
        private_mean(**({"values": [0.5], "low": 0.0, "high": 1.0, "epsilon": 1.0} | change))
