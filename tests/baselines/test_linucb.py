"""LinUCB against a slow twin written from the paper, and its radius by hand."""

import numpy as np
import pytest
from plain import plain
from streams import run, stream

from companion.baselines.linucb import linucb, theorem_radius


def test_radius_of_theorem_2_by_hand():
    """0.2 sqrt(3 ln(1 + 100/1.5) + 2 ln 20) + 1.5 sqrt(0.5)."""
    assert theorem_radius(3, 100, 0.5, 0.2, 1.5, 0.05) == pytest.approx(
        1.92403136931, 1e-10
    )


def test_every_choice_is_that_of_plain_numpy():
    X, R, _ = stream()
    arms = run(linucb(3, ridge=0.5, noise=0.1), X, R)[0]
    assert np.array_equal(arms, plain("playing", np=np)["plain_linucb"](X, R, 0.5, 0.1))
    assert len(set(arms)) > 2


def test_the_radius_before_any_round_is_the_root_of_the_ridge():
    """Without noise sqrt(4) * 1.5 = 3 is left."""
    assert theorem_radius(3, 0, 4.0, 0.0, 1.5, 0.05) == pytest.approx(3.0)
