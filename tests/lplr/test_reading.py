"""LPLR: what is read off a fitted tree."""

import numpy as np
import pytest

from companion.lplr.environments import constant, design
from companion.lplr.params import lplr_params
from companion.lplr.reading import layer_widths, read
from companion.lplr.trials import fit_design


def test_layer_widths_of_a_walk_that_stops():
    """No model anywhere: every half-width is the norm of the point, one bin a point."""
    p = lplr_params(2, 10**4, threshold=1e9)
    world = design([[0.9, 0.0], [0.1, 0.0]], [0.5, 0.5], [0.75, 0.25])
    tree = fit_design(world, p, 10**4, 0)
    assert layer_widths(p, tree, world) == pytest.approx([0.75 * 0.9 + 0.25 * 0.1, 0.0])


def test_edge_cases():
    p = lplr_params(1, 100)
    assert (
        read(p, fit_design(constant(0.5), p, 2, 0), [[0.5]])[0][0] == 0
    )  # nothing is learned from 2 users
    p = lplr_params(2, 10**6)
    dummy = design([[0.5, 0.5]], [0.1, 0.1], [0.0])
    f, width = read(p, fit_design(dummy, p, 10**6, 0), [[0.3, 0.4], [0.0, 0.0]])
    np.testing.assert_allclose(f, 0)
    np.testing.assert_allclose(width, [0.5, 0.0])
