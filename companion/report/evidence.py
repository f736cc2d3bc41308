"""One row of evidence under a claim: a number, a rule, and a control that the rule must reject.

A rule is a range for a named number; its words are made from its limits.  An outcome is found by
comparing the whole interval with the range.  A control is a planted alternative (a curve with the
wrong rate, a policy without the property, a number off by what would matter), computed with the
same code and as many repetitions: a rule that does not reject it could hardly have failed.
"""

import math
from typing import NamedTuple

import numpy as np

from companion.stats import Interval

OUTCOMES = ("holds", "fails", "undecided")
PROOF = "by proof"


class Rule(NamedTuple):
    """The range in which a number has to lie; `of` says what the number is."""

    of: str
    low: float = -math.inf
    high: float = math.inf

    def outcome(self, interval) -> str:
        """ "holds" if the interval lies within the limits, "fails" if outside as a whole, else
        "undecided"; an interval with a NaN is undecided.
        """
        if interval.low >= self.low and interval.high <= self.high:
            return "holds"
        below, above = interval.high < self.low, interval.low > self.high
        return "fails" if below or above else "undecided"

    def __str__(self):
        if self.low == -math.inf:
            return f"{self.of} at most {self.high:.4g}"
        if self.high == math.inf:
            return f"{self.of} at least {self.low:.4g}"
        return f"{self.of} within [{self.low:.4g}, {self.high:.4g}]"


class Control(NamedTuple):
    """A planted alternative, what the row's code measured of it, and what the rule says of it."""

    what: str
    measured: str
    interval: tuple | None
    outcome: str


class Evidence(NamedTuple):
    """One row: intervals and limits are (low, high), None for an end that is infinite."""

    setting: str
    measured: str
    interval: tuple | None
    rule: str
    outcome: str  # one of OUTCOMES
    decisive: bool  # by proof, exact arithmetic or audit: its failure corrects the paper
    limits: tuple | None = None
    control: Control | None = None

    @property
    def severe(self) -> bool:
        """Whether the rule could fail: it rejects its control, or a proof decides."""
        return self.rule == PROOF or (self.control is not None and self.control.outcome == "fails")


def row(setting, measured, rule: Rule, *, control=None, decisive=False) -> Evidence:
    """The `Evidence` of an `Interval`, or of an exact number, under a `Rule`.

    control: (what was planted, its `Interval` or number), or None.  Raises ValueError on a rule
    without limits, and on words of a rule that hold a number: limits are said by the limits.
    """
    if rule.low == -math.inf and rule.high == math.inf:
        raise ValueError(f"a rule needs low or high; got {rule}")
    if not rule.low <= rule.high:
        raise ValueError(f"low must be at most high; got {rule}")
    found = interval_of(measured)
    planted = None
    if control is not None:
        what, alternative = control
        other = interval_of(alternative)
        planted = Control(what, _text(alternative), _shown(alternative), rule.outcome(other))
    return Evidence(setting, _text(measured), _shown(measured), str(rule), rule.outcome(found),
                    decisive, _ends(rule.low, rule.high), planted)  # fmt: skip


def from_json(record) -> Evidence:
    """The `Evidence` of a JSON record."""
    control = record.get("control")
    return Evidence(**(record | {"control": Control(**control) if control else None}))


def as_json(evidence: Evidence):
    """The plain data of an `Evidence`."""
    control = evidence.control
    return evidence._asdict() | {"control": control._asdict() if control else None}


def interval_of(measured: Interval | float) -> Interval:
    """The `Interval` of what was measured: of an exact number, the number alone."""
    if isinstance(measured, Interval):
        return measured
    return Interval(*[float(measured)] * 3)


def _text(measured):
    return f"{interval_of(measured).value:.4g}"


def _shown(measured):
    return _ends(*measured[1:]) if isinstance(measured, Interval) else None


def _ends(*ends):
    return tuple(float(v) if np.isfinite(v) else None for v in ends)
