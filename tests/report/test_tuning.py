"""One number per policy, chosen on other repetitions."""

import pytest

from companion.baselines.linucb import linucb
from companion.baselines.random import random
from companion.environments import sphere
from companion.report.tuning import tune
from companion.simulate import repetitions, simulate


def test_tuning_takes_the_least_mean_and_says_how_much_it_matters():
    env, seeds = sphere(4, 3), repetitions(5, 4)
    ladder = [linucb(3, width=w) for w in (0.0, 0.1, 30.0)]
    groups = {"LinUCB": ladder, "none": [random()]}
    chosen = tune(groups, env, 300, seeds)
    flat = [p.renamed(f"LinUCB #{i}") for i, p in enumerate(ladder)]
    mean = simulate(env, flat, 300, seeds).final.mean(axis=0)
    best = int(mean.argmin())
    assert chosen["LinUCB"].index == best
    assert chosen["LinUCB"].policy is ladder[best]
    assert chosen["LinUCB"].edge == (best != 1)
    assert chosen["LinUCB"].spread == pytest.approx(mean.max() / mean.min())
    assert (chosen["none"].index, chosen["none"].spread, chosen["none"].edge) == (0, 1.0, True)
