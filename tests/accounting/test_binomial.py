"""The bound for binomial noise against exact sums over small supports, and its limits."""

import itertools

import numpy as np
import pytest
from scipy.special import ndtr, ndtri
from scipy.stats import binom, norm

from companion.accounting import binomial
from companion.accounting.binomial import (
    Noise,
    binomial_bits,
    binomial_epsilon,
    releases_delta,
)
from companion.accounting.privacy import gaussian_epsilon


def binomial_delta(epsilon, *query):
    """At epsilon, of one release."""
    return releases_delta(epsilon, [Noise(*query)])


EPSILONS = np.array([0.0, 0.1, 0.5, 1.0, 2.0, 5.0, 10.0])


@pytest.fixture(autouse=True)
def fresh_cache():
    binomial.trade_offs.cache_clear()


def exact_deltas(shift, bits, p):
    """delta at EPSILONS for one shift in Z^n, by the whole product law: both
    directions."""
    far = max(map(abs, shift))
    x = np.arange(-far, bits + far + 1)
    here = np.ones(1)
    there = np.ones(1)
    for s in shift:
        here = np.multiply.outer(here, binom.pmf(x, bits, p)).ravel()
        there = np.multiply.outer(there, binom.pmf(x - s, bits, p)).ravel()
    found = []
    for e in EPSILONS:
        forth = np.maximum(here - np.exp(e) * there, 0).sum()
        back = np.maximum(there - np.exp(e) * here, 0).sum()
        found.append(max(forth, back))
    return np.array(found)


def bounds(*query):
    return np.array([binomial_delta(e, *query) for e in EPSILONS])


@pytest.mark.parametrize(
    ("n", "bits", "p", "move"),
    [
        (1, 1, 0.25, 1.0),
        (1, 1, 0.8, 7.0),
        (1, 30, 0.8, 1.0),
        (1, 30, 0.25, 20.0),
        (1, 5000, 0.25, 7.0),
        (1, 5000, 0.8, 20.0),
        (2, 25, 0.25, 3.0),
        (2, 120, 0.25, 12.0),
        (3, 40, 0.25, 3.5),
    ],
)
def test_dominates_the_exact_delta_of_every_allocation(n, bits, p, move):
    largest = int(move)
    bound = bounds(bits, p, move, n, largest)
    steps = []
    for s in itertools.combinations_with_replacement(range(largest + 1), n):
        size = np.hypot.reduce(s)
        if 0 < size <= move and (n < 3 or size > move - 1):
            steps.append(s)
    for s in steps:
        for signs in itertools.product((1, -1), repeat=n - 1):
            # the law of -s is the other direction of s
            shift = [s[0], *np.multiply(s[1:], signs)]
            assert (exact_deltas(shift, bits, p) <= bound + 1e-13).all()


@pytest.mark.parametrize(("bits", "within"), [(10**4, 0.1), (10**6, 0.02), (10**9, 0.02)])
def test_tends_to_the_gaussian_value(bits, within):
    deviation = np.sqrt(bits * 3 / 16)
    for delta in (1e-3, 1e-6):
        gaussian = gaussian_epsilon(delta, deviation, deviation / 2)
        ours = binomial_epsilon(delta, bits, 0.25, deviation / 2, 20, 20)
        assert gaussian < ours < (1 + within) * gaussian


@pytest.mark.parametrize("bits", [40_000, 200_000])  # few enough for single steps
@pytest.mark.parametrize("nodes", [400, 1000])  # few enough for blocks
def test_blocks_are_a_bound_on_single_steps(bits, nodes, monkeypatch):
    query = 0.25, 10.0, 5, 10
    single = bounds(bits, *query)
    z, _, h = binomial.quantiles(bits, 0.25, 10)
    central = np.abs(z[1:]) < 5.0
    steepest = 1.02 * np.diff(z)[central].max()
    assert h == 1
    lost = binomial.shortfall(z, np.diff(z), 1, steepest, 10)
    monkeypatch.setattr(binomial, "NODES", nodes)
    binomial.trade_offs.cache_clear()
    coarse, rise, h = binomial.quantiles(bits, 0.25, 10)
    assert h > 1
    # The rise of every single step is below the bound of its block.
    steps = np.diff(z)[: h * len(rise)]
    bound = np.repeat(rise, h)[: len(steps)]
    assert (steps <= bound * (1 + 1e-9)).all()
    assert binomial.shortfall(coarse, rise, h, steepest, 10) >= lost
    blocked = bounds(bits, *query)
    assert (blocked >= single * (1 - 1e-2)).all()
    large = single > 1e-3  # fifty times coarser than in use, the bound still serves
    assert large.any()
    assert (blocked[large] < 1.5 * single[large]).all()
    assert (exact_deltas([10], bits, 0.25) <= blocked + 1e-13).all()


