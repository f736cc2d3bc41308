"""What is let out twice, or from the same random numbers, by hand; false alarm: 2e-6."""

import numpy as np
from scipy import stats as sps

from companion.accounting.audit import Attack
from companion.audits import faults


def test_what_is_made_of_two_outputs_by_hand():
    """Means of two have half the variance, and known data are met by the same draws."""

    def noisy(data, rng, n):
        return data + rng.standard_normal((n, 1))

    attack = Attack(noisy, 0.0, 3.0, None, "message")
    means = faults.twice(attack).mechanism(0.0, np.random.default_rng(0), 4_000)
    assert 1e-6 < sps.chi2(4_000).cdf(2.0 * (means**2).sum()) < 1 - 1e-6
    pairs = faults.reused(attack).mechanism(3.0, np.random.default_rng(0), 5)
    np.testing.assert_allclose(pairs[:, 0] - pairs[:, 1], 3.0)
    assert len(np.unique(pairs)) == 10
