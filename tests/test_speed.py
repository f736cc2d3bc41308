"""The limits of the benchmarks, as ratios to twins timed in the same process."""

import pytest

from benchmarks import core

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("speed")]


def test_linucb_is_much_faster_than_its_twin():
    # As below, half of what `make bench` asks for: here other tests run on the same cores.
    _, ours, twin, _ = core.linucb_row()
    assert 2.0 * twin >= core.SPEEDUP * ours


def test_a_new_process_plays_soon():
    # Twice the limit that `make bench` shows.
    assert core.first_play() <= 2.0 * core.START
