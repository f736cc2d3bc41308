"""What is let out twice, or with the same noise, is the same in kernels and in outputs.

Means of two fresh outputs have the bits that the planted kernels show; those of whole runs,
which draw in another order, have their law: false alarm 1e-6 for each.
"""

import numpy as np
import pytest
from scipy import stats as sps

from companion.accounting.audit import Attack
from companion.audits import spent
from companion.audits import table as audits
from companion.kernels import mechanisms
from companion.kernels.mechanisms import add_gaussian

OWN = [t for t in audits.targets() if t.calibration == "corrected" and t.kernels]
FRESH = {t.name: t for t in OWN if any(a.fresh for a in t.attacks)}
WHOLE = "fliphat", "jdp_linucb", "joint_glm", "residual_fliphat", "sco_bandit"  # play whole runs
ONE_CALL = sorted(FRESH.keys() - set(WHOLE))


def planted(target, plant, n, seed):
    """The compiled attack, and what it sees of both inputs with the fault planted in kernels."""
    with plant(target.kernels) as life:
        plain, at = audits.met(target, life, 1)
        made = plain if plant is spent.twice else spent.beside_known(plain, life)
        rngs = [np.random.default_rng([seed, i]) for i in range(2)]
        seen = [made.mechanism(d, g, n) for d, g in zip((plain.a, plain.b), rngs, strict=True)]
    return target.attacks[at], seen


def test_the_fast_way_is_taken_where_it_was():
    messages = {"anytime_linucb", "combiner", "corrected_ridge", "ldp_linucb", "lplr"}
    messages |= {"online_linucb", "suffstats", "noisy_sfw"}
    assert FRESH.keys() == messages | set(WHOLE)


@pytest.mark.parametrize("name", ONE_CALL)
def test_means_of_two_outputs_are_what_kernels_let_out_twice(name):
    attack, seen = planted(FRESH[name], spent.twice, 60, 5)
    assert attack.fresh
    for i, (data, shown) in enumerate(zip((attack.a, attack.b), seen, strict=True)):
        means = spent.averaged(attack).mechanism(data, np.random.default_rng([5, i]), 60)
        assert np.array_equal(means, shown)
        assert not np.array_equal(means, attack.mechanism(data, np.random.default_rng([5, i]), 60))


@pytest.mark.parametrize("name", WHOLE)
def test_means_of_two_runs_have_the_law_of_what_is_let_out_twice(name):
    attack, seen = planted(FRESH[name], spent.twice, 1500, 6)
    for i, (data, shown) in enumerate(zip((attack.a, attack.b), seen, strict=True)):
        means = spent.averaged(attack).mechanism(data, np.random.default_rng([7, i]), 20_000)
        alone = attack.mechanism(data, np.random.default_rng([8, i]), 20_000)
        a, b, c = (attack.statistic(m) for m in (shown, means, alone))
        assert sps.ks_2samp(a, b).pvalue > 1e-6
        assert sps.ks_2samp(a, c).pvalue < 1e-6  # one run has more noise
        spread = [np.cov(m.reshape(len(m), -1).T) for m in (shown, means)]
        size = np.sqrt(np.outer(*[np.diag(spread[1])] * 2))
        assert np.abs(spread[0] - spread[1]).max() < 7.0 * size.max() * np.sqrt(2.0 / 1500)


@pytest.mark.parametrize("name", FRESH)
def test_pairs_in_step_differ_by_what_reused_noise_lets_through(name):
    attack, seen = planted(FRESH[name], spent.reused, 150, 9)
    for i, (data, shown) in enumerate(zip((attack.a, attack.b), seen, strict=True)):
        rng = np.random.default_rng([10, i])
        pairs = spent.in_step(attack).mechanism(data, rng, 4000)
        apart, fast = spent.farthest(shown), spent.farthest(pairs)
        assert (np.allclose(apart, 0.0), np.allclose(fast, 0.0)) == (i == 0, i == 0)
        if i == 1:
            assert sps.ks_2samp(apart.round(9), fast.round(9)).pvalue > 1e-6
            assert (apart.min() > 1e-9) == (fast.min() > 1e-9)


def test_outputs_that_draw_by_their_data_are_refused():
    def mechanism(data, rng, n):
        return rng.standard_normal((n, data))[:, :1]

    attack = FRESH["ldp_linucb"].attacks[0]._replace(mechanism=mechanism, a=1)
    with pytest.raises(RuntimeError, match="must draw alike, whatever the data"):
        spent.in_step(attack).mechanism(2, np.random.default_rng(0), 5)


def test_what_has_no_mean_is_not_planted():
    """A vertex is let out twice, but only one of the two can be shown."""
    (target,) = [t for t in OWN if t.name == "vertex_fw"]
    found = audits.planted(target, trials=400, seed=1, level=0.9)
    assert np.isnan(found["budget spent twice"])
    assert not np.isnan(found["noise reused"])


def test_reused_noise_is_that_of_a_new_generator_in_every_call():
    drawn, seeds = [], (3, 3, 4, 3)
    with spent.reused({add_gaussian: None}) as life:
        for life.seed in seeds:
            out = np.zeros(4)
            mechanisms.add_gaussian(np.random.default_rng(99), 1.0, out)
            drawn.append(out)
    for seed, out in zip(seeds, drawn, strict=True):
        wanted = np.zeros(4)
        add_gaussian(np.random.default_rng(seed), 1.0, wanted)
        np.testing.assert_array_equal(out, wanted)
    assert life.calls == 4


@pytest.mark.parametrize("name", ["local_md", "noisy_sgd"])
def test_means_of_two_numbers_with_noise_of_their_own_have_half_the_variance(name):
    (target,) = [t for t in OWN if t.name == name]
    attack, seen = planted(target, spent.twice, 1000, 11)
    assert attack.anew
    less, *_ = target.attack(audits.faults.half_noise(target.algorithm, 2))
    for i, (data, shown) in enumerate(zip((attack.a, attack.b), seen, strict=True)):
        fast, alone = (
            made.mechanism(data, np.random.default_rng([12, i]), 20_000) for made in (less, attack)
        )
        for a, b, c in zip(*(m.reshape(len(m), -1).T for m in (shown, fast, alone)), strict=True):
            assert sps.ks_2samp(a, b).pvalue > 1e-6
            assert np.var(a) < 0.7 * np.var(c)  # twelve standard errors


def test_what_is_made_of_fresh_outputs_by_hand():
    """Means of two have half the variance, and known data are met by the same draws."""

    def noisy(data, rng, n):
        return data + rng.standard_normal((n, 1))

    attack = Attack(noisy, 0.0, 3.0, None, "message", "", False, True)
    means = spent.averaged(attack).mechanism(0.0, np.random.default_rng(0), 4_000)
    assert 1e-6 < sps.chi2(4_000).cdf(2.0 * (means**2).sum()) < 1 - 1e-6
    pairs = spent.in_step(attack).mechanism(3.0, np.random.default_rng(0), 5)
    np.testing.assert_allclose(pairs[:, 0] - pairs[:, 1], 3.0)
