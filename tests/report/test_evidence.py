"""Rules decide by whole intervals, and say their limits."""

import numpy as np
import pytest

from companion.report.evidence import Rule, row
from companion.stats import Interval

INSIDE, ACROSS, OUTSIDE = Interval(0.5, 0.4, 0.6), Interval(1.0, 0.9, 1.1), Interval(2.0, 1.8, 2.2)


@pytest.mark.parametrize(
    ("interval", "ends", "result"),
    [
        (INSIDE, {"high": 1.0}, "holds"),
        (ACROSS, {"high": 1.0}, "undecided"),
        (OUTSIDE, {"high": 1.0}, "fails"),
        (INSIDE, {"low": 1.0}, "fails"),
        (INSIDE, {"low": 0.4, "high": 0.6}, "holds"),
        (INSIDE, {"low": 0.45, "high": 0.55}, "undecided"),
        (INSIDE, {"low": 0.0, "high": 0.3}, "fails"),
        (Interval(0.5, -np.inf, np.inf), {"high": 1.0}, "undecided"),
        (Interval(np.nan, np.nan, np.nan), {"high": 1.0}, "undecided"),
    ],
)
def test_an_outcome_is_decided_by_the_whole_interval(interval, ends, result):
    assert Rule("x", **ends).outcome(interval) == result


def test_words_of_a_rule_are_made_from_its_limits():
    said = [str(Rule("slope", *ends)) for ends in ((0.5, np.inf), (-np.inf, 2), (0.25, 0.75))]
    assert said == ["slope at least 0.5", "slope at most 2", "slope within [0.25, 0.75]"]
    with pytest.raises(ValueError, match="needs low or high"):
        row("", INSIDE, Rule("slope"))
    with pytest.raises(ValueError, match="low must be at most high"):
        row("", INSIDE, Rule("slope", 2.0, 1.0))


@pytest.mark.parametrize(
    ("interval", "ends", "control", "room"),
    [
        (INSIDE, {"high": 1.0}, OUTSIDE, 4.0),  # (1 - 0.6) / 0.1; the control: (1.8 - 1) / 0.2
        (INSIDE, {"high": 1.0}, Interval(1.5, 1.25, 1.75), 1.0),  # the control is nearer
        (INSIDE, {"high": 1.0}, ACROSS, 0.0),  # a control that is not decided
        (INSIDE, {"high": 1.0}, 3.0, 4.0),  # an exact control has no half widths
        (INSIDE, {"low": 0.35, "high": 1.0}, None, 0.5),  # the nearer of two limits
        (OUTSIDE, {"high": 1.0}, None, 4.0),  # fails, and by how much
        (OUTSIDE, {"low": 2.5, "high": 3.0}, None, 1.5),
        (ACROSS, {"high": 1.0}, None, None),
        (0.5, {"high": 1.0}, None, None),
        (Interval(0.5, 0.4, np.inf), {"low": 0.1}, None, None),
    ],
)
def test_room_is_counted_in_half_widths_to_the_nearest_limit(interval, ends, control, room):
    planted = None if control is None else ("planted", control)
    found = row("", interval, Rule("x", **ends), control=planted).room
    assert found == (room if room is None else pytest.approx(room))


def test_what_a_proof_or_an_audit_decides_has_no_room():
    assert row("", INSIDE, Rule("x", high=1.0), decisive=True).room is None
