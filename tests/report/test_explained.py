"""What a verdict's page says about it: every sentence follows from the rows."""

import pytest

from companion.report.claims import Claims
from companion.report.explained import explained
from companion.stats import Interval


def said(rows, *, bound=False, exact=False, finding=False, at_scale=True):
    """What is said of a claim with rows of (setting, measured) under the rule "at most 1"."""
    claims = Claims("chapter", at_scale)
    if finding:
        one = claims.finding("a", "ours")
    else:
        one = claims.claim("a", "text", "theirs", "p", bound=bound)
    for setting, measured in rows:
        add = one.exact if exact else one.row
        add(setting, measured, of="number", high=1.0, control=("ten", 10.0))
    return " ".join(explained(one.record))


ABOVE, ACROSS, BELOW = Interval(2, 1.5, 2.5), Interval(0.8, 0.5, 1.1), Interval(0.5, 0.4, 0.6)


@pytest.mark.parametrize(
    ("rows", "options", "words"),
    [
        ([("A", BELOW)], {}, ["Holds: A (0.5).", "every rule rejects its control"]),
        ([("A", BELOW)], {"bound": True}, ["hidden constant", "no better verdict"]),
        ([("A", BELOW), ("B", ABOVE)], {}, ["Fails: B (2).", "1 row fails.", "is enough"]),
        ([("A", ABOVE)], {"bound": True}, ["cannot refute", "number at most 1"]),
        ([("A", 0.2), ("B", 27.0)], {"exact": True}, ["Holds: A (0.2). Fails: B (27).", "attack"]),
        ([("A", ABOVE)], {"finding": True}, ["neither for nor against a paper"]),
        ([], {}, ["No row of evidence"]),
    ],
)
def test_the_reason_is_that_of_the_verdict(rows, options, words):
    found = said(rows, **options)
    assert all(w in found for w in words), found


def test_an_undecided_row_says_how_many_repetitions_would_decide():
    # the interval reaches 0.3 up from its mean and the limit is 0.2 away: (3/2)^2 = 2.25
    assert "contains the limit 1. About 3 times as many repetitions" in said([("A", ACROSS)])
    assert "1 of 2 rows is undecided" in said([("A", ACROSS), ("B", BELOW)])


def test_no_number_of_repetitions_is_promised_where_there_is_none():
    assert "repetitions" not in said([("A", Interval(1.0, 0.5, 1.5))])
    assert "repetitions" not in said([("A", Interval(0.9, float("-inf"), 1.1))])


def test_many_settings_are_counted():
    assert "A3 (0.5); and 2 more." in said([(f"A{i}", BELOW) for i in range(6)])


def test_a_smaller_run_draws_no_verdict():
    assert said([("A", ABOVE)], at_scale=False) == (
        "This run is smaller than the paper's, so no verdict is drawn."
    )
