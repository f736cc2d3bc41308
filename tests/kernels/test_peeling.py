"""Peeling from the draws that decide has the law of peeling.

False alarms: every test is at 1e-7 or beyond; seeds are fixed.
"""

import numpy as np
import pytest
from scipy import stats as sps

from companion.jit import jit
from companion.kernels.mechanisms import MORE, large_first, lazy_peel, line, noisy_max, peel, pick

PICKS, D = 3, 24
SPREAD = np.concatenate([[3.0, -2.5, 2.0], np.linspace(-1.0, 1.0, D - 3)])
LEVEL = np.ones(D)  # all noise: what is drawn last decides as often as what is drawn first
STEEP = np.linspace(8.0, 0.0, D)  # little noise: the first entries hide all others
VECTORS = {"spread": SPREAD, "level": LEVEL, "steep": STEEP}


def many(f, v, xi, n, seed):
    """(picks (n, PICKS), released values (n, PICKS)) of n calls."""
    rng, out, taken = np.random.default_rng(seed), np.empty(D), np.zeros(D, np.bool_)
    picks, chosen, values = np.zeros(PICKS, np.int64), np.empty((n, PICKS), int), []
    for i in range(n):
        f(rng, v, PICKS, xi, out, picks, taken)
        chosen[i] = picks
        values.append(out[picks])
        assert np.count_nonzero(out) == len(set(picks.tolist())) == PICKS
        assert set(np.flatnonzero(taken)) == set(picks.tolist())
    return chosen, np.array(values)


def same(a, b):
    """p-value that two samples of integers have one law; rare ones are put together."""
    table = np.stack([np.bincount(x, minlength=D * D) for x in (a, b)])
    rare = table.sum(axis=0) < 40
    table = np.column_stack([table[:, ~rare], table[:, rare].sum(axis=1)])
    return sps.chi2_contingency(table[:, table.sum(axis=0) > 0]).pvalue


@pytest.mark.parametrize("n", [10_000, pytest.param(200_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("xi", [0.2, 1.0])
@pytest.mark.parametrize("name", VECTORS)
def test_picks_and_values_have_the_law_of_peeling(name, xi, n):
    """The pick of every place, pairs of the first and the last, and all released values."""
    (a, x), (b, y) = (many(f, VECTORS[name], xi, n, i) for i, f in enumerate((lazy_peel, peel)))
    for i in range(PICKS):
        assert same(a[:, i], b[:, i]) > 1e-7
        assert sps.ks_2samp(x[:, i], y[:, i]).pvalue > 1e-7
    assert same(a[:, 0] * D + a[:, -1], b[:, 0] * D + b[:, -1]) > 1e-7


@pytest.mark.parametrize("xi", [0.2, 1.0])
def test_released_values_have_laplace_noise_of_the_scale(xi):
    """Mean and mean size of the noise of 30000 values of equal entries, at six standard errors."""
    noise = many(lazy_peel, LEVEL, xi, 10_000, 9)[1].ravel() - 1.0
    error = 6.0 * xi / np.sqrt(len(noise))
    assert abs(np.abs(noise).mean() - xi) < error
    assert abs(noise.mean()) < np.sqrt(2.0) * error


def test_what_is_compared_is_drawn_in_the_two_ways():
    """Entries whose noise is not drawn outright are picked often in two of the vectors."""
    front, order = PICKS + MORE, np.empty(D, np.int64)
    for name, share in (("spread", 0.1), ("level", 0.5)):
        large_first(VECTORS[name], front, order)
        far = np.isin(many(lazy_peel, VECTORS[name], 1.0, 2000, 3)[0], order[front:]).mean()
        assert share < far < 0.9


@jit
def picked(rng, v, xi, m, rest, order, ends, out):
    taken = np.zeros(v.shape[0], np.bool_)
    taken[0] = True
    for i in range(out.shape[0]):
        if m < 0:
            out[i] = 1 + noisy_max(rng, v[1:], xi)
        else:
            out[i] = pick(rng, v, xi, m, rest, order, ends, taken)


@pytest.mark.parametrize("m", [0, 1, 6])
@pytest.mark.parametrize("v", [np.ones(8), np.array([9.0, 1.0, 1.2, 1.5, 1.0, 1.1, 0.5, 0.0])])
def test_one_pick_has_its_law_whatever_the_front(v, m):
    """The chance to exceed is as often near 1/2 as it can be if no noise is drawn outright.  One
    entry is taken, at the front or not."""
    order, ends, out, found = (
        np.arange(8)[::-1].copy(),
        np.full(9, 1e300),
        np.empty(400_000, int),
        [],
    )
    if m > 0:
        large_first(v, m, order)
    rest = v[order[m:]].max()
    line(v, 1.0, m, rest, order, ends)
    for way in (m, -1):
        picked(np.random.default_rng(7 + way), v, 1.0, way, rest, order, ends, out)
        found.append(np.bincount(out, minlength=8))
    assert found[0][0] == found[1][0] == 0
    assert sps.chi2_contingency(np.stack(found)[:, 1:]).pvalue > 1e-7


@pytest.mark.parametrize("m", [1, 5, 10])
def test_the_front_has_the_largest_entries_in_order(m):
    rng = np.random.default_rng(4)
    for v in (rng.standard_normal(10), np.arange(10.0), np.arange(10.0)[::-1].copy(), np.ones(10)):
        order, ends = np.empty(10, np.int64), np.empty(11)
        rest = large_first(v, m, order)
        assert sorted(order) == list(range(10))
        np.testing.assert_array_equal(np.abs(v[order[:m]]), np.sort(np.abs(v))[::-1][:m])
        others = np.abs(v[order[m:]])
        assert rest == (others.max() if m < 10 else -np.inf)
        line(v, 0.5, m, rest, order, ends)
        lengths = np.concatenate([np.zeros(m), np.exp((others - rest) / 0.5)])
        np.testing.assert_allclose(np.diff(ends), lengths, rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize(("d", "xi"), [(D, 0.0), (PICKS + MORE, 0.7)])
def test_without_noise_or_with_few_entries_it_is_peeling(d, xi):
    """To the bit, from the same generator."""
    v, found = SPREAD[::-1][:d].copy(), []
    for f in (lazy_peel, peel):
        rng, out, picks = np.random.default_rng(5), np.empty(d), np.zeros(PICKS, np.int64)
        f(rng, v, PICKS, xi, out, picks, np.zeros(d, np.bool_))
        found.append([*out, *picks, rng.random()])
    assert found[0] == found[1]


@pytest.mark.parametrize("xi", [1e-300, 1e-9, 1e9, 1e300])
def test_extreme_noise_is_no_trouble(xi):
    """As little as rounding hides: the top; as much as hides the vector: distinct picks."""
    rng, out, picks = np.random.default_rng(6), np.empty(D), np.zeros(PICKS, np.int64)
    lazy_peel(rng, SPREAD, PICKS, xi, out, picks, np.zeros(D, np.bool_))
    assert len(set(picks.tolist())) == PICKS
    assert np.isfinite(out).all()
    if xi < 1.0:
        assert picks.tolist() == [0, 1, 2]


def test_every_released_value_has_noise_of_its_own():
    """Correlations of the values of equal entries, at six standard errors: one draw for all would
    show their differences exactly."""
    noise = many(lazy_peel, LEVEL, 1.0, 2_000, 8)[1]
    apart = np.corrcoef(noise.T)[np.triu_indices(PICKS, 1)]
    assert np.abs(apart).max() < 6.0 / np.sqrt(len(noise))
