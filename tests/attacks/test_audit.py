"""The audit finds planted violations, and does not accuse correct mechanisms too
often."""

import numpy as np
import pytest
from scipy import stats as sps

from companion.accounting import privacy
from companion.baselines.jdp_linucb import jdp_linucb
from evidence.attacks import audit
from evidence.attacks.audit import counted, delta_lower_bound, epsilon_lower_bound

X = np.zeros((4, 2, 2))
R = np.zeros((4, 2))
POLICY = jdp_linucb(2, 8, epsilon=1.0, delta=0.1)
OTHER = R.copy()  # of user 1
OTHER[1] = 1.0


def laplace(scale):
    def noisy(x, rng, n):
        return x + rng.laplace(0.0, scale, n)

    return noisy


def gaussian(sigma):
    def noisy(x, rng, n):
        return x + sigma * rng.standard_normal(n)

    return noisy


def response(truthful):
    """Randomised response: tells the bit with this probability."""

    def told(bit, rng, n):
        is_true = rng.random(n) < truthful
        return np.where(is_true, bit, 1 - bit)

    return told


def shown(mechanism, trials, seed, **options):
    """epsilon at least, of the inputs 0 and 1."""
    found = epsilon_lower_bound(mechanism, 0, 1, trials=trials, seed=seed, **options)
    return found.epsilon


def delta_shown(mechanism, trials, seed, **options):
    """delta at least, of the same."""
    found = delta_lower_bound(mechanism, 0, 1, trials=trials, seed=seed, **options)
    return found.delta


def test_bound_is_close_to_the_truth_for_laplace():
    found = shown(laplace(1.0), 400_000, 1)
    again = shown(laplace(1.0), 400_000, 1)
    assert 0.95 < found < 1.0
    assert found == again


def test_bound_is_close_to_the_truth_for_randomised_response():
    truth = np.log(3.0)
    found = shown(response(0.75), 200_000, 2)
    assert truth - 0.03 < found < truth


def test_bound_is_close_to_the_truth_for_the_gaussian_delta():
    truth = privacy.gaussian_delta(0.5, 1.0)
    found = delta_shown(gaussian(1.0), 400_000, 3, epsilon=0.5)
    assert truth - 0.015 < found < truth


def leaks(x, rng, n):
    """Shows the data once in a hundred times."""
    return np.where(rng.random(n) < 0.01, x + 10.0, 0.0)


def test_different_supports_give_a_finite_bound_that_grows_with_the_trials():
    small = epsilon_lower_bound(leaks, 0, 1, trials=4000, seed=7)
    large = epsilon_lower_bound(leaks, 0, 1, trials=400_000, seed=7)
    assert small.hits[1] == large.hits[1] == 0
    assert large.trials == 200_000
    assert 0.5 < small.epsilon < large.epsilon < np.inf


def test_what_is_shown_once_in_a_hundred_times_is_a_matter_of_delta():
    assert shown(leaks, 400_000, 7, delta=0.011) == 0.0
    found = delta_shown(leaks, 400_000, 7, epsilon=2.0)
    assert 0.009 < found < 0.01


@pytest.mark.parametrize(("level", "trials"), [(0.95, 200), (0.6, 300)])
def test_correct_mechanisms_are_rarely_accused(level, trials):
    # more accusations than this happen with probability below 1e-6
    allowed = sps.binom.isf(1e-6, trials, 1 - level)
    delta = privacy.gaussian_delta(1.0, 1.0)
    laplaces = 0
    responses = 0
    gaussians = 0
    deltas = 0
    for seed in range(trials):
        found = shown(laplace(1.0), 400, seed, level=level)
        laplaces += found > 1.0
        found = shown(response(0.75), 400, seed, level=level)
        responses += found > np.log(3.0)
        found = shown(gaussian(1.0), 400, seed, level=level, delta=delta)
        gaussians += found > 1.0
        found = delta_shown(gaussian(1.0), 400, seed, level=level, epsilon=1.0)
        deltas += found > delta
    assert max(laplaces, responses, gaussians, deltas) <= allowed


def test_the_half_that_is_counted_takes_no_part_in_the_choice():
    """The first two calls, of which the event is chosen, show 0 and 1; the others
    nothing."""
    calls = []

    def forgetful(x, rng, n):
        calls.append((x, n))
        return np.full(n, x if len(calls) <= 2 else 0.0)

    def score(low, high):
        return np.maximum(low - high, 0.0)

    found, value = counted(forgetful, 0.0, 1.0, score, trials=41, seed=3, level=0.9)
    level, event, likely, hits, trials = found
    assert calls == [(0.0, 20), (1.0, 20), (0.0, 21), (1.0, 21)]
    assert (level, trials) == (0.9, 21)
    assert value == 0.0
    if event == "statistic >= 1":
        assert (likely, hits) == ("b", (0, 0))
    else:
        assert (event, likely, hits) == ("statistic <= 0", "a", (21, 21))


