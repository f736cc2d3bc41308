"""Random play: every arm with the same chance, whatever is paid."""

import numpy as np
from scipy import stats as sps
from streams import run

from companion.baselines.random import random


def test_every_arm_is_as_likely_whatever_is_paid():
    """False alarms: 1e-7."""
    n = 9000
    X = np.zeros((n, 3, 2))
    R = np.tile([1.0, 0.0, -1.0], (n, 1))
    arms, state = run(random(), X, R, seed=0)
    assert state.t == n
    pairs = np.bincount(3 * arms[:-1:2] + arms[1::2], minlength=9)
    assert sps.chisquare(pairs).pvalue > 1e-7
