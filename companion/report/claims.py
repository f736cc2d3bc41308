"""Claims of a paper, checked by the chapter that reproduces it: a verdict is computed, never typed.

A claim is one sentence of the paper.  Under it stand rows of evidence, one per setting; each row is
a number with its interval, a rule and an outcome.  The verdict follows from the rows (`verdict`).
What the paper does not say is a finding: the same record, in a list of its own.  A chapter's
`Claims` is shown in its last cell; the display carries the records as JSON (mime type `MIME`), from
which the scoreboard page is made.
"""

import math
from typing import NamedTuple

from companion.checks import need_choice
from companion.report import markup
from companion.report.markup import SIGNS
from companion.stats import Interval

MIME = "application/vnd.companion.claims+json"
KINDS = ("theorem", "figure", "table", "privacy", "text")
OUTCOMES = tuple(SIGNS)[-3:]
UNTESTED = "not tested at this scale"
VERDICTS = tuple(SIGNS)[:-3]


class Evidence(NamedTuple):
    """One row: `interval` is (low, high) or None; `rule` is fixed before numbers are seen."""

    setting: str
    measured: str
    interval: tuple | None
    rule: str
    outcome: str  # one of OUTCOMES
    decisive: bool  # by proof, exact arithmetic or audit: its failure corrects the paper


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


def outcome(interval, low=-math.inf, high=math.inf):
    """ "holds" if the interval lies within [low, high], "fails" if outside as a whole, else
    "undecided"; an interval with a NaN is undecided.
    """
    if interval.low >= low and interval.high <= high:
        return "holds"
    return "fails" if interval.high < low or interval.low > high else "undecided"


def verdict(rows, *, changes="", bound=False):
    """The verdict on a claim from its rows of evidence.

    One row that fails is enough against the claim: "corrected" if a proof or an audit says so,
    "not settled" where the claim is a bound with a hidden constant, else "not reproduced".
    Otherwise one undecided row (or none at all) leaves it "not settled".
    """
    outcomes = [row.outcome for row in rows]
    if any(row.outcome == "fails" and row.decisive for row in rows):
        return "corrected"
    if "fails" in outcomes and not bound:
        return "not reproduced"
    if not outcomes or set(outcomes) != {"holds"}:
        return "not settled"
    if bound:
        return "consistent"
    return "reproduced with changes" if changes else "reproduced"


