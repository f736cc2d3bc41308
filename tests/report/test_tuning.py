"""One number per policy, chosen on other repetitions."""

import numpy as np
import pytest

from companion.baselines.linucb import linucb
from companion.baselines.random import random
from companion.environments import sphere
from companion.report import tuning
from companion.report.tuning import tune
from companion.simulate import repetitions, simulate

ENV = sphere(4, 3)
LADDER = [linucb(3, width=w) for w in (0.0, 0.1, 30.0)]
FLAT = [p.renamed(f"LinUCB #{i}") for i, p in enumerate(LADDER)]
CLOSE = [linucb(3, width=w) for w in (0.1, 0.15, 0.2)]


def test_tuning_takes_the_least_mean_and_says_how_much_it_matters():
    seeds = repetitions(5, 4)
    chosen = tune({"LinUCB": LADDER, "none": [random()]}, ENV, 300, seeds)
    final = simulate(ENV, FLAT, 300, seeds).final
    best = int(final.mean(axis=0).argmin())
    assert chosen["LinUCB"].index == best
    assert chosen["LinUCB"].policy is LADDER[best]
    assert chosen["LinUCB"].edge == (best != 1)
    played = [(final[:n].sum(axis=0) / final[:n, best].sum()).max() for n in range(1, 5)]
    assert min(played) * (1 - 1e-12) <= chosen["LinUCB"].spread <= max(played) * (1 + 1e-12)
    assert (chosen["none"].index, chosen["none"].spread, chosen["none"].edge) == (0, 1.0, True)


def test_the_choice_is_that_of_all_repetitions_whoever_leads_at_first():
    overtaken = 0
    for seed in range(12):
        seeds = repetitions(seed, 4)
        flat = [p.renamed(f"LinUCB #{i}") for i, p in enumerate(CLOSE)]
        final = simulate(ENV, flat, 200, seeds).final
        found = tune({"LinUCB": CLOSE}, ENV, 200, seeds)["LinUCB"]
        assert found.index == final.mean(axis=0).argmin()
        overtaken += final[0].argmin() != found.index
    assert overtaken > 2


def test_what_can_no_longer_be_chosen_stops(monkeypatch):
    plays = []

    def counted(env, policies, T, seeds, **options):
        plays.extend(p.name for p in policies for _ in seeds)
        return simulate(env, policies, T, seeds, **options)

    monkeypatch.setattr(tuning, "simulate", counted)
    lost = [linucb(3, width=1e9), linucb(3, width=0.1)]
    found = tune({"LinUCB": lost}, ENV, 2_000, repetitions(5, 8))["LinUCB"]
    assert found.index == 1
    assert plays.count("LinUCB #1") == 8
    assert 1 <= plays.count("LinUCB #0") < 8
    regrets = simulate(ENV, [p.renamed(f"LinUCB #{i}") for i, p in enumerate(lost)], 2_000,
                       repetitions(5, 8)).final[: plays.count("LinUCB #0")]  # fmt: skip
    assert found.spread == pytest.approx(np.divide(*regrets.sum(axis=0)))
