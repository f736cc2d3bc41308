"""One number per policy, chosen on other repetitions."""

from companion.baselines.linucb import linucb
from companion.baselines.random import random
from companion.environments import sphere
from companion.simulate import repetitions, simulate
from evidence.claims.tuning import tune

LADDER = [linucb(3, width=w) for w in (0.0, 0.1, 30.0)]


def test_tuning_takes_the_least_mean_and_says_how_much_it_matters():
    env, seeds = sphere(4, 3), repetitions(5, 4)
    chosen = tune({"none": [random()], "LinUCB": LADDER}, env, 300, seeds)
    flat = [p.renamed(f"LinUCB #{i}") for i, p in enumerate(LADDER)]
    means = simulate(env, flat, 300, seeds).final.mean(axis=0)
    best = int(means.argmin())
    assert chosen["LinUCB"] == (LADDER[best], best, means.max() / means[best], best != 1)
    assert chosen["none"][1:] == (0, 1.0, True)