class Open:
    """A claim whose rows are still being gathered; shown, it is its badge with its evidence."""

    def __init__(self, at_scale, bound, record):
        self._at_scale, self._bound, self._record, self.rows = at_scale, bound, record, []

    def row(self, setting, measured, *, low=-math.inf, high=math.inf, rule=None):
        """Add a row: an `Interval` that has to lie within [low, high]; returns the outcome.

        rule: in words (None: made from low and high).
        """
        rule = rule or f"{_name(measured)} {_range(low, high)}"
        return self._add(setting, f"{measured.value:.4g}", _finite(measured), rule,
                         outcome(measured, low, high), False)  # fmt: skip

    def each(self, measured, *, low=-math.inf, high=math.inf, rule=None):
        """A row for every setting of {setting: `Interval`}, as `row`; returns the claim.

        A setting that is a number is a budget: 0.5 is shown as "ε = 0.5".
        """
        for name, interval in measured.items():
            setting = name if isinstance(name, str) else f"ε = {name:g}"
            self.row(setting, interval, low=low, high=high, rule=rule)
        return self

    def judged(self, setting, measured, result, rule, *, decisive=False):
        """Add a row whose outcome ("holds", "fails", "undecided") was found by the rule in words.

        measured: text, a number or an `Interval`; result: the outcome, or whether it holds;
        decisive: by proof, exact arithmetic or audit.
        """
        if not isinstance(result, str):
            result = "holds" if result else "fails"
        need_choice("result", result, OUTCOMES)
        interval = _finite(measured) if isinstance(measured, Interval) else None
        text = f"{measured.value:.4g}" if isinstance(measured, Interval) else _text(measured)
        return self._add(setting, text, interval, rule, result, decisive)

    def proved(self, setting, measured, holds, rule):
        """Add a row that a proof or exact arithmetic decides."""
        return self.judged(setting, measured, bool(holds), rule, decisive=True)

    def audited(self, setting, lower, proven, claimed):
        """Add a row of a privacy claim: an audit's lower bound and a proven upper bound on epsilon.

        Fails if the audit counts more than was claimed, holds if the proof needs no more, and is
        undecided between the two.
        """
        found = Interval(lower, lower, proven)
        rule = f"ε lies between audit and proof; claimed: {claimed:.4g}"
        result = outcome(found, -math.inf, claimed * (1 + 1e-9))
        return self._add(setting, f"ε ≥ {lower:.3g}", _finite(found), rule, result, True)

    def _add(self, *fields):
        self.rows.append(Evidence(*fields))
        return fields[4]

    @property
    def record(self):
        """The `Claim` with the verdict that follows from the rows so far."""
        r = self._record
        if r.finding:
            found = {row.outcome for row in self.rows} or {"undecided"}
            said = next(o for o in ("fails", "undecided", "holds") if o in found)
        else:
            said = verdict(self.rows, changes=r.changes, bound=self._bound)
        said = said if self._at_scale else UNTESTED
        return r._replace(verdict=said, evidence=tuple(self.rows))

    @property
    def verdict(self):
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
    ):
        """Begin a claim, to which rows are added (`Open`).

        kind: one of KINDS; statement: a sentence of the paper; paper: its place there; changes:
        what of algorithm, constants or noise is not as printed; left_open: what the paper leaves
        open and decides, with what other choices give; bound: a bound with a hidden constant, which
        measuring cannot refute; errata: their numbers in ERRATA.md.  Raises ValueError on a
        repeated id.
        """
        need_choice("kind", kind, KINDS)
        record = Claim(self.chapter, id, kind, statement, paper, "", changes, left_open, False, (),
                       tuple(errata))  # fmt: skip
        return self._begin(record, bound)

    def finding(self, id, statement, *, changes="", left_open="", errata=()):
        """Begin a finding of ours: rows and record as for a claim, counted for nobody."""
        record = Claim(self.chapter, id, "text", statement, "", "", changes, left_open, True, (),
                       tuple(errata))  # fmt: skip
        return self._begin(record, False)

    def _begin(self, record, bound):
        if any(c._record.id == record.id for c in self._open):
            raise ValueError(f"id must be new in this chapter; got id={record.id!r}")
        self._open.append(Open(self.at_scale, bound, record))
        return self._open[-1]

    @property
    def records(self):
        """All records, claims of the paper first."""
        return sorted((c.record for c in self._open), key=lambda r: r.finding)

    def _repr_mimebundle_(self, include=None, exclude=None):
        rows = [r._asdict() | {"evidence": [e._asdict() for e in r.evidence]} for r in self.records]
        return {
            MIME: rows,
            "text/html": markup.claims(self.chapter, self.records),
            "text/plain": "\n".join(map(_line, self.records)),
        }


def from_json(record):
    """The `Claim` of one JSON record."""
    rows = tuple(Evidence(**row) for row in record["evidence"])
    return Claim(**(record | {"evidence": rows}))


def _line(record):
    return f"{record.id}: {record.verdict} ({'; '.join(e.measured for e in record.evidence)})"


def _text(measured):
    return measured if isinstance(measured, str) else f"{measured:.4g}"


def _finite(interval):
    """(low, high) for JSON: an end that is not finite is None."""
    return tuple(float(v) if math.isfinite(v) else None for v in interval[1:])


def _name(measured):
    return "95 % interval" if isinstance(measured, Interval) else "number"


def _range(low, high):
    if low == -math.inf:
        return f"below {high:g}"
    return f"above {low:g}" if high == math.inf else f"within [{low:g}, {high:g}]"
