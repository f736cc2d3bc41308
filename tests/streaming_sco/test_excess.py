"""Optimisers on paired records: grids, names, refusals."""

import numpy as np
import pytest
from sco_streams import OPTIONS

from companion.simulate import repetitions, stream
from companion.streaming_sco import flat, regression, streaming_fw
from companion.streaming_sco.excess import blocks, drawn, excess_risk, watch

N, D = 60, 3
WORLD = regression(2.0, flat(D, 2.0))


def made(name="a", **options):
    return streaming_fw(D, N, epsilon=4.0, delta=1e-2, **(OPTIONS | options)).renamed(name)


def test_risk_is_that_of_what_each_method_shows_at_each_place_of_the_grid():
    """Two repetitions by hand: one stream of records for all, one of noise for every method."""
    methods, seeds = (made("a"), made("b", clip=3.0)), repetitions(5, 2)
    found = excess_risk(WORLD, methods, N, seeds, grid=[7, 60])
    for seed, row in zip(seeds, found.excess, strict=True):
        X, Y = WORLD.records(N, stream(seed, "environment"))
        for o, (early, late) in zip(methods, row, strict=True):
            rng, out = stream(seed, o.name), np.empty((N, D))
            o.run(o.params, o.init(o.params, rng), X, Y, rng, out)
            assert (early, late) == (WORLD.excess(out[6]), WORLD.excess(out[59]))
    assert found.records.tolist() == [7, 60]
    assert (found.final == found.excess[:, :, 1]).all()
    assert (found.of("b") == found.excess[:, 1]).all()
    assert found.guarantees == tuple(o.guarantee for o in methods)
    assert (found.seconds > 0).all()
    assert len(np.unique(found.excess)) == found.excess.size


def test_a_watched_run_is_the_run_of_the_risk():
    seed = repetitions(5, 1)[0]
    run = watch(made(), WORLD, N, seed, [5, 20, 60])
    seen = [(t, WORLD.excess(theta)) for t, _, theta in run]
    risk = excess_risk(WORLD, [made()], N, [seed], grid=[5, 20, 60]).excess[0, 0]
    assert seen == list(zip([5, 20, 60], risk, strict=True))


def test_records_in_blocks_are_the_same_records_and_lead_to_the_same_parameters():
    """Two blocks and a bit; the grid stops within blocks and at the end of one."""
    n, d, seed, grid = 25_000, 6, repetitions(5, 1)[0], [4_000, 10_922, 21_844, 24_000]
    o, world = streaming_fw(d, n, epsilon=4.0, delta=1e-2, **OPTIONS), regression(1.5, flat(d, 1.5))
    X, Y = drawn(world, n, seed)
    parts = [(A.copy(), y.copy()) for A, y in blocks(world, n, seed)]
    assert [len(y) for _, y in parts] == [10_922, 10_922, 3_156]
    for whole, at in ((X, 0), (Y, 1)):
        np.testing.assert_array_equal(np.concatenate([part[at] for part in parts]), whole)
    rng, out = stream(seed, o.name), np.empty((n, d))
    o.run(o.params, o.init(o.params, rng), X, Y, rng, out)
    for t, state, theta in watch(o, world, n, seed, grid):
        np.testing.assert_array_equal(theta, out[t - 1])
        assert state.t == t == grid.pop(0)
    assert grid == []


class Short:
    def records(self, n, rng):
        return np.zeros((n - 1, D)), np.zeros(n - 1)


class Lost:
    """Its excess is fine, its records drive a method to infinity."""

    def records(self, n, rng):
        return np.full((n, D), 0.1), np.zeros(n)

    def excess(self, theta):
        return theta[:, 0]


def test_what_makes_no_risk_is_refused():
    batch = made()._replace(step=None)
    silly = made()._replace(run=lambda p, s, X, Y, rng, out: out.fill(np.inf) or s)
    for message, world, methods, options in (
        ("distinct names", WORLD, [made(), made()], {}),
        ("distinct names", WORLD, [], {}),
        ("n must be", WORLD, [made()], {"n": 0}),
        ("grid must be .n. for batch methods, here .'a'.", WORLD, [batch], {"grid": [5, 60]}),
        ("grid must", WORLD, [made()], {"grid": [5, 61]}),
        ("must give n=60 records; got 59", Short(), [made()], {}),
        ("released a parameter that is not finite", Lost(), [silly], {}),
    ):
        with pytest.raises(ValueError, match=message):
            excess_risk(world, methods, **({"n": N, "seeds": repetitions(1, 1)} | options))
