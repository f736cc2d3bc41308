"""NoisySGD for a whole grid at once."""

import numpy as np
import pytest

from companion.baselines.noisy_sgd import noisy_sgd
from companion.simulate import repetitions, stream
from companion.streaming_sco import flat, regression
from companion.streaming_sco.excess import drawn
from companion.streaming_sco.shortcuts import noisy_sgds

N, D = 12, 3


WORLD = regression(np.inf, flat(D, np.inf))


def variants():
    run = {"step_scale": 9.0, "lipschitz": 4.0, "calibration": "paper"}
    options = {"radius": 0.3, "step_scale": 6.0}, {"radius": 2.0, "step_scale": 90.0}, run
    made = [noisy_sgd(D, N, epsilon=2.0, delta=1e-2, label_bound=1.2, **o) for o in options]
    return [*made, noisy_sgd(D, N, epsilon=np.inf, step_scale=9.0, label_bound=1.2)]


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
    for odd in (noisy_sgd(D, N, epsilon=2.0, delta=1e-2, average=True), noisy_sgd(D, N, epsilon=2.0, delta=1e-2, p=2.0),
                noisy_sgd(D, N + 1, epsilon=2.0, delta=1e-2)):  # fmt: skip
        with pytest.raises(ValueError, match=r"optimisers must be NoisySGD for p = inf.*got"):
            noisy_sgds(WORLD, [odd], N, repetitions(1, 1))
