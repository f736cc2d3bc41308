"""The combiner against a slow twin of Algorithm 2, its constants, and Algorithm 9."""

import numpy as np
import pytest
from streams import run, stream

from companion.baselines.linucb import linucb
from companion.online_linucb.combiner import init, of_epochs, record, theory_constants
from companion.policies import anytime_linucb, combiner, online_linucb


def one(d=3, T=400, epsilon=1.0):
    return online_linucb(d, T, epsilon=epsilon, delta=0.1)


# Algorithm 9: restarts after 1, 2, 4, ... rounds


@pytest.mark.parametrize("epsilon", [20.0, np.inf])
@pytest.mark.parametrize("learner", ["maler", "ogd"])
def test_is_a_sequence_of_restarts(epsilon, learner):
    X, R, _ = stream(n=500)
    policy = anytime_linucb(
        3,
        epsilon=epsilon,
        delta=0.1,
        k=0.5,
        lambda_min=0.2,
        learner=learner,
    )
    arms, s = run(policy, X, R)
    rng = np.random.default_rng(1)
    start = 0
    for m in range(9):
        jitter = 2.0 ** (-m / 2)
        if jitter < 0.2 or epsilon == np.inf:
            jitter = 0.0
        epoch = online_linucb(
            3,
            2**m,
            epsilon=epsilon,
            delta=0.1,
            learner=learner,
            jitter=jitter,
        )
        block = slice(start, start + 2**m)
        expected, state = run(epoch, X[block], R[block], seed=rng)
        assert np.array_equal(arms[block], expected), m
        start += 2**m
    np.testing.assert_array_equal(s.run.centre, state.centre)
    assert (s.t[0], s.epoch[0], s.run.t[0]) == (500, 8, 500 - 255)


def test_the_last_epoch_does_not_end():
    X, R, _ = stream(n=20)
    policy = anytime_linucb(3, epsilon=np.inf, delta=0.1)
    epochs = [one(T=T, epsilon=np.inf).params for T in (1, 2)]
    p = of_epochs(epochs)
    s = run(policy._replace(params=p), X, R)[1]
    assert (s.t[0], s.epoch[0], s.run.t[0]) == (20, 1, 19)


# Algorithm 2


def twin(policies, p, X, R, seed=1):
    """Algorithm 2 in plain Python over live base learners: (arms, who was asked,
    active)."""
    rng = np.random.default_rng(seed)
    M = len(policies)
    states = [b.init(b.params) for b in policies]
    n = np.zeros(M)
    total = np.zeros(M)
    Z = np.zeros(M)
    active = set(range(M))
    arms = []
    asked = []
    sigma = policies[0].params.sigma

    def promise(i, m):
        spread = m * (1 + sigma**2)
        inner = max(np.log(spread), 1.0)
        log = np.log(float(p.T) ** 3 * M * inner / p.failure)
        return p.L[i] * m ** p.alpha[i] + p.p * np.sqrt(spread * log)

    for D, y in zip(X, R, strict=True):
        U = {}
        for i in sorted(active, key=lambda i: p.R[i]):
            U[i] = np.inf
            if n[i] > 0:
                bonus = min(1.0, promise(i, n[i]) / n[i])
                U[i] = total[i] / n[i] + bonus - p.R[i] / p.T
        i = max(U, key=U.get)
        b = policies[i]
        arm = b.select(b.params, states[i], D, rng)
        b.update(b.params, states[i], arm, D[arm], y[arm], rng)
        noisy = getattr(states[i], "run", states[i]).message[3]
        Z[i] += total[i] / max(n[i], 1.0) - noisy
        n[i] += 1
        total[i] += noisy
        if Z[i] >= promise(i, n[i]) and len(active) > 1:
            active.remove(i)
        arms.append(arm)
        asked.append(i)
    return np.array(arms), np.bincount(asked, minlength=M), active


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"p": 0.05, "L": 0.05},  # base learners are dropped
        {"p": 0.0, "L": 1e-6},  # all would be, but the last
        {"R": (3.0, 0.0, 8.0), "p": 0.3, "alpha": (0.5, 0.75, 0.6)},
        {"constants": "theory"},  # R alone decides
    ],
)
def test_plays_algorithm_2(options):
    X, R, _ = stream()
    budget = {"epsilon": 20.0, "delta": 0.1}
    bases = [online_linucb(3, 400, width=w, jitter=0.2, **budget) for w in (0.5, 30.0)]
    bases = [anytime_linucb(3, **budget), *bases]
    policy = combiner(bases, 400, **options)
    arms, s = run(policy, X, R)
    slow, counts, active = twin(bases, policy.params, X, R)
    assert np.array_equal(arms, slow)
    assert np.array_equal(s.counts, counts)
    assert set(np.flatnonzero(s.active)) == active
    assert s.t[0] == s.counts.sum() == 400
    assert policy.guarantee == bases[0].guarantee


