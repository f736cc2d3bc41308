"""Linear losses for all slopes at once, against runs of one slope."""

import numpy as np
import pytest
from scipy import stats as sps

from companion.baselines.noisy_sgd import noisy_sgd
from companion.simulate import repetitions
from companion.streaming_sco import Functional, streaming_fw, vertex_fw
from companion.streaming_sco.excess import excess_risk
from companion.streaming_sco.linear import excesses

N, SLOPES, GRID = 600, [0.5, 0.1, 0.02], np.array([65, 200, 599])
PLAIN = {"loss": "inner product"}


def one_by_one(o, slopes, n, seeds, grid):
    """The same as `excesses`, by a run for every slope."""
    worlds = [Functional(o.params.d, g, o.params.p) for g in slopes]
    runs = [excess_risk(world, [o], n, seeds, grid=grid) for world in worlds]
    return np.array([run.excess[:, 0, : len(grid)] for run in runs])


@pytest.mark.parametrize("p", [1.0, 1.5, 2.0, 4.0, np.inf])
@pytest.mark.parametrize("kind", [{}, {"epsilon": np.inf}, {"factorisation": "sqrt"}])
def test_where_sums_are_released_all_slopes_at_once_have_the_numbers_of_single_runs(p, kind):
    """A clip that binds, a short step; the slopes end apart, and have learned."""
    options = {"epsilon": 40.0, "p": p, "clip": 0.7, "step_scale": 0.9} | PLAIN | kind
    o, seeds = streaming_fw(4, N, **options), repetitions(4, 3)
    found, slow = excesses(o, SLOPES, N, seeds, GRID), one_by_one(o, SLOPES, N, seeds, GRID)
    np.testing.assert_allclose(found, slow, rtol=1e-9, atol=1e-14)
    assert len(np.unique(found)) > found.size // 3  # a sign is all that counts at p = inf
    worst = [2 * Functional(4, g, p).size * g for g in SLOPES]
    assert found[0, :, -1].max() < 0.25 * worst[0]


def test_without_noise_the_choice_of_a_vertex_has_the_numbers_of_single_runs():
    o, seeds = vertex_fw(5, N, epsilon=np.inf, **PLAIN), repetitions(4, 3)
    found = excesses(o, SLOPES, N, seeds, GRID)
    np.testing.assert_allclose(found, one_by_one(o, SLOPES, N, seeds, GRID), rtol=1e-12)


@pytest.mark.parametrize("epsilon", [60.0, pytest.param(5.0, marks=pytest.mark.slow)])
def test_a_noisy_choice_has_the_law_of_single_runs(epsilon):
    """At every place of the grid, where nothing is known yet and where two slopes have learned; at
    the smaller budget all vertices keep a chance."""
    n, grid, slopes, runs = 60, np.array([1, 2, 7, 20, 60]), [0.9, 0.3], 4_000
    o = vertex_fw(3, n, epsilon=epsilon, schedule="falling", **PLAIN)
    found = excesses(o, slopes, n, repetitions(1, runs), grid)
    slow = one_by_one(o, slopes, n, repetitions(2, runs), grid)
    assert found[0, :, -1].mean() < (0.4 if epsilon == 60.0 else 0.9) * found[0, :, 0].mean()
    for k, at in np.ndindex(2, 5):
        fast, by_one = found[k, :, at], slow[k, :, at]
        assert sps.ks_2samp(fast, by_one, method="asymp").pvalue > 1e-4
        spread = np.hypot(fast.std(), by_one.std()) / np.sqrt(runs)
        assert abs(fast.mean() - by_one.mean()) < 4 * spread


@pytest.mark.parametrize("made", [
    noisy_sgd(3, N, epsilon=2.0, delta=1e-2), streaming_fw(3, N, epsilon=1.0), streaming_fw(1, N, epsilon=1.0, **PLAIN),
    vertex_fw(3, N, epsilon=1.0, selector="argmin", **PLAIN),
])  # fmt: skip
def test_other_optimisers_are_refused(made):
    with pytest.raises(ValueError, match="optimiser must be Algorithm 1, or 2 with Gumbel noise"):
        excesses(made, SLOPES, N, repetitions(1, 1), GRID)
