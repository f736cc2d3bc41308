"""What is let out twice, or with the same noise, is the same in kernels and in outputs.

Means of two fresh outputs have the bits that the planted kernels show; those of whole runs,
which draw in another order, have their law: false alarm 1e-6 for each.
"""

import numpy as np
import pytest
from scipy import stats as sps

from companion.accounting.audit import Attack
from companion.audits import faults
from companion.audits import table as audits

OWN = {t.name: t for t in audits.targets() if t.calibration == "corrected" and t.kernels}


def seen(target, fault, n, seed):
    """The compiled attack, and what it sees of both inputs with the fault planted in kernels."""
    made = faults.Planted(target, fault)
    plain, at = made.met(1)
    attack = plain if fault is faults.twice else faults.beside_known(plain, made)
    rngs = [np.random.default_rng([seed, i]) for i in range(2)]
    shown = [attack.mechanism(d, g, n) for d, g in zip((plain.a, plain.b), rngs, strict=True)]
    return target.attacks[at], shown


@pytest.mark.parametrize("name", ["ldp_linucb", "lplr", "suffstats", "noisy_sfw"])
def test_means_of_two_outputs_are_what_kernels_let_out_twice(name):
    attack, shown = seen(OWN[name], faults.twice, 60, 5)
    assert attack.fresh
    for i, data in enumerate((attack.a, attack.b)):
        means = faults.averaged(attack).mechanism(data, np.random.default_rng([5, i]), 60)
        assert np.array_equal(means, shown[i])
        assert not np.array_equal(means, attack.mechanism(data, np.random.default_rng([5, i]), 60))


@pytest.mark.parametrize("name", ["ldp_linucb", "jdp_linucb"])
def test_pairs_in_step_differ_by_what_reused_noise_lets_through(name):
    attack, shown = seen(OWN[name], faults.reused, 150, 9)
    for i, data in enumerate((attack.a, attack.b)):
        pairs = faults.beside_known(attack).mechanism(data, np.random.default_rng([10, i]), 4000)
        apart, fast = faults.farthest(shown[i]), faults.farthest(pairs)
        assert (np.allclose(apart, 0.0), np.allclose(fast, 0.0)) == (i == 0, i == 0)
        if i == 1:
            assert sps.ks_2samp(apart.round(9), fast.round(9)).pvalue > 1e-6


def test_what_has_no_mean_is_not_planted():
    """A vertex is let out twice, but only one of the two can be shown."""
    found = faults.planted(OWN["vertex_fw"], trials=400, seed=1, level=0.9)
    assert np.isnan(found["budget spent twice"])
    assert not np.isnan(found["noise reused"])


@pytest.mark.parametrize("name", ["local_md", "noisy_sgd"])
def test_means_of_two_numbers_with_noise_of_their_own_have_half_the_variance(name):
    attack, shown = seen(OWN[name], faults.twice, 400, 11)
    assert attack.anew
    less, *_ = OWN[name].attack(faults.half_noise(OWN[name].algorithm, 2))
    for i, data in enumerate((attack.a, attack.b)):
        fast = less.mechanism(data, np.random.default_rng([12, i]), 20_000)
        for a, b in zip(*(m.reshape(len(m), -1).T for m in (shown[i], fast)), strict=True):
            assert sps.ks_2samp(a, b).pvalue > 1e-6


def test_what_is_made_of_fresh_outputs_by_hand():
    """Means of two have half the variance, and known data are met by the same draws."""

    def noisy(data, rng, n):
        return data + rng.standard_normal((n, 1))

    attack = Attack(noisy, 0.0, 3.0, None, "message", "", False, True)
    means = faults.averaged(attack).mechanism(0.0, np.random.default_rng(0), 4_000)
    assert 1e-6 < sps.chi2(4_000).cdf(2.0 * (means**2).sum()) < 1 - 1e-6
    pairs = faults.beside_known(attack).mechanism(3.0, np.random.default_rng(0), 5)
    np.testing.assert_allclose(pairs[:, 0] - pairs[:, 1], 3.0)
