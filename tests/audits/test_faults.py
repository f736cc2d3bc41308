"""Faults are edits of one place."""

from typing import NamedTuple

import numpy as np
import pytest

from companion.audits import faults
from companion.audits.watching import arrays, same
from companion.baselines import private_linucb as jdp_linucb


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