@pytest.mark.parametrize(
    ("epsilon", "delta"),
    [(0.2, 0.1), (1.0, 1e-5), (10.0, 0.1), (50.0, 1e-9)],
)
@pytest.mark.parametrize("users", [1, 20, 1000])
def test_calibration_meets_the_request_with_no_bit_to_spare(epsilon, delta, users):
    query = 0.25, 22.4, 20, 18
    b, proved = binomial_bits(epsilon, delta, users, *query)
    assert proved <= epsilon
    assert binomial_delta(epsilon, b * users, *query) <= delta
    fewer = b - max(1, b // 500)
    assert fewer == 0 or binomial_delta(epsilon, fewer * users, *query) > delta


def test_extremes():
    assert binomial_epsilon(0.1, 1, 0.25, 5.0, 3, 5) == np.inf
    assert binomial_epsilon(0.1, 10**9, 0.25, 5.0, 3, 5) == 0.0
    beyond = binomial_epsilon(1e-9, 10**18, 0.25, 5.0, 3, 5)
    assert beyond == binomial_epsilon(1e-9, binomial.MOST, 0.25, 5.0, 3, 5) < 1e-5


@pytest.mark.parametrize("delta", [1e-300, 1e-100, 0.9e-20])
def test_a_delta_that_rounding_errors_hide_is_refused_at_once(delta, monkeypatch):
    monkeypatch.setattr(binomial, "quantiles", None)  # nothing is searched
    with pytest.raises(ValueError, match=f"delta={delta}"):
        binomial_bits(1.0, delta, 20, 0.25, 5.0, 3, 5)


# --- several releases
# ---------------------------------------------------------------------------


def exact_adaptive_delta(epsilon, first, second, choose):
    """Exact hockey-stick of two one-entry releases; the second's shift is choose(first
    result)."""
    n1, p1, s1 = first
    n2, p2 = second
    y1 = np.arange(-n1, 2 * n1 + 1)
    y2 = np.arange(-n2, 2 * n2 + 1)
    total = 0.0
    for y in y1:
        a = binom.pmf(y, n1, p1)
        b = binom.pmf(y - s1, n1, p1)
        P = a * binom.pmf(y2, n2, p2)
        Q = b * binom.pmf(y2 - choose(y), n2, p2)
        total += np.maximum(P - np.exp(epsilon) * Q, 0.0).sum()
    return total


@pytest.mark.parametrize("epsilon", [0.2, 0.8])
def test_two_adaptive_releases_are_bounded(epsilon):
    """Shifts up to 2, 3 that depend on the first result, in either direction."""
    noise = [
        Noise(
            bits=300,
            p=0.25,
            move=2.0,
            entries=1,
            largest=2,
        ),
        Noise(
            bits=500,
            p=0.25,
            move=3.0,
            entries=1,
            largest=3,
        ),
    ]
    bound = releases_delta(epsilon, noise)
    first = 300, 0.25, 2
    second = 500, 0.25

    def always(y):
        return 3

    def by_parity(y):
        return -3 if y % 2 else 3

    exact = exact_adaptive_delta(epsilon, first, second, always)
    assert exact <= bound < 1.6 * exact + 1e-3
    assert exact_adaptive_delta(epsilon, first, second, by_parity) <= bound


def test_times_is_repetition():
    one = Noise(
        bits=4000,
        p=0.25,
        move=5.0,
        entries=3,
        largest=4,
    )
    pair = [one, one]
    twice = releases_delta(0.5, [one._replace(times=2)])
    assert releases_delta(0.5, pair) <= twice
    assert releases_delta(0.5, [one]) < twice
    assert releases_delta(0.3, []) == 0.0
    epsilon = binomial.releases_epsilon(0.01, pair)
    assert releases_delta(epsilon, pair) <= 0.01
    assert releases_delta(0.99 * epsilon, pair) > 0.01
    with pytest.raises(ValueError, match="times"):
        releases_delta(0.5, [one._replace(times=-1)])


def test_what_is_lost_is_lost_in_every_entry():
    r, one = binomial.trade_offs(300, 0.25, 1, 4)
    same, five = binomial.trade_offs(300, 0.25, 5, 4)
    np.testing.assert_array_equal(r, same)
    np.testing.assert_allclose(five, 5 * one, rtol=1e-15)


def test_a_shift_beyond_the_support_proves_nothing():
    """Bin(3, 1/2) on 0..3 and on 4..7: one look tells them apart."""
    assert binomial_delta(1.0, 3, 0.5, 4.0, 1, 4) == 1.0


def test_a_law_on_one_number_proves_nothing():
    r, lost = binomial.trade_offs(1, 0.5, 1, 1)
    assert r.tolist() == [np.inf]
    assert lost.tolist() == [1.0]


def test_a_shift_that_ends_inside_a_block_takes_the_whole_block():
    """Blocks of 2, each step rises by 0.01 more than r; a shift of 3 reaches two blocks
    back: 6 steps with the block that it ends in.  The loss is largest about 0: Phi(0.03)
    - Phi(-0.03)."""
    z = np.array([-9.0, -8.9, -8.8, 0.0, 0.1])
    found = binomial.shortfall(z, np.full(4, 0.51), 2, 0.5, 3)
    assert found == pytest.approx(2.0 * ndtr(0.03) - 1.0)


def test_a_step_in_a_block_has_its_largest_probability_over_its_least_density(
    monkeypatch,
):
    """By looking at every value of k: the block around the mode has the mode's."""
    monkeypatch.setattr(binomial, "NODES", 10)
    bits = 400
    z, rise, h = binomial.quantiles(bits, 0.3, 2)
    assert h > 1
    all_z = ndtri(binom.cdf(np.arange(bits), bits, 0.3))
    for i, bound in enumerate(rise):
        first = np.abs(all_z - z[i]).argmin()
        block = np.arange(first, first + h + 1)
        largest = binom.pmf(block, bits, 0.3).max()
        least = min(norm.pdf(z[i]), norm.pdf(z[i + 1]))
        assert bound == pytest.approx(largest / least, rel=1e-9)
