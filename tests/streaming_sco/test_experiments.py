"""The rows of Tables 2 to 4, and NoisySGD for a whole grid at once."""

import numpy as np
import pytest

from companion.baselines.noisy_sgd import noisy_sgd
from companion.excess import drawn
from companion.simulate import repetitions, stream
from companion.streaming_sco import attacks, experiments, flat, regression, sco_bandit
from companion.streaming_sco.shortcuts import noisy_sgds

N, D = 12, 3
WORLD = regression(np.inf, flat(D, np.inf))


def variants():
    run = {"step_scale": 9.0, "lipschitz": 4.0, "calibration": "paper"}
    options = {"radius": 0.3, "step_scale": 6.0}, {"radius": 2.0, "step_scale": 90.0}, run
    made = [noisy_sgd(D, N, 2.0, 1e-2, label_bound=1.2, **o) for o in options]
    return [*made, noisy_sgd(D, N, np.inf, step_scale=9.0, label_bound=1.2)]


def test_a_grid_on_shared_draws_is_every_run_bit_for_bit():
    """Boxes bind, noise matters: the three variants end apart, each where a single run ends."""
    seeds = repetitions(3, 2)
    together = noisy_sgds(WORLD, variants(), N, seeds)
    assert len(np.unique(together)) == together.size
    for seed, row in zip(seeds, together, strict=True):
        X, Y = drawn(WORLD, N, seed)
        for o, excess in zip(variants(), row, strict=True):
            rng, out = stream(seed, "NoisySGD"), np.zeros((N, D))
            o.run(o.params, o.init(o.params, rng), X, Y, rng, out)
            assert WORLD.excess(out[-1]) == excess
    first = noisy_sgds(WORLD, variants()[:1], N, seeds[:1])
    assert first == together[:1, :1]


def test_a_grid_refuses_what_it_cannot_run():
    for odd in (noisy_sgd(D, N, 2.0, 1e-2, average=True), noisy_sgd(D, N, 2.0, 1e-2, p=2.0),
                noisy_sgd(D, N + 1, 2.0, 1e-2)):  # fmt: skip
        with pytest.raises(ValueError, match=r"optimisers must be NoisySGD for p = inf.*got"):
            noisy_sgds(WORLD, [odd], N, repetitions(1, 1))


def test_rows_of_the_tables_are_what_they_say():
    grids = {"Algorithm 1, p=1.5": [0.4, 1.0], "NoisySFW": [0.1]}
    made = {
        r: experiments.candidates("Algorithm 1", r, 5, 100, 1.5, grids, {})[1.0].params
        for r in experiments.ROWS[1:]
    }
    sigma = {r: p.sigma for r, p in made.items()}
    assert sigma["as printed"] > sigma["corrected"] > sigma["square root"] > sigma["clipped at 3"]
    assert sigma["no privacy"] == 0.0
    assert made["clipped at 3"].clip == 3.0
    assert made["square root"].clip == made["corrected"].clip == pytest.approx(6.4 * 5 ** (1 / 6))
    assert experiments.scales("NoisySFW", "as run", 1.5, grids) == [0.1]
    assert experiments.scales("NoisySFW", "corrected", 1.5, grids) == [0.1, 0.15, 0.2, 1.0]
    weak = experiments.candidates("NoisySGD", "as run", 5, 100, np.inf, {}, {})[1.0].params
    fair = experiments.candidates("NoisySGD", "as printed", 5, 100, np.inf, {}, {})[1.0].params
    assert (weak.radius, fair.radius) == (1.0, 2.0)
    assert weak.sigma / fair.sigma == pytest.approx(4.0 / 6.4)


def test_the_best_scale_and_who_wins():
    found = {
        ("A", r, (9, 1)): {0.5: np.array([1.0, 3.0, 2.0]), 1.0: np.array([1.0, 1.5, 1.2])}
        for r in experiments.ROWS
    } | {
        ("B", r, (9, 1)): {1.0: np.array([4.0, 4.2])}
        for r in experiments.ROWS
        if r not in experiments.OURS
    }
    assert experiments.best(found["A", "as run", (9, 1)])[0] == 1.0
    gap = experiments.gaps(found, "A", "B", [(9, 1)], 0.95, factor=2.0)["square root"][0]
    assert gap.value == pytest.approx(1.25 - 8.2)
    rows = experiments.shown(found, [(9, 1)])
    assert rows[0]["T = 9, d = 1"] == "1.2 ± 0.3 (×1)"
    assert len(rows) == 2 * len(experiments.ROWS) - len(experiments.OURS)


def test_an_arm_that_is_not_played_stands_still_without_synthetic_updates():
    for synthetic, expected in ((False, [0, 30]), (True, [0, 0])):
        policy = sco_bandit(2, 2, 40, 1.0, 1e-2, t0=2, gap=10.0, clip=1.0, synthetic=synthetic)
        assert [attacks.stands_still(policy, s, 30, 1) for s in (1.0, -1.0)] == expected
