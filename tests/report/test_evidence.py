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
