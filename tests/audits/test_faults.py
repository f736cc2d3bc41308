"""Faults are edits of one place."""

import pytest

from companion.audits import faults
from companion.baselines import jdp_linucb


def test_an_edit_has_one_place():
    with pytest.raises(ValueError, match="old must stand in select once"):
        faults.edited(jdp_linucb.select, "nowhere", "").__enter__()
