"""The limits of the benchmarks, as ratios to twins timed in the same process."""

import numpy as np
import pytest

from benchmarks import core, floors

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("speed")]


def test_linucb_is_much_faster_than_its_twin():
    # As below, half of what `make bench` asks for: here other tests run on the same cores.
    _, ours, twin, _ = core.linucb_row()
    assert 2.0 * twin >= core.SPEEDUP * ours


def test_a_new_process_plays_soon():
    # Twice the limit that `make bench` shows.
    assert core.first_play() <= 2.0 * core.START


def test_no_policy_has_lost_half_its_speed():
    """Against the floor, timed in turn with it, which a slow machine slows down as well."""
    lost = {}
    for policy, both in floors.pairs():
        multiple, said = np.median(both[:, 0] / both[:, 1]), floors.promised(policy)
        if multiple > 2.0 * said:
            lost[policy.name] = f"{multiple:.1f} floors; its Cost line says {said:g}"
    assert lost == {}