def vectors(x, rng, n):
    return np.zeros((n, 2))


@pytest.mark.parametrize(
    ("mechanism", "change", "words"),
    [
        (laplace(1.0), {"trials": 3}, "trials"),
        (laplace(1.0), {"seed": -1}, "seed"),
        (laplace(1.0), {"delta": 1.0}, "delta"),
        (laplace(1.0), {"delta": np.nan}, "delta"),
        (laplace(1.0), {"level": 1.0}, "level"),
        (laplace(1.0), {"a": np.nan}, "NaN"),  # an output that is not a number
        (vectors, {}, "statistic"),  # it must give a number for every output
    ],
)
def test_bad_input_and_bad_output_are_refused_by_name(mechanism, change, words):
    keys = {"a": 0.0, "b": 1.0, "trials": 100, "seed": 0} | change
    with pytest.raises(ValueError, match=words):
        epsilon_lower_bound(mechanism, **keys)


def test_a_user_past_the_data_is_refused_by_name(rng):
    play = audit.playing(POLICY, user=5)
    expected = r"user must be an integer in \[0, 3\]; got user=5"
    with pytest.raises(ValueError, match=expected):
        play((X, R), rng, 2)


def test_inputs_that_differ_in_more_than_the_one_user_are_refused():
    two = OTHER.copy()
    two[2] = 1.0
    audit.need_neighbours((X, R), (X, OTHER), 1)
    with pytest.raises(ValueError, match=r"differ in one user alone; got users \[1, 2\]"):
        audit.need_neighbours((X, R), (X, two), 1)


def test_an_attack_is_of_neighbours():
    attack = audit.Attack(
        mechanism=audit.playing(POLICY, user=1),
        a=(X, R),
        b=(X, OTHER),
        statistic=audit.along(np.ones(3)),
        sees="actions",
    )
    assert audit.attacked(attack, delta=0.1, trials=40, seed=1).epsilon == 0.0
    hidden = attack._replace(mechanism=audit.playing(POLICY, user=2))
    with pytest.raises(ValueError, match=r"the one whose data differ, 1; got user=2"):
        audit.attacked(hidden, delta=0.1, trials=40, seed=1)


def test_each_of_the_two_ends_has_half_of_the_error():
    """The bit itself, at level 0.9: all of 20 hits, none of 20, each end with tail
    0.05."""

    def told(x, rng, n):
        return np.full(n, x)

    def apart(low, high):
        return low - high

    _, value = counted(told, 0.0, 1.0, apart, trials=40, seed=1, level=0.9)
    end = 0.05 ** (1 / 20)
    assert value == pytest.approx(2.0 * end - 1.0)
    halves = np.ones(20), np.zeros(20)
    lost = audit.bound_on_halves(halves, halves, 0.0, 0.9)
    assert lost == pytest.approx(np.log(end / (1.0 - end)))


def test_the_last_bits_of_a_score_tell_nothing():
    def rounded(x, rng, n):
        return np.full(n, 1.0 + 1e-12 * x)

    assert shown(rounded, 200, 1) == 0.0


def test_streams_of_different_lengths_are_no_neighbours():
    with pytest.raises(ValueError, match="inputs a and b must have the same shapes"):
        audit.need_neighbours((X, R), (X[:3], R[:3]))


def test_equal_streams_are_neighbours_for_every_user():
    audit.need_neighbours((X, R), (X, R), 2)


def test_the_arm_that_is_hidden_is_the_users_own():
    """The round of user 2 alone has an arm that is better."""
    policy = jdp_linucb(1, 4, epsilon=np.inf, delta=0.1)
    contexts = np.zeros((4, 2, 1))
    contexts[0, 0] = 1.0
    contexts[2, 1] = 1.0
    rewards = R.copy()
    rewards[0] = 1.0
    rng = np.random.default_rng(1)
    every = audit.playing(policy)((contexts, rewards), rng, 1)
    others = audit.playing(policy, user=2)((contexts, rewards), rng, 1)
    assert every.tolist() == [[0, 0, 1, 0]]
    assert others.tolist() == [[0, 0, 0]]
