"""Envelopes, filters and checkpoints."""

import numpy as np
import pytest

from companion.simulate import repetitions, stream
from companion.stats import exponent
from companion.streaming_sco import (
    Functional,
    experiments,
    first,
    one_context,
    regression,
    sco_bandit,
    streaming_fw,
    vertex_fw,
)
from companion.streaming_sco.excess import excess_risk


def test_slopes_of_the_specification():
    """Gradient error: -1/2 by sampling, -1 by noise; the envelope of linear losses: -1/2."""
    n, c = 16_384, 0.16705
    world, grid = regression(1.5, first(10, 1.5, 5)), experiments.checkpoints(n, 12, 256)
    ours = {"p": 1.5, "radius": 2.0, "label_bound": 1.2, "factorisation": "sqrt"}
    for epsilon, slope in ((np.inf, -0.5), (1.0, -0.97)):
        o = streaming_fw(10, n, epsilon=epsilon, **ours)
        errors = experiments.gradient_errors(world, o, n, repetitions(1, 20), grid, c)
        assert exponent(grid, errors).value == pytest.approx(slope, abs=0.1)
    n, means = 8_192, []
    grid = experiments.checkpoints(n, 12, 128)
    free = vertex_fw(20, n, epsilon=np.inf, loss="inner product", clip=np.inf)
    for g in (0.4, 0.3, 0.2, 0.15, 0.1, 0.075, 0.05, 0.04, 0.03, 0.02):
        run = excess_risk(Functional(20, g), [free], n, repetitions(1, 30), grid=grid)
        means.append(run.excess[:, 0, :-1].mean(axis=0))
    envelope = np.polyfit(np.log(grid), np.log(np.max(means, axis=0)), 1)[0]
    assert envelope == pytest.approx(-0.5, abs=0.1)


def test_errors_and_risks_are_of_the_runs_that_excess_risk_makes():
    world, grid, seeds = (
        regression(1.5, first(5, 1.5, 5)),
        np.array([100, 517, 900]),
        repetitions(3, 2),
    )
    o = streaming_fw(5, 1000, epsilon=1.0, p=1.5, radius=2.0, label_bound=1.2)
    errors, risks = experiments.errors_and_risks(world, o, 1000, seeds, grid, 0.2)
    again = excess_risk(world, [o], 1000, seeds, grid=grid)
    np.testing.assert_array_equal(risks, again.excess[:, 0, :-1])
    np.testing.assert_array_equal(
        errors, experiments.gradient_errors(world, o, 1000, seeds, grid, 0.2)
    )
    for r, seed in enumerate(seeds):  # by hand, after the last record of the grid
        X, Y = world.records(1000, stream(seed, "environment"))
        rng = stream(seed, o.name)
        state = o.run(o.params, o.init(o.params, rng), X[:900], Y[:900], rng, np.empty((900, 5)))
        gap = state.memory.gradient - world.gradient(state.memory.old, 0.2)
        assert errors[r, -1] == pytest.approx((np.abs(gap) ** 3).sum() ** (1 / 3))


def test_checkpoints_are_no_powers_of_two():
    for n in (300, 8192, 32_768):
        grid = experiments.checkpoints(n)
        assert (np.diff(grid) > 0).all()
        assert (grid[0] >= 64, grid[-1]) == (True, n - 1)
        assert (n - 1).bit_count() > 1
        for t in grid[:-1].tolist():
            assert t.bit_count() > 1
            assert t >> (t.bit_length() // 2) & 1


def test_an_envelope_takes_the_largest_mean_at_every_checkpoint():
    n, grid, seeds = 600, np.array([65, 200, 599]), repetitions(4, 3)
    for p in (1.0, 2.0):
        free = streaming_fw(5, n, epsilon=np.inf, p=p, loss="inner product")
        means, samples = experiments.envelope(free, [0.5, 0.1, 0.02], n, seeds, grid)
        assert means.shape == (3, 3)
        assert samples.shape == (3, 3)
        assert samples.mean(axis=0) == pytest.approx(means.max(axis=0), rel=1e-12)
        one = excess_risk(Functional(5, 0.1, p), [free], n, seeds, grid=grid).excess[:, 0, :3]
        assert means[1] == pytest.approx(one.mean(axis=0), rel=1e-12)


def test_estimates_are_those_of_the_state_at_every_place_of_the_grid():
    world, T, grid = one_context(2, 4, 2), 900, [50, 400, 900]
    policy, seeds = (
        sco_bandit(4, 2, T, epsilon=np.inf, t0=20, label_bound=1.2, radius=2.0),
        repetitions(1, 2),
    )
    found = experiments.estimates(world, policy, T, seeds, grid)
    X, R, mu = next(world.blocks(T, stream(seeds[0], "environment")))
    true = np.linalg.lstsq(X[:, 0], mu, rcond=None)[0].T
    for t, seen in zip(grid, found[0], strict=True):
        rng, arms = stream(seeds[0], policy.name), np.empty(t, np.int64)
        state = policy.play(policy.params, policy.init(policy.params), X[:t], R[:t], rng, arms)
        assert seen == pytest.approx((np.abs(state.arms.theta - true).sum(axis=1) ** 2).max())
    assert (found[:, 2] < 0.2 * found[:, 0]).all()


def test_a_filter_that_hears_nothing_removes_nobody_and_a_noisy_one_the_best():
    world, seeds = one_context(3, 4, 2), repetitions(2, 4)
    keys = {"label_bound": 1.2, "t0": 20}
    noisy = experiments.removed(
        world, sco_bandit(4, 3, 500, epsilon=1.0, gap=0.05, **keys), 300, seeds
    )
    exact = experiments.removed(
        world, sco_bandit(4, 3, 500, epsilon=np.inf, gap=0.5, **keys), 300, seeds
    )
    loose = experiments.removed(
        world, sco_bandit(4, 3, 500, epsilon=1.0, gap=4.0, **keys), 300, seeds
    )
    assert (loose == 0).all()
    assert (noisy[:, 0] > 0.2).all()
    assert exact[:, 0].mean() < 0.1 < exact[:, 1].mean()
    assert (noisy[:, 1] >= noisy[:, 0]).all()
