"""Cost lines: read as they are written, refused where they cannot be, compared with times."""

import numpy as np
import pytest

from companion.timing import cost_line
from companion.timing.roster import ROSTER


def test_a_line_is_read():
    doc = (
        "What.\n\nSource: a.\nCost: O(K d^2 + d^2 log T + n^0.5) time per\nround, O(d^2) memory; "
        "12 times the\nfloor.\nDiffers: O(K) time per round."
    )
    line = cost_line.read(doc)
    assert line.terms == ((1, 0, 2, 0), (0, 0, 2, 1), (0, 0.5, 0, 0))
    assert line.floors == 12.0
    assert cost_line.read("Cost: O(1) time per record.") == (((0, 0, 0, 0),), None)


@pytest.mark.parametrize("bad", ["M K d^2", "K d^", "", "K  d", "K + d^2)", "2 d"])
def test_a_term_of_other_symbols_is_refused(bad):
    with pytest.raises(ValueError, match="a term of a Cost line must be made of"):
        cost_line.term(bad)


@pytest.mark.parametrize(
    "doc", ["", "Cost: cheap.", "Cost: O(d) memory.", "Price: O(d) time per round."]
)
def test_a_line_without_time_is_refused(doc):
    with pytest.raises(ValueError, match="a Cost line must say"):
        cost_line.read(doc)


@pytest.mark.parametrize("name", ROSTER)
def test_every_algorithm_has_a_line_that_is_read(name):
    line = cost_line.of(name)
    assert bool(line.terms) != (name in cost_line.UNREAD)
    if " " in name:
        assert line.floors != cost_line.of(name.split()[0]).floors


def grid():
    return [
        {"K": k, "T": t, "d": d}
        for k, t, d in [
            (4, 10, 3),
            (40, 10, 3),
            (400, 10, 3),
            (4, 10, 9),
            (4, 10, 27),
            (4, 10, 81),
            (4, 1000, 3),
        ]
    ]


def test_times_of_a_true_line_are_explained_and_those_of_a_false_one_are_not():
    times = np.array([3e-9 * s["K"] * s["d"] ** 2 + 1e-9 * s["d"] + 5e-8 for s in grid()])
    true = cost_line.read("Cost: O(K d^2) time per round.")
    assert cost_line.fitted(true, grid(), times).worst < 1.01
    np.testing.assert_allclose(cost_line.fitted(true, grid(), times).times, times, rtol=0.01)
    for false in ("O(K d)", "O(d^2)", "O(T)", "O(1)"):
        line = cost_line.read(f"Cost: {false} time per round.")
        assert cost_line.fitted(line, grid(), times).worst > 2.0
    assert cost_line.highest(true, "d") == 2


def test_lower_orders_end_at_zero():
    assert cost_line.lower(0.0) == [0.0]
    assert sorted(cost_line.lower(2.0)) == [0.0, 1.0, 2.0]
    assert sorted(cost_line.lower(1.5)) == [0.0, 0.5, 1.5]


def test_the_slope_is_that_of_the_last_decade():
    x = np.geomspace(1, 1e4, 9)
    assert cost_line.slope(x, 7 * x**1.5) == pytest.approx(1.5)
    assert cost_line.slope(x, np.maximum(100.0, x)) == pytest.approx(1.0)
