"""Claims of a paper, checked by the chapter that reproduces it: a verdict is computed,
never typed.

A claim is one sentence of the paper.  Under it stand rows of evidence, one per setting: a
number with its interval, a rule (the range in which the number has to lie) and an
outcome, which compares the whole interval with the range.  A control is a planted
alternative, measured by the same code: a rule that does not reject it could hardly have
failed.  The verdict follows from the rows. What the paper does not say is a finding: the
same record, in a list of its own.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from companion.stats import Interval
from evidence.claims import markup

MIME = "application/vnd.companion.claims+json"  # of the records in a chapter's last cell
UNTESTED = "not tested at this scale"
PROOF = "by proof"
AUDITED = "ε between audit and proof"


@dataclass(frozen=True)
class Control:
    """A planted alternative, what the row's code measured of it, and what the rule says
    of it."""

    what: str
    measured: str
    interval: tuple | None
    outcome: str


@dataclass(frozen=True)
class Evidence:
    """One row: intervals and limits are (low, high), None for an end that is infinite."""

    setting: str
    measured: str
    interval: tuple | None
    rule: str
    outcome: str  # "holds", "fails" or "undecided"
    decisive: bool  # by proof, exact arithmetic or audit: its failure corrects the paper
    limits: tuple | None = None
    control: Control | None = None

    @property
    def severe(self) -> bool:
        """Whether the rule could fail, which is shown by a control that it rejects."""
        return self.control is not None and self.control.outcome == "fails"


def outcome(interval, low=-math.inf, high=math.inf) -> str:
    """ "holds" if the interval lies within the limits, "fails" if outside as a whole,
    else "undecided"; an interval with a NaN is undecided.
    """
    if interval.low >= low and interval.high <= high:
        return "holds"
    return "fails" if interval.high < low or interval.low > high else "undecided"


def grade(outcomes, bound: bool) -> str:
    """What rows with these outcomes say together: "fails" if one does, "undecided" unless
    there are some and all hold.

    bound: with a hidden constant, a bound is left undecided by a row that fails.
    """
    if "fails" in outcomes and not bound:
        return "fails"
    return "holds" if set(outcomes) == {"holds"} else "undecided"


def _judged(measured, low, high):
    """(value as text, ends of its interval or None, outcome); a number is its own
    interval."""
    ends = None
    if isinstance(measured, Interval):
        ends = _ends(*measured[1:])
    else:
        value = float(measured)
        measured = Interval(value, value, value)
    return f"{measured.value:.4g}", ends, outcome(measured, low, high)


def _ends(*ends):
    return tuple(float(v) if math.isfinite(v) else None for v in ends)


@dataclass
class Claim:
    """One record of the scoreboard, with the rows that were gathered so far; shown, it is
    a badge with its evidence.  What is not asserted by the paper is a `finding`.
    """

    chapter: str
    id: str
    kind: str
    statement: str
    paper: str  # place in the paper
    at_scale: bool = True  # False (a smoke run): not tested
    changes: str = ""  # what is not as printed: algorithm, constants or noise
    # settings that the paper leaves open and that decide, with other choices
    left_open: str = ""
    finding: bool = False
    bound: bool = False  # with a hidden constant, so that measuring cannot refute it
    errata: tuple = ()  # their numbers in ERRATA.md
    evidence: list[Evidence] = field(default_factory=list)

    @property
    def verdict(self) -> str:
        """What follows from the rows.

        One row that fails is enough against the claim: "wrong as printed" if a proof or
        an audit says so, "not settled" where the claim is a bound with a hidden constant,
        else "not reproduced".  Otherwise one undecided row (or none at all) leaves it
        "not settled", and a row whose rule could not fail, for it rejects no control,
        leaves it "consistent": so does an argument that somebody can check, but no run.
        A finding "fails", is "undecided" or "consistent", or "holds".
        """
        graded = grade([row.outcome for row in self.evidence], self.bound)
        severe = all(row.severe for row in self.evidence)
        if not self.at_scale:
            return UNTESTED
        if graded == "holds" and (self.bound or not severe):
            return "consistent"
        if self.finding:
            return graded
        if any(row.outcome == "fails" and row.decisive for row in self.evidence):
            return "wrong as printed"
        if graded == "holds":
            return "reproduced with changes" if self.changes else "reproduced"
        return "not settled" if graded == "undecided" else "not reproduced"

    def row(
        self,
        setting,
        measured,
        *,
        of="95 % interval",
        low=-math.inf,
        high=math.inf,
        control=None,
        decisive=False,
    ) -> str:
        """Add a row: an `Interval` (or exact number) that has to lie within [low, high];
        its outcome.

        of: what the number is; control: (the planted alternative in words, its interval
        or number), which the rule must reject; decisive: its failure corrects.  Raises
        ValueError on a rule without limits.
        """
        limits = _ends(low, high)
        if not low <= high or limits == (None, None):
            raise ValueError(
                f"a rule needs low <= high, one of them finite; got {low=}, {high=}"
            )
        rule = f"{of} within [{low:.4g}, {high:.4g}]"
        if low == -math.inf:
            rule = f"{of} at most {high:.4g}"
        elif high == math.inf:
            rule = f"{of} at least {low:.4g}"
        planted = None
        if control:
            planted = Control(control[0], *_judged(control[1], low, high))
        text, interval, found = _judged(measured, low, high)
        self.evidence.append(
            Evidence(setting, text, interval, rule, found, decisive, limits, planted)
        )
        return found

    def each(self, measured, *, control=None, **rule) -> Claim:
        """A row for every setting of {setting: `Interval`}, as `row`; returns the claim.

        A setting that is a number is a budget: 0.5 is shown as "ε = 0.5".  control:
        (words, one interval for all settings, or {setting: interval}).
        """
        for name, interval in measured.items():
            setting = name if isinstance(name, str) else f"ε = {name:g}"
            one = control
            if control and isinstance(control[1], dict):
                one = control[0], control[1][name]
            self.row(setting, interval, control=one, **rule)
        return self

    def exact(self, setting, measured: float, *, of: str, **rule) -> str:
        """Add a row that exact arithmetic decides: a number, as `row`; its failure
        corrects."""
        return self.row(setting, measured, of=of, decisive=True, **rule)

    def proof(self, setting: str, text: str, holds: bool | None) -> str:
        """Add a row that a proof decides, one way or the other: text says it, or where it
        stands.

        Nothing is measured here, and no run could fail: one that holds leaves the claim
        "consistent", one that fails corrects the paper.  Readers can check the argument.
        holds: None where the argument needs a statement that is not proved; the row is
        undecided.
        """
        result = "holds" if holds else "fails"
        if holds is None:
            result = "undecided"
        self.evidence.append(Evidence(setting, text, None, PROOF, result, True))
        return result

    def audited(
        self,
        setting,
        lower: float,
        proven: float,
        claimed: float,
        *,
        control=None,
    ) -> str:
        """Add a row of a privacy claim: an audit's lower bound and a proven upper bound
        on epsilon.

        Fails if the audit counts more than was claimed, holds if the proof needs no more,
        and is undecided between the two.  control: (the planted fault, the audit's bound
        for it).
        """
        planted = control and (control[0], Interval(control[1], control[1], math.inf))
        return self.row(
            setting,
            Interval(lower, lower, proven),
            of=AUDITED,
            high=claimed * (1 + 1e-9),
            control=planted,
            decisive=True,
        )

    def _repr_html_(self):
        return markup.claim(self)

    def __repr__(self):
        return (
            f"{self.id}: {self.verdict} ({'; '.join(e.measured for e in self.evidence)})"
        )
