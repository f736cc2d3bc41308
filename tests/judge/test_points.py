"""A point of the contract as plain data."""

from companion.judge import points
from companion.judge.subject import load


def test_what_holds_what_does_not_and_what_cannot_be_tested():
    subject = load("random")
    assert points.checked(subject, "rows") == {"holds": True, "said": ""}
    assert points.checked(subject, "refusals")["holds"] is None
    raising = subject._replace(make=lambda K: 1 // 0)
    assert points.checked(raising, "rows") == {
        "holds": False,
        "said": "ZeroDivisionError: integer division or modulo by zero",
    }
