"""Corners of the universe that attacks try."""

from typing import NamedTuple

import numpy as np
import pytest

from companion.accounting.audit import corners, in_both, lives, shows
from companion.baselines.noisy_sgd import noisy_sgd
from companion.baselines.private_linucb import jdp_linucb


def test_corners_of_the_plane_are_all_eight():
    """Two entries and a reward, each -1 or 1."""
    found = {tuple(row) for row in corners(2)}
    assert len(found) == len(corners(2)) == 8
    assert {abs(v) for row in found for v in row} == {1.0}


def test_beyond_four_dimensions_two_corners_and_their_opposites_stand_for_all():
    rows = corners(6)
    assert rows.shape == (8, 7)
    assert (np.abs(rows) == 1.0).all()
    assert {tuple(-r) for r in rows} == {tuple(r) for r in rows}
    assert {abs(row[:6].sum()) for row in rows} == {0.0, 6.0}


def test_what_a_kernel_shows_is_read_by_the_names_of_its_arguments():
    class Box(NamedTuple):
        inner: np.ndarray

    def kernel(p, box, out):
        return None

    ((of, read),) = shows(kernel, "gaussian", "out", "laplace", "box.inner").items()
    box, out = Box(np.zeros(2)), np.ones(3)
    (first, a), (second, b) = read(None, 0, box, out)
    assert of is kernel
    assert (first, second) == ("gaussian", "laplace")
    assert a is out, "not copied"
    assert b is box.inner
    ((_, alone),) = shows(kernel, "out").items()
    assert alone(None, 0, box, out)[0] == (None, out)
    with pytest.raises(ValueError, match="nothing"):
        shows(kernel, "gaussian", "nothing")


def test_lives_last_to_the_horizon_or_as_long_as_is_said():
    instances = jdp_linucb(2, 7, epsilon=1.0, delta=0.1), noisy_sgd(2, 6, epsilon=1.0, delta=1e-6)
    assert [c.rounds for c in lives({}, ("x",), *instances)] == [7, 6]
    assert [c.rounds for c in lives({}, (), *instances, rounds=3, bound_is_tight=None)] == [3, 3]


def test_in_both_calibrations_the_corrected_one_comes_first():
    corrected, paper = in_both(jdp_linucb, 2, 7, epsilon=1.0, delta=0.1)
    assert corrected.guarantee.claimed is None
    assert paper.guarantee.claimed is not None
