"""Faults are edits of one place."""

from typing import NamedTuple

import numpy as np
import pytest

from companion.audits import faults
from companion.audits.watching import arrays, same
from companion.baselines import jdp_linucb
from companion.kernels import mechanisms
from companion.kernels.mechanisms import add_gaussian


class Inner(NamedTuple):
    counts: np.ndarray
    flag: bool


class Nested(NamedTuple):
    t: int
    theta: np.ndarray
    parts: tuple


def test_an_edit_has_one_place():
    with pytest.raises(ValueError, match="old must stand in select once"):
        faults.edited(jdp_linucb.select, "nowhere", "").__enter__()


def test_copies_share_no_array_and_keep_their_types():
    state = Nested(1, np.zeros(2), (np.ones(3), 2.0, Inner(np.arange(2), True)))
    copy = faults.copied(state)
    assert type(copy) is Nested
    assert type(copy.parts[2]) is Inner
    assert (copy.t, copy.parts[1], copy.parts[2].flag) == (1, 2.0, True)
    pairs = zip(arrays(state), arrays(copy), strict=True)
    assert all(same(a, b) and not np.shares_memory(a, b) for a, b in pairs)


def test_reused_noise_is_that_of_a_new_generator_in_every_call():
    drawn, seeds = [], (3, 3, 4, 3)
    with faults.reused({add_gaussian: None}) as life:
        for life.seed in seeds:
            out = np.zeros(4)
            mechanisms.add_gaussian(np.random.default_rng(99), 1.0, out)
            drawn.append(out)
    for seed, out in zip(seeds, drawn, strict=True):
        wanted = np.zeros(4)
        add_gaussian(np.random.default_rng(seed), 1.0, wanted)
        np.testing.assert_array_equal(out, wanted)
    assert life.calls == 4
