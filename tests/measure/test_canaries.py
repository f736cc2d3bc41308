"""Audits from one run: closed forms, planted losses, and how often the innocent are
accused."""

import numpy as np
import pytest
from scipy import stats as sps

from companion.baselines.jdp_linucb import jdp_linucb
from evidence.attacks.private_linucb import far_move, far_records
from evidence.measure import canaries as one_run
from evidence.measure import faults

ALARM = 1e-6  # chance that chance alone fails a test here, each


def normal(mu, m, rng):
    """(scores, coins) of canaries that each have a Gaussian mechanism of their own."""
    coins = rng.integers(0, 2, m)
    return mu * (coins - 0.5) + rng.standard_normal(m), coins


def test_without_delta_the_bound_is_nearly_that_of_a_binomial():
    """Right guesses of a pure mechanism are at most Binomial(g, e^epsilon / (1 +
    e^epsilon))."""
    epsilon = one_run.pure_epsilon(80, 100, 1000, 0.0, level=0.95)
    low = sps.beta.ppf(0.05, 80, 21)  # Clopper and Pearson
    assert low - 0.005 < 1 / (1 + np.exp(-epsilon)) <= low


def test_one_guess_solves_the_inequality_by_hand():
    """m = g = 1: r_1 = tau at least, h_0 >= Phi(Phi^-1(tau) - mu), and q_0 = tau +
    h_0."""
    mu = 0.7
    tau = 0.3
    tail = one_run._tail(
        1,
        1,
        1,
        tau,
        lambda x: float(sps.norm.cdf(sps.norm.ppf(x) - mu)),
    )
    assert tail == pytest.approx(tau + sps.norm.cdf(sps.norm.ppf(tau) - mu), rel=1e-9)


@pytest.mark.parametrize("guesses", [20, 100, 400])
@pytest.mark.parametrize("mu", [0.5, 1.5])
def test_the_innocent_are_rarely_accused(mu, guesses):
    runs = 200
    accused = 0
    for seed in range(runs):
        found = one_run.audit(
            *normal(mu, 400, np.random.default_rng(seed)),
            delta=0.1,
            guesses=guesses,
            level=0.9,
        )
        accused += found.mu > mu
    assert accused <= sps.binom.isf(ALARM, runs, 0.1)


@pytest.mark.parametrize(
    ("name", "value"),
    [("guesses", 0), ("guesses", 11), ("delta", 1.0), ("level", 1.0), ("delta", np.nan)],
)
def test_bad_input_is_refused_by_name(name, value):
    keys = {"delta": 0.0, "guesses": 5, "level": 0.9, name: value}
    with pytest.raises(ValueError, match=name):
        one_run.audit(np.ones(10), np.ones(10, int), **keys)


def test_the_scores_farthest_from_0_are_guessed_and_each_bound_has_the_level():
    scores = np.repeat([-9.0, 1.0], 40)
    coins = np.zeros(80, int)
    found = one_run.audit(scores, coins, delta=0.0, guesses=40, level=0.6)
    # without delta no epsilon follows from mu
    assert (found.right, found.gaussian) == (40, 0.0)
    assert found.mu == one_run.gaussian_mu(40, 40, 80, 0.6) > 0.0
    assert found.epsilon == one_run.pure_epsilon(40, 40, 80, 0.0, 0.6) > 0.0


def test_coins_are_coins():
    with pytest.raises(ValueError, match="coins"):
        one_run.audit(np.ones(10), np.full(10, 0.5), delta=0.0, guesses=5)
    with pytest.raises(ValueError, match="finite"):
        one_run.audit(np.full(3, np.nan), np.ones(3, int), delta=0.0, guesses=2)


def test_delta_is_paid_for_by_hand():
    """One guess, m = g = 1, is right with chance (delta + e^epsilon)/(1 + e^epsilon) at
    most."""
    epsilon = one_run.pure_epsilon(1, 1, 1, 0.1, level=0.3)
    assert epsilon == pytest.approx(np.log(2.0), abs=2e-4)  # 0.7 = (0.1 + 2)/3


def test_a_tree_shows_its_nodes_in_one_stream():
    """Without noise every canary is told; its nodes hold nobody else's record."""
    policy = jdp_linucb(2, 256, epsilon=1.0, delta=0.1)
    quiet = policy._replace(params=policy.params._replace(sigma=1e-9))
    pair = far_records(False, 2)
    move = far_move(False, 2)
    scores, coins = one_run.nodes(quiet, 16, pair, move, np.random.default_rng(1))
    assert len(coins) == 16
    np.testing.assert_allclose(scores, (2 * coins - 1) * 4 * 4.5 / 2, rtol=1e-6)


def test_honest_streams_rarely_alarm_and_half_the_noise_does():
    target = next(t for t in faults.targets() if t.name == "online_linucb")
    keys = {
        "canaries": 1000,
        "guesses": 125,
        "delta": 0.1,
        "promised": 1.0,
        "repeats": 40,
    }
    # of 40 at 5 %: 1e-11
    assert one_run.rates(target.attacks[0], seed=5, **keys)[2] <= 16
    weak = target.attack(faults.half_noise(target.algorithm))[0]
    assert one_run.rates(weak, seed=6, **keys)[2] >= 20
