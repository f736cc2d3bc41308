"""ShuffleGLM: what the analyser makes of a batch."""

import numpy as np
import pytest
from scipy import stats as sps

from companion.audits.faults import uncompiled
from companion.kernels.mechanisms import shuffle_messages
from companion.private_glm.continual import Scratch
from companion.private_glm.learning import (
    analyse,
    batch_for,
    release_gradient,
    release_matrix,
    send,
)
from companion.private_glm.shuffle import shuffle_glm


def test_aggregated_sums_have_the_law_of_messages():
    """n = 20 users, b = 5: integer sums by chi-square, message level against `send`/`analyse`."""
    rng, n, b, g, runs = np.random.default_rng(3), 20, 5, 5.0, 3000
    values, out, bits = np.linspace(-0.9, 0.8, n), np.empty(1), np.empty((1, 10 + b))
    slow, fast = [], []
    for _ in range(runs):
        total, sums = 0.0, np.zeros(1)
        for v in values:
            shuffle_messages(rng, np.array([v]), 1.0, g, b, 0.25, bits)
            total += bits.sum()
            send(rng, np.array([v]), 1.0, g, b, sums)
        analyse(rng, sums, n, 1.0, g, b, out)
        assert sums[0] == 0.0
        slow.append(round(total))
        fast.append(round((out[0] + n) * g + n * b / 4))
    edges = np.quantile(slow, np.linspace(0, 1, 9)[1:-1])
    table = [np.bincount(np.searchsorted(edges, s), minlength=8) for s in (slow, fast)]
    assert sps.chi2_contingency(table).pvalue > 1e-7
    remainder = (values + 1) * g % 1
    variance = 3 / 16 * n * b + (remainder * (1 - remainder)).sum()
    assert np.var(fast) == pytest.approx(variance, rel=0.15)
    assert np.mean(fast) == pytest.approx(((values + 1) * g).sum() + n * b / 4, abs=0.6)


def test_no_bits_are_exact_sums():
    sums, out = np.zeros(2), np.empty(2)
    send(np.random.default_rng(0), np.array([0.3, -0.2]), 1.0, 1.0, 0, sums)
    send(np.random.default_rng(0), np.array([0.1, 0.2]), 1.0, 1.0, 0, sums)
    analyse(np.random.default_rng(0), sums, 2, 1.0, 1.0, 0, out)
    assert out == pytest.approx([0.4, 0.0])
    assert not sums.any()  # the next batch begins with nothing


def test_a_released_matrix_has_eigenvalues_of_half_the_ridge():
    p, w = (
        shuffle_glm(2, 2, 400, epsilon=np.inf, delta=0.01, first=50).params,
        Scratch(np.zeros((2, 2)), np.zeros((2, 2))),
    )
    b, V, V_inv = batch_for(p), np.zeros((2, 2)), np.zeros((2, 2))
    b.counts[:] = -3.0, 0.0, 3.0  # exact sums that noise might have made: rows (11), (21, 22)
    uncompiled(release_matrix)(p, b, 0, np.random.default_rng(0), V, V_inv, w)
    np.testing.assert_allclose(V, np.diag([0.5, 4.0]), atol=1e-12)
    np.testing.assert_allclose(V_inv, np.diag([2.0, 0.25]), atol=1e-12)


def test_gradients_are_released_for_the_batch_alone():
    policy = shuffle_glm(2, 2, 400, epsilon=np.inf, delta=0.01, first=50)
    p, b = policy.params, batch_for(policy.params)
    b.X[:] = 0.5
    b.y[:] = 1.0
    b.size[0] = 7
    g = np.empty(2)
    release_gradient(p, b, 0, np.zeros(2), np.random.default_rng(0), g)
    assert g == pytest.approx([-0.25 * 7] * 2)
