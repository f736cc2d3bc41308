"""Claims of a paper, checked by the chapter that reproduces it: a verdict is computed, never typed.

A chapter makes one `Claims`, calls `check` after every experiment and shows the object in its last
cell.  The display carries the records as JSON (mime type `MIME`), from which the scoreboard page is
made.
"""

import html
import math
from typing import NamedTuple

from companion.checks import need_choice
from companion.stats import Interval

MIME = "application/vnd.companion.claims+json"
VERDICTS = (
    "reproduced",
    "reproduced with changes",
    "not reproduced",
    "corrected",
    "not tested at this scale",
)


class Claim(NamedTuple):
    """One record; `interval` is (low, high) or None, `rule` was decided before the numbers came."""

    chapter: str
    id: str
    statement: str
    paper: str
    measured: str
    interval: tuple | None
    rule: str
    verdict: str


class Claims:
    """The claims of one chapter; at_scale=False (a smoke run): none is tested at this scale."""

    def __init__(self, chapter, at_scale=True):
        self.chapter, self.at_scale, self.records = chapter, bool(at_scale), []

    def check(
        self,
        id,
        statement,
        paper,
        measured,
        interval,
        rule,
        *,
        holds,
        otherwise="not reproduced",
        when="reproduced",
    ):
        """Record a verdict: `when` if `holds` is true, else `otherwise`.

        statement: what the paper claims; paper: where, or its number; measured: our number, an
        `Interval` or text; interval: (low, high), or None if `measured` is an Interval (then its
        ends) or has none; rule: the decision rule in words; holds: the rule applied to the
        numbers.  Returns the verdict; raises ValueError on a repeated id.
        """
        if any(r.id == id for r in self.records):
            raise ValueError(f"id must be new in this chapter; got {id=}")
        for name, v in (("when", when), ("otherwise", otherwise)):
            need_choice(name, v, VERDICTS)
        if isinstance(measured, Interval) and interval is None:
            interval = (measured.low, measured.high)
        if interval is not None:
            interval = tuple(float(v) if math.isfinite(v) else None for v in interval)
        if isinstance(measured, Interval):
            measured = f"{measured.value:.4g}"
        verdict = VERDICTS[-1] if not self.at_scale else when if bool(holds) else otherwise
        self.records.append(
            Claim(self.chapter, id, statement, paper, str(measured), interval, rule, verdict)
        )
        return verdict

    def _repr_mimebundle_(self, include=None, exclude=None):
        return {
            MIME: [r._asdict() for r in self.records],
            "text/html": self._html(),
            "text/plain": self._text(),
        }

    def _text(self):
        return "\n".join(f"{r.id}: {r.verdict} ({r.measured})" for r in self.records)

    def _html(self):
        head = "".join(
            f'<th scope="col">{h}</th>'
            for h in ("Claim", "Paper", "Measured", "95 % interval", "Rule", "Verdict")
        )
        rows = "".join(_row(r) for r in self.records)
        return f'<table class="claims"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>'


def _row(r):
    ends = (
        ""
        if r.interval is None
        else "[" + ", ".join("∞" if v is None else f"{v:.4g}" for v in r.interval) + "]"
    )
    cells = [r.statement, r.paper, r.measured, ends, r.rule]
    kind = r.verdict.replace(" ", "-")
    body = "".join(f"<td>{html.escape(c)}</td>" for c in cells)
    verdict = f'<td><span class="verdict {kind}">{r.verdict}</span></td>'
    return f'<tr id="claim-{html.escape(r.id)}">{body}{verdict}</tr>'
