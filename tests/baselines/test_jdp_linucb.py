"""JDP-LinUCB: the noise of the tree is what the guarantee says."""

import numpy as np
import pytest
from noisy_statistics import looks_standard, one_arm, packed
from streams import run

from companion.accounting import privacy
from companion.baselines.private_linucb import jdp_linucb


@pytest.mark.parametrize("t", [1, 6, 7, 8, 21])
def test_tree_release_is_exact_plus_the_live_nodes(t):
    """Variance popcount(t) sigma^2; false alarms 2 in 10^7."""
    X, R, G, b = one_arm(t)
    policy = jdp_linucb(3, 31, epsilon=1.0, delta=0.1)
    z = []
    for seed in range(300):
        _, s = run(policy, X, R, seed=seed)
        live = [level for level in range(len(s.nodes)) if s.nodes[level].any()]
        np.testing.assert_allclose(s.release, s.exact + s.nodes[live[0]], atol=1e-9)
        assert live == [level for level in range(5) if t >> level & 1]
        z.append(packed(s.G - G, s.b - b) / (policy.params.sigma * np.sqrt(t.bit_count())))
    assert looks_standard(np.array(z))
    np.testing.assert_allclose(packed(G, b) @ packed(G, b), s.exact @ s.exact, rtol=1e-12)


def test_a_user_is_in_as_many_nodes_as_the_noise_is_made_for():
    T = 400
    nodes = np.zeros(T + 1, dtype=int)
    for t in range(1, T + 1):  # round t completes one block, of 2^(trailing zeros) rounds
        size = t & -t
        nodes[t - size + 1 : t + 1] += 1
    assert nodes.max() == privacy.tree_levels(T)


def test_a_record_enters_the_sums_clipped():
    policy = jdp_linucb(2, 8, epsilon=1.0, delta=0.1)
    state, rng = policy.init(policy.params), np.random.default_rng(0)
    state = policy.update(policy.params, state, 0, np.array([0.0, 30.0]), 7.0, rng)
    assert state.exact.tolist() == [0.0, 0.0, 1.0, 0.0, 1.0]  # x x' by rows, then r x
