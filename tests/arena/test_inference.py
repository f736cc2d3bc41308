"""One rule of inference: what it calls better where nothing is, in simulations.

Each share of errors is bounded by its nominal rate plus five standard errors: false
alarms of a correct rule are below 1e-6.  Seeds are fixed.
"""

import numpy as np

from companion.stats import difference, ratio
from evidence.arena import contest

DRAWS = 1_000
EQUAL = {  # laws of positive regrets with mean 1
    "normal": lambda rng, shape: 1.0 + 0.25 * rng.standard_normal(shape),
    "skewed": lambda rng, shape: 0.3 + 0.7 * rng.standard_exponential(shape),
}


def errors(law, n_reps=20, policies=10):
    """Shares of draws in which the rule errs where no policy is better than random play,
    whose regrets vary less: the leader is judged better than random play; it is judged
    better than some rival; an interval of a ratio that was not chosen does not contain
    1."""
    rng = np.random.default_rng(0)
    wrong = np.zeros(3)
    for _ in range(DRAWS):
        finals = dict(enumerate(EQUAL[law](rng, (policies, n_reps))))
        random = 1.0 + 0.1 * rng.standard_normal(n_reps)
        first, close = contest.leader(finals)
        plain = ratio(finals[0], random)
        learns = contest.judged(finals[first], random).high < 1
        wrong += learns, len(close) < policies - 1, not plain.low <= 1 <= plain.high
    return wrong / DRAWS


def at_most(rate):
    return rate + 5.0 * np.sqrt(rate * (1 - rate) / DRAWS)


def test_ten_equal_policies_seldom_have_a_leader_that_learns():
    """One-sided 2.5 % against random play; 5 % that some rival is called worse."""
    assert (errors("normal") <= [at_most(0.025), at_most(0.05), at_most(0.05)]).all()


def test_who_chooses_and_judges_on_the_same_data_errs_far_more_often(monkeypatch):
    monkeypatch.setattr(contest, "choosing", lambda finals: finals)
    monkeypatch.setattr(contest, "judging", lambda finals: finals)
    assert errors("normal")[0] > 2 * at_most(0.025)


def test_skewed_regrets_err_more_often_than_intervals_say():
    learns, _, missed = errors("skewed")
    assert 0.05 < learns < 0.15
    assert 0.05 < missed < 0.12


def test_a_leader_is_chosen_by_one_half_and_judged_by_the_other():
    a = np.r_[np.full(10, 1.0), np.full(10, 9.0)]
    b = np.r_[np.full(10, 2.0), np.full(10, 3.0)]
    wave = 1e-3 * np.sin(np.arange(20))
    assert contest.leader({"a": a + wave, "b": b}) == ("a", ["b"])  # judged: b is better
    assert contest.leader({"a": a[::-1] + wave, "b": b}) == ("b", ["a"])
    assert contest.leader({"a": a + wave, "c": a + 5}) == ("a", [])
    assert contest.judged(a, b).value == 3.0


def test_bonferroni_over_rivals_and_looks():
    rng = np.random.default_rng(2)
    x = {
        n: v + rng.standard_normal(20)
        for n, v in zip("abc", (0.0, 1.3, 1.3), strict=True)
    }
    mine = contest.judging(x["a"])
    for looks in (1, 5, 500):
        level = 1 - 0.05 / (2 * looks)
        expected = [
            n for n in "bc" if not difference(mine, contest.judging(x[n]), level).high < 0
        ]
        assert contest.leader(x, looks) == ("a", expected)
    assert expected == ["b", "c"]
    assert ratio(mine + 5, mine + 5).value == 1.0
