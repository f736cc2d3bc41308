"""Designs of the first batches: exact steps, a certificate, draws."""

import numpy as np
import pytest
from scipy import stats as sps

from companion.private_glm.design import design, draw, optimal, work_for


def test_designs():
    pi, g, rank, _ = design(np.vstack([np.eye(3)] + [np.eye(3)[:1]] * 5), tolerance=1.0001)
    assert pi[1:3] == pytest.approx([1 / 3] * 2, abs=2e-3)  # one direction has six copies
    assert (g / rank, rank) == (pytest.approx(1.0, abs=1e-3), pytest.approx(3.0, abs=1e-6))
    assert design(np.array([[1, 0], [0, 1], [0.6, 0.6]]), 1.002, 9999)[0][2] < 0.01
    pi, g, _, _ = design(np.array([[1, 0], [0, 1], [0.8, 0.8]]), 1.0001, 9999)
    assert pi == pytest.approx([0.410, 0.410, 0.180], abs=2e-3)
    assert g == pytest.approx(2.0, abs=1e-3)
    pi, g, rank, _ = design(np.outer([1.0, 2.0, -3.0], [0.6, 0.8]))
    assert rank == pytest.approx(1.0, abs=1e-6)
    assert pi.sum() == pytest.approx(1.0)
    assert design(np.zeros((3, 2)))[0].tolist() == [1.0, 0.0, 0.0]
    assert design(np.ones((1, 2)))[0].tolist() == [1.0]


def test_a_move_is_the_exact_line_search():
    """Five copies of one direction and one of the other: a single move reaches the optimum."""
    pi, g, rank, moves = design(np.eye(2)[[0, 0, 0, 0, 0, 1]], tolerance=1.0001)
    assert moves == 1
    assert pi[-1] == pytest.approx(0.5, abs=1e-6)
    assert g == pytest.approx(rank, rel=1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_a_design_is_certified(seed):
    A = np.random.default_rng(seed).standard_normal((12, 4)) * [3, 1, 1, 0.1]
    pi, g, rank, _ = design(A, tolerance=1.05)
    widths = np.einsum("ki,ij,kj->k", A, np.linalg.inv(A.T @ (pi[:, None] * A)), A)
    assert widths.max() == pytest.approx(g, rel=1e-5)
    assert g <= 1.05 * rank + 1e-9
    assert pi @ widths == pytest.approx(4.0, rel=1e-6)


def test_dead_arms_get_nothing_and_draws_follow_the_design():
    A, alive, pi = np.eye(3), np.array([1, 0, 1]), np.zeros(3)
    optimal(A, alive, 2.0, 100, pi, work_for(3, 3))
    assert pi.tolist() == [0.5, 0.0, 0.5]
    rng = np.random.default_rng(0)
    drawn = np.bincount([draw(np.array([0.2, 0.5, 0.3]), rng) for _ in range(20_000)], minlength=3)
    assert sps.chisquare(drawn, [4000, 10_000, 6000]).pvalue > 1e-7