SHARED = "bases must share"  # what they send


@pytest.mark.parametrize(
    ("bases", "message"),
    [
        ([], "bases must hold at least one"),
        ([one(), linucb(3)], r"bases\[1\] must be"),
        ([one(), one(epsilon=2.0)], SHARED),
        ([one(), one(d=4)], SHARED),
        ([one(), anytime_linucb(3, epsilon=1.0, delta=0.2)], SHARED),
    ],
)
def test_base_learners_that_do_not_go_together_are_refused(bases, message):
    with pytest.raises(ValueError, match=message):
        combiner(bases, 400)


def test_the_theory_has_no_constants_without_privacy():
    with pytest.raises(ValueError, match="epsilon=inf"):
        combiner([one(epsilon=np.inf)], 400, constants="theory")


def test_constants_of_theorem_4_1_by_hand():
    c = theory_constants(5, 20_000, 0.7, 0.1)
    guess = [0.289982140011, 0.579964280022, 1.159928560044]
    L = [98.559062074995, 171.659544600617, 85.829772300309]
    R = [831261.690824, 156069.765132, 73295.701332]
    np.testing.assert_allclose(c.guess, guess, 1e-10)
    np.testing.assert_allclose(c.L, L, 1e-10)
    np.testing.assert_allclose(c.R, R, 1e-10)
    assert list(c.alpha) == [0.75, 0.5, 0.5]


# what is right at the border


def test_a_base_learner_for_just_the_horizon_is_taken_and_one_for_a_round_less_is_not():
    assert combiner([one(T=400)], 400).params.T == 400
    with pytest.raises(ValueError, match=r"bases\[0\] must have a horizon"):
        combiner([one(T=400)], 401)


def test_an_epoch_perturbs_up_to_the_known_eigenvalue_itself():
    """k = 1: 2^-m is 1, 1/2, 1/4, ... and the last one that is no smaller than 1/4
    stays."""
    p = anytime_linucb(2, epsilon=1.0, delta=0.1, k=1.0, lambda_min=0.25).params
    assert p.jitter[:5].tolist() == [1.0, 0.5, 0.25, 0.0, 0.0]


def test_a_base_learner_is_dropped_where_its_loss_meets_the_promise():
    """Promise of 1 for one round and no concentration: a first reward of -1 is just as
    far."""
    base = one(d=2, T=4, epsilon=np.inf)
    p = combiner([base, base], 4, L=1.0, p=0.0).params
    for reward, active in ((-1.0, False), (-0.999, True)):
        s = init(p)
        s.t[0] = 8  # rounds of the other one, which do not count
        record(p, s, 0, reward)
        assert s.active.tolist() == [active, True]


def test_promises_by_default_are_three_quarters_without_a_horizon_and_one_half_with_one():
    bases = [anytime_linucb(2, epsilon=1.0, delta=0.1), one(d=2, T=8)]
    assert combiner(bases, 8).params.alpha.tolist() == [0.75, 0.5]


def test_the_theory_takes_the_budget_that_was_asked_for():
    """The printed noise gives another epsilon than it claims; the constants are for the
    claim."""
    base = online_linucb(2, 8, epsilon=1.0, delta=0.1, calibration="paper")
    found = combiner([base, base], 8, constants="theory").params.L
    assert found == pytest.approx(theory_constants(2, 8, 1.0, 1 / 8, 2).L)


@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_a_power_outside_the_open_unit_interval_is_refused(alpha):
    with pytest.raises(ValueError, match=r"alpha in \(0, 1\)"):
        combiner([one(d=2, T=8)], 8, alpha=alpha)


def test_the_theorem_takes_one_more_than_an_eighth_of_the_logarithm_rounded_up():
    """log2(512)/8 = 9/8: two, and one more."""
    assert len(theory_constants(2, 512, 1.0, 0.1).R) == 3
