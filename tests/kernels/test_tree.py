"""Noise of continual sums against a dictionary of all nodes, fed by the same draws."""

import numpy as np
import pytest

from companion.accounting.privacy import tree_levels
from companion.kernels import tree


def dyadic(t):
    """The blocks (first, last) that the prefix 1..t splits into."""
    blocks = []
    start = 0
    for q in reversed(range(t.bit_length())):
        if t >> q & 1:
            blocks.append((start + 1, start + 2**q))
            start += 2**q
    return blocks


@pytest.mark.parametrize("T", [1, 2, 7, 8, 100])
def test_equals_the_sum_over_an_explicit_dictionary_of_nodes(T):
    nodes = np.zeros((tree_levels(T), 3))
    fast = np.random.default_rng(1)
    slow = np.random.default_rng(1)
    noise_of = {}
    for t in range(1, T + 1):
        row = tree.advance(nodes, t, 2.0, fast)
        (live,) = np.nonzero(nodes.any(axis=1))
        assert (1 << live).sum() == t  # a row for each one-bit of t
        completed = dyadic(t)[-1]  # the one block that ends at t
        assert completed not in noise_of
        noise_of[completed] = 2.0 * slow.standard_normal(3)
        total = sum(noise_of[block] for block in dyadic(t))
        np.testing.assert_allclose(nodes[row], total, rtol=1e-12, atol=1e-14)
    rounds = [sum(a <= t <= b for a, b in noise_of) for t in range(1, T + 1)]
    assert max(rounds) == tree_levels(T)


def test_square_root_noise_is_a_convolution_that_squares_to_sums():
    n = 300
    d = 2
    sigma = 1.5
    f = tree.root_coefficients(n)
    assert f[:3].tolist() == [1.0, 0.5, 0.375]
    assert np.convolve(f, f)[:n] == pytest.approx(np.ones(n), abs=1e-12)
    squares = tree.root_coefficients(2000) ** 2
    assert squares.sum() == pytest.approx(3.4857, abs=1e-4)
    z = sigma * np.random.default_rng(2).standard_normal((n, d))
    direct = np.empty((n, d))
    for j in range(d):
        direct[:, j] = np.convolve(f, z[:, j])[:n]
    noise = tree.root_noise(n, d, sigma, np.random.default_rng(2))
    assert noise == pytest.approx(direct, abs=1e-10)
