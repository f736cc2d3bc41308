"""Claims of a paper, checked by the chapter that reproduces it: a verdict is computed, never typed.

A claim is one sentence of the paper.  Under it stand rows of evidence, one per setting: a number
with its interval, a rule, an outcome, and a control that the rule must reject (`evidence`).  The
verdict follows from the rows (`verdict`).
What the paper does not say is a finding: the same record, in a list of its own.  A chapter's
`Claims` is shown in its last cell; the display carries the records as JSON (mime type `MIME`), from
which the scoreboard page is made.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from companion.report import evidence, markup
from companion.report.evidence import PROOF, Evidence, Rule
from companion.report.markup import SIGNS
from companion.stats import Interval
from companion.validate import need_choice

MIME = "application/vnd.companion.claims+json"
KINDS = ("theorem", "figure", "table", "privacy", "text")
UNTESTED = "not tested at this scale"
VERDICTS = tuple(SIGNS)[:-3]


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
    evidence: tuple
    errata: tuple = ()  # their numbers in ERRATA.md


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

    def __init__(self, at_scale, bound, record):
        self._at_scale, self._bound, self._record, self.rows = at_scale, bound, record, []

    def row(
        self, setting, measured, *, of="95 % interval", low=-math.inf, high=math.inf, **more
    ) -> str:
        """Add a row: an `Interval` (or number) that has to lie within [low, high]; its outcome.

        of: what the number is; control: (the planted alternative in words, its interval or number),
        which the rule must reject.  The words of the rule are made from `of` and the limits.
        """
        return self._add(evidence.row(setting, measured, Rule(of, low, high), **more))

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
        rule = Rule("ε between audit and proof", high=claimed * (1 + 1e-9))
        if control is not None:
            control = control[0], Interval(control[1], control[1], math.inf)
        measured = Interval(lower, lower, proven)
        return self._add(evidence.row(setting, measured, rule, control=control, decisive=True))

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
            said = verdict(self.rows, changes=r.changes, bound=self._bound)
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

        kind: one of KINDS; statement: a sentence of the paper; paper: its place there; changes:
        what of algorithm, constants or noise is not as printed; left_open: what the paper leaves
        open and decides, with what other choices give; bound: a bound with a hidden constant, which
        measuring cannot refute; errata: their numbers in ERRATA.md.  Raises ValueError on a
        repeated id.
        """
        need_choice("kind", kind, KINDS)
        told = changes, left_open, False, (), tuple(errata)
        return self._begin(Claim(self.chapter, id, kind, statement, paper, "", *told), bound)

    def finding(self, id, statement, *, changes="", left_open="", errata=()) -> Open:
        """Begin a finding of ours: a record as for a claim, counted for or against no paper."""
        told = changes, left_open, True, (), tuple(errata)
        return self._begin(Claim(self.chapter, id, "text", statement, "", "", *told), False)

    def _begin(self, record, bound):
        if any(c._record.id == record.id for c in self._open):
            raise ValueError(f"id must be new in this chapter; got id={record.id!r}")
        self._open.append(Open(self.at_scale, bound, record))
        return self._open[-1]

    @property
    def records(self) -> list[Claim]:
        """All records, claims of the paper first."""
        return sorted((c.record for c in self._open), key=lambda r: r.finding)

    def _repr_mimebundle_(self, include=None, exclude=None):
        rows = [
            r._asdict() | {"evidence": [evidence.as_json(e) for e in r.evidence]}
            for r in self.records
        ]
        return {
            MIME: rows,
            "text/html": markup.claims(self.chapter, self.records),
            "text/plain": "\n".join(map(_line, self.records)),
        }


def from_json(record) -> Claim:
    """The `Claim` of one JSON record."""
    rows = tuple(evidence.from_json(row) for row in record["evidence"])
    return Claim(**(record | {"evidence": rows}))


def _line(record):
    return f"{record.id}: {record.verdict} ({'; '.join(e.measured for e in record.evidence)})"
