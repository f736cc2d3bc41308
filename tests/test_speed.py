"""The limits of the benchmarks, as ratios to twins timed in the same process."""

import pytest

from benchmarks import core
from companion.timing import cost_line, floors
from companion.timing.roster import ROSTER

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("speed")]


def missed(row):
    """What is missed of half the limit that `make bench` asks for: other tests run beside."""
    return row._replace(least=row.least / 2.0).missed()


def test_linucb_is_much_faster_than_its_twin():
    assert missed(next(core.rows())) == ""


def test_a_new_process_plays_soon():
    assert missed(next(core.starts())) == ""


def test_no_algorithm_has_lost_half_its_speed():
    """Against the floor, timed in turn with it, which a slow machine slows down as well."""
    lost = {}
    for name, entry in ROSTER.items():
        said = cost_line.of(name).floors
        multiple = floors.measured(name, entry, times=5).multiple[1] if said else 0.0
        if said and multiple > 2.0 * said:
            lost[name] = f"{multiple:.1f} floors; its Cost line says {said:g}"
    assert lost == {}
