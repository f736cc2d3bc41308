"""One number per policy, chosen on other repetitions."""

from types import SimpleNamespace

import numpy as np
import pytest

from companion.baselines.linucb import linucb
from evidence.claims import tuning
from evidence.claims.tuning import tune

LADDER = [linucb(3, width=w) for w in (0.0, 0.1, 30.0)]


@pytest.mark.parametrize(
    ("means", "index", "spread", "edge"),
    [
        ([3.0, 1.0, 2.0], 1, 3.0, False),
        ([1.0, 2.0, 4.0], 0, 4.0, True),
        ([6.0, 3.0, 2.0], 2, 3.0, True),
        ([0.0, 1.0, 1.0], 0, np.inf, True),
    ],
)
def test_the_choice_among_known_regrets(monkeypatch, means, index, spread, edge):
    def played(env, policies, T, seeds, grid):
        return SimpleNamespace(final=np.array(means) + np.array([[-0.5], [0.5]]))

    monkeypatch.setattr(tuning, "simulate", played)
    chosen = tune({"LinUCB": LADDER}, None, 10, [1, 2])["LinUCB"]
    assert chosen == (LADDER[index], index, spread, edge)
