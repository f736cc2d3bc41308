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

MIME = "application/vnd.companion.report.claims+json"
SIGNS = {  # verdict: sign, style of the site
    "reproduced": ("✓", "good"),
    "reproduced with changes": ("≈", "fair"),
    "not reproduced": ("✗", "bad"),
    "corrected": ("✎", "fixed"),
    "not tested at this scale": ("–", "none"),
}
VERDICTS = tuple(SIGNS)


class Claim(NamedTuple):
    """One record; `interval` is (low, high) or None; `rule` is to be fixed before numbers come."""

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
            "text/html": details(f"Claims of {self.chapter}", self.records),
            "text/plain": self._text(),
        }

    def _text(self):
        return "\n".join(f"{r.id}: {r.verdict} ({r.measured})" for r in self.records)


def badge(verdict):
    """The verdict as sign and word, in a colour that only repeats them."""
    sign, style = SIGNS[verdict]
    return f'<span class="verdict {style}">{sign} {html.escape(verdict)}</span>'


def table(caption, head, rows):
    """An HTML table; cells are HTML already, the first cell of a row is its heading."""
    line = "".join(f'<th scope="col">{cell}</th>' for cell in head)
    body = "".join(
        f'<tr><th scope="row">{row[0]}</th>' + "".join(f"<td>{c}</td>" for c in row[1:]) + "</tr>"
        for row in rows
    )
    shown = f"<caption>{caption}</caption><thead><tr>{line}</tr></thead><tbody>{body}</tbody>"
    region = f'class="scoreboard" tabindex="0" role="region" aria-label="{caption}"'
    return f"<div {region}><table>{shown}</table></div>"


def details(caption, records, page=None):
    """`Claim` records as an HTML table; page: where to link, None if this is the place."""
    rows = [
        [
            f"{_place(r, page)}<small>Rule: {html.escape(r.rule)}</small>",
            badge(r.verdict),
            f"{html.escape(r.measured)}<small>{_ends(r.interval)}</small>",
            html.escape(r.paper),
        ]
        for r in records
    ]
    return table(html.escape(caption), ["Claim", "Verdict", "Measured", "Paper"], rows)


def _place(r, page):
    """The statement, as the target of links or as a link."""
    anchor, statement = html.escape(f"claim-{r.id}"), html.escape(r.statement)
    if page is None:
        return f'<span id="{anchor}">{statement}</span>'
    return f'<a href="{html.escape(page)}#{anchor}">{statement}</a>'


def _ends(interval):
    """An interval as text; an end that is None is infinite."""
    if interval is None:
        return ""
    low, high = interval
    return f"[{'−∞' if low is None else f'{low:.4g}'}, {'∞' if high is None else f'{high:.4g}'}]"
