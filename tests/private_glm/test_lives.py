"""Lives of Joint-DP GLM in one call are those that `play` is called for, to the bit."""

import numpy as np
import pytest
from many_lives import compare

from companion.private_glm import attacks, experiments


@pytest.mark.parametrize("rule", ["corrected", "paper"])
def test_lives_are_those_of_play(rule):
    policy = experiments.leaky(rule, 50.0)

    def shown(s):
        return np.concatenate([s.V.release, s.H.release, s.theta_o])

    arms = compare(policy, attacks.several(policy), shown)
    assert len(np.unique(arms, axis=0)) > 1
