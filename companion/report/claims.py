"""Claims of a paper, checked by the chapter that reproduces it: a verdict is computed, never typed.

A claim is one sentence of the paper.  Under it stand rows of evidence, one per setting: a number
with its interval, a rule (the range in which the number has to lie) and an outcome, which compares
the whole interval with the range.  A control is a planted alternative, measured by the same code: a
rule that does not reject it could hardly have failed.  The verdict follows from the rows.
What the paper does not say is a finding: the same record, in a list of its own.  A chapter's
`Claims` is shown in its last cell; the display carries the records as JSON (mime type `MIME`), from
which the scoreboard page is made.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from companion.report import markup
from companion.report.markup import SIGNS
from companion.stats import Interval
from companion.validate import need_choice

MIME = "application/vnd.companion.claims+json"
KINDS = ("theorem", "figure", "table", "privacy", "text")
UNTESTED = "not tested at this scale"
VERDICTS = tuple(SIGNS)[:-3]
PROOF = "by proof"


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
    outcome: str  # "holds", "fails" or "undecided"
    decisive: bool  # by proof, exact arithmetic or audit: its failure corrects the paper
    limits: tuple | None = None
    control: Control | None = None

    @property
    def severe(self) -> bool:
        """Whether the rule could fail: it rejects its control, or a proof decides."""
        return self.rule == PROOF or (self.control is not None and self.control.outcome == "fails")


class Claim(NamedTuple):
    """One record of the scoreboard; what is not asserted by the paper is a `finding`."""

    chapter: str
    id: str
    kind: str
    statement: str
    paper: str  # place in the paper
    verdict: str
    changes: str  # what is not as printed: algorithm, constants or noise
    left_open: str  # settings that the paper leaves open and that decide, with other choices
    finding: bool
    evidence: tuple = ()
    errata: tuple = ()  # their numbers in ERRATA.md
    bound: bool = False  # with a hidden constant, so that measuring cannot refute it


def outcome(interval, low=-math.inf, high=math.inf) -> str:
    """ "holds" if the interval lies within the limits, "fails" if outside as a whole, else
    "undecided"; an interval with a NaN is undecided.
    """
    if interval.low >= low and interval.high <= high:
        return "holds"
    return "fails" if interval.high < low or interval.low > high else "undecided"


def row(
    setting, measured, of, low=-math.inf, high=math.inf, *, control=None, decisive=False
) -> Evidence:
    """The `Evidence` of an `Interval`, or of an exact number, that has to lie within [low, high].

    of: what the number is; control: (what was planted, its `Interval` or number), or None.  Raises
    ValueError on a rule without limits.
    """
    if low == -math.inf and high == math.inf:
        raise ValueError(f"a rule needs low or high; got {low=} and {high=}")
    if not low <= high:
        raise ValueError(f"low must be at most high; got {low=} and {high=}")
    ends = f"within [{low:.4g}, {high:.4g}]"
    if low == -math.inf:
        ends = f"at most {high:.4g}"
    elif high == math.inf:
        ends = f"at least {low:.4g}"
    planted = None
    if control is not None:
        what, other = control
        planted = Control(what, *_shown(other), outcome(_interval(other), low, high))
    found = outcome(_interval(measured), low, high)
    limits = _ends(low, high)
    return Evidence(setting, *_shown(measured), f"{of} {ends}", found, decisive, limits, planted)


def _interval(measured):
    """Of an exact number, the number alone."""
    return measured if isinstance(measured, Interval) else Interval(*[float(measured)] * 3)


def _shown(measured):
    """(value as text, ends of its interval or None)."""
    interval = _ends(*measured[1:]) if isinstance(measured, Interval) else None
    return f"{_interval(measured).value:.4g}", interval


def _ends(*ends):
    return tuple(float(v) if np.isfinite(v) else None for v in ends)


def verdict(rows, *, changes: str = "", bound: bool = False) -> str:
    """The verdict on a claim from its rows of evidence.

    One row that fails is enough against the claim: "wrong as printed" if a proof or an audit says
    so, "not settled" where the claim is a bound with a hidden constant, else "not reproduced".
    Otherwise one undecided row (or none at all) leaves it "not settled", and a row whose rule could
    not fail, for it rejects no control, leaves it "consistent".
    """
    outcomes = [row.outcome for row in rows]
    if any(row.outcome == "fails" and row.decisive for row in rows):
        return "wrong as printed"
    if "fails" in outcomes and not bound:
        return "not reproduced"
    if not outcomes or set(outcomes) != {"holds"}:
        return "not settled"
    if bound or not all(row.severe for row in rows):
        return "consistent"
    return "reproduced with changes" if changes else "reproduced"


def found(rows) -> str:
    """The verdict on a finding of ours: "fails", "undecided", "consistent" or "holds"."""
    outcomes = {row.outcome for row in rows} or {"undecided"}
    said = next(o for o in ("fails", "undecided", "holds") if o in outcomes)
    return "consistent" if said == "holds" and not all(row.severe for row in rows) else said


class Open:
    """A claim whose rows are still being gathered; shown, it is its badge with its evidence."""

    def __init__(self, at_scale, record):
        self._at_scale, self._record, self.rows = at_scale, record, []

    def row(self, setting, measured, *, of="95 % interval", **rule) -> str:
        """Add a row: an `Interval` (or number) that has to lie within [low, high]; its outcome.

        of: what the number is; low, high: the limits; control: (the planted alternative in words,
        its interval or number), which the rule must reject; decisive: its failure corrects.
        """
        return self._add(row(setting, measured, of, **rule))

    def each(self, measured, *, control=None, **rule) -> Open:
        """A row for every setting of {setting: `Interval`}, as `row`; returns the claim.

        A setting that is a number is a budget: 0.5 is shown as "ε = 0.5".  control: (words, one
        interval for all settings, or {setting: interval}).
        """
        for name, interval in measured.items():
            setting = name if isinstance(name, str) else f"ε = {name:g}"
            one = control
            if control is not None and isinstance(control[1], dict):
                one = control[0], control[1][name]
            self.row(setting, interval, control=one, **rule)
        return self

    def exact(self, setting, measured: float, *, of: str, **rule) -> str:
        """Add a row that exact arithmetic decides: a number, as `row`; its failure corrects."""
        return self.row(setting, measured, of=of, decisive=True, **rule)

    def proof(self, setting: str, text: str, holds: bool) -> str:
        """Add a row that a proof decides, one way or the other: text says it, or where it stands.

        Nothing is measured here: the verdict rests on the argument, which readers can check.
        """
        if not isinstance(text, str) or len(text) < 20:
            raise ValueError(f"text must say the proof, or where it stands; got {text!r}")
        result = "holds" if holds else "fails"
        return self._add(Evidence(setting, text, None, PROOF, result, True))

    def audited(self, setting, lower: float, proven: float, claimed: float, *, control=None) -> str:
        """Add a row of a privacy claim: an audit's lower bound and a proven upper bound on epsilon.

        Fails if the audit counts more than was claimed, holds if the proof needs no more, and is
        undecided between the two.  control: (the planted fault, the audit's bound for it).
        """
        if control is not None:
            control = control[0], Interval(control[1], control[1], math.inf)
        return self.row(setting, Interval(lower, lower, proven), of="ε between audit and proof",
                        high=claimed * (1 + 1e-9), control=control, decisive=True)  # fmt: skip

    def _add(self, row):
        self.rows.append(row)
        return row.outcome

    @property
    def record(self) -> Claim:
        """The `Claim` with the verdict that follows from the rows so far."""
        r = self._record
        if r.finding:
            said = found(self.rows)
        else:
            said = verdict(self.rows, changes=r.changes, bound=r.bound)
        said = said if self._at_scale else UNTESTED
        return r._replace(verdict=said, evidence=tuple(self.rows))

    @property
    def verdict(self) -> str:
        """The verdict so far."""
        return self.record.verdict

    def _repr_html_(self):
        return markup.claim(self.record)

    def __repr__(self):
        return _line(self.record)


class Claims:
    """The claims of one chapter; at_scale=False (a smoke run): none is tested at this scale."""

    def __init__(self, chapter, at_scale=True):
        self.chapter, self.at_scale, self._open = chapter, bool(at_scale), []

    def claim(
        self, id, kind, statement, paper, *, changes="", left_open="", bound=False, errata=()
    ) -> Open:
        """Begin a claim, to which rows are added (`Open`).

        kind: one of KINDS; statement: a sentence of the paper; paper: its place there; the others
        as in `Claim`.  Raises ValueError on a repeated id.
        """
        need_choice("kind", kind, KINDS)
        told = {"changes": changes, "left_open": left_open, "errata": tuple(errata)}
        return self._begin(id, kind, statement, paper, bound=bound, finding=False, **told)

    def finding(self, id, statement, *, changes="", left_open="", errata=()) -> Open:
        """Begin a finding of ours: a record as for a claim, counted for or against no paper."""
        told = {"changes": changes, "left_open": left_open, "errata": tuple(errata)}
        return self._begin(id, "text", statement, "", finding=True, **told)

    def _begin(self, id, kind, statement, paper, **told):
        if any(c._record.id == id for c in self._open):
            raise ValueError(f"id must be new in this chapter; got {id=}")
        record = Claim(self.chapter, id, kind, statement, paper, verdict="", **told)
        self._open.append(Open(self.at_scale, record))
        return self._open[-1]

    @property
    def records(self) -> list[Claim]:
        """All records, claims of the paper first."""
        return sorted((c.record for c in self._open), key=lambda r: r.finding)

    def _repr_mimebundle_(self, include=None, exclude=None):
        return {
            MIME: [as_json(r) for r in self.records],
            "text/html": markup.claims(self.chapter, self.records),
            "text/plain": "\n".join(map(_line, self.records)),
        }


def as_json(record: Claim):
    """The plain data of a `Claim`."""
    rows = [e._asdict() | {"control": e.control and e.control._asdict()} for e in record.evidence]
    return record._asdict() | {"evidence": rows}


def from_json(record) -> Claim:
    """The `Claim` of one JSON record."""
    rows = tuple(
        Evidence(**(e | {"control": e["control"] and Control(**e["control"])}))
        for e in record["evidence"]
    )
    return Claim(**(record | {"evidence": rows}))


def _line(record):
    return f"{record.id}: {record.verdict} ({'; '.join(e.measured for e in record.evidence)})"
