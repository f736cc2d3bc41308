"""Noise, guard and widths of Joint-DP GLM from its arguments."""

import numpy as np
import pytest

from companion.accounting.privacy import tree_levels
from companion.kernels import tree
from companion.private_glm import calibrate
from companion.private_glm.joint import joint_glm
from companion.private_glm.presets import PRESETS


def test_noise_alone_hardly_ever_reaches_the_guard_of_the_first_fit():
    """Traces of a tree's noise, 64 rounds in 5 dimensions; 300 runs, of which 3 may reach it."""
    rng, T, d, most = np.random.default_rng(1), 64, 5, []
    for _ in range(300):
        nodes, traces = np.zeros((tree_levels(T), d)), []
        for t in range(1, T + 1):
            traces.append(nodes[tree.advance(nodes, t, 1.0, rng)].sum())
        most.append(max(traces))
    guard = calibrate.guard(d, T, np.sqrt(tree_levels(T)))
    assert np.mean(np.array(most) > guard) <= 0.01
    assert guard < 4 * np.median(most)


def test_widths_follow_gamma_and_kappa_as_printed():
    """Criterion I at 1/(gamma^2 kappa), elimination at gamma sqrt(kappa): lines 4 and 14."""
    preset = PRESETS["tight"]._replace(gamma=0.5)
    p = joint_glm(3, 100, epsilon=1.0, delta=0.02, kappa=9.0, preset=preset).params
    assert p.threshold == pytest.approx(1 / (0.25 * 9))
    assert p.elimination == pytest.approx(1.5)
