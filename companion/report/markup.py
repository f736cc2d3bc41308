"""The HTML of verdicts, claims and tables: one look for the whole book."""

import html
import re
from collections import Counter
from importlib.resources import files

import pandas as pd
from pandas.io.formats.style import Styler

SIGNS = {  # verdict: sign, style of the site
    "reproduced": ("✓", "good"),
    "reproduced with changes": ("≈", "fair"),
    "consistent": ("≤", "fair"),
    "not settled": ("?", "none"),
    "not reproduced": ("✗", "bad"),
    "wrong as printed": ("✎", "fixed"),
    "not tested at this scale": ("–", "none"),
    "holds": ("✓", "good"),  # the last three: of findings, and of single rows
    "fails": ("✗", "bad"),
    "undecided": ("?", "none"),
}
# Places in a paper, those of main results first; what has none of these names comes last.
PLACES = ("Theorem", "Corollary", "Figure", "Table", "Proposition", "Lemma", "Algorithm",
          "Definition", "Remark", "Section", "Appendix")  # fmt: skip
NAMED = re.compile(rf"\b({'|'.join(PLACES)})s? [A-Z0-9]", re.IGNORECASE)
SHADES = {  # of verdicts in figures: dark enough for white numbers; signs and words say the same
    "reproduced": "#0a6b4f",
    "reproduced with changes": "#0b5c92",
    "consistent": "#3f7cab",
    "not settled": "#6b7580",
    "not reproduced": "#a32020",
    "wrong as printed": "#7a3a94",
    "not tested at this scale": "#8d8d8d",
}
Table = Styler.from_custom_template(str(files("companion.report")), html_table="table.html")


def rank(record) -> int:
    """Of the first result that a claim's place names, main results first; of a section only where
    nothing else is named."""
    found = [PLACES.index(m[1].capitalize()) for m in NAMED.finditer(record.paper)]
    return min(found, key=lambda at: PLACES[at] in ("Section", "Appendix"), default=len(PLACES))


def badge(verdict: str) -> str:
    """The verdict as sign and word, in a colour that only repeats them."""
    sign, style = SIGNS[verdict]
    return f'<span class="verdict {style}">{sign} {html.escape(verdict)}</span>'


def table(caption: str, head, rows, style: str = "scoreboard") -> str:
    """An HTML table; cells are HTML already, the first cell of a row is its heading."""
    cells = Table(pd.DataFrame([list(map(str, row)) for row in rows], columns=range(len(head))))
    return cells.hide().to_html(exclude_styles=True, caption=caption, names=head, css=style)


def folded(summary: str, content: str) -> str:
    """Content behind a line that opens it."""
    return f"<details><summary>{summary}</summary>{content}</details>"


def ends(interval) -> str:
    """An interval as text; an end that is None is infinite."""
    if interval is None:
        return ""
    low, high = interval
    if low is None and high is None:
        return "not bounded"
    return f"[{'−∞' if low is None else f'{low:.4g}'}, {'∞' if high is None else f'{high:.4g}'}]"


def evidence(record) -> str:
    """The rows of evidence of one claim as a table, and what was changed, as small lines."""
    rows = [
        [html.escape(e.setting or "all"), _number(e), html.escape(e.rule), badge(e.outcome),
         _control(e)]
        for e in record.evidence
    ]  # fmt: skip
    head = ["Setting", "Measured", "Rule", "Outcome", "The rule rejects"]
    caption = f"Evidence: {html.escape(record.statement)}"
    linked = (f'<a href="errata.html#{e.lower()}">{html.escape(e)}</a>' for e in record.errata)
    notes = {
        "Changed": html.escape(record.changes),
        "Left open by the paper": html.escape(record.left_open),
        "Errata": ", ".join(linked),
    }
    said = "".join(f"<small>{name}: {text}</small>" for name, text in notes.items() if text)
    return table(caption, head, rows, "scoreboard evidence") + said


def _number(measured):
    return f"{html.escape(measured.measured)} <small>{ends(measured.interval)}</small>"


def _control(row):
    """What the rule of a row rejects: its planted alternative."""
    if row.control is None:
        return "the proof decides" if row.severe else "no control"
    return f"{'' if row.severe else 'not '}{html.escape(row.control.what)}: {_number(row.control)}"


def claim(record) -> str:
    """One claim where its experiment stands: badge, sentence, and the evidence folded.

    The comment is where the site writes what was changed about a claim and why (`tools.lock`).
    """
    said = f"{badge(record.verdict)} {html.escape(record.statement)}"
    where = f" <small>{html.escape(record.paper)}</small>" if record.paper else ""
    anchor = f'id="evidence-{html.escape(record.id)}"'
    shown = folded("Evidence", evidence(record)) + history(record)
    return f'<div class="claim" {anchor}><p>{said}{where}</p>{shown}</div>'


def history(record) -> str:
    """Where the site writes what was changed about a claim and why (`tools.lock`)."""
    return f"<!-- history of {html.escape(record.chapter)}/{html.escape(record.id)} -->"


def claims(chapter: str, records) -> str:
    """The claims of a chapter, then its findings, each folded behind a count of its verdicts."""
    shown = ""
    for what, finding in (("claims of the paper", False), ("findings of our own", True)):
        if part := [r for r in records if r.finding == finding]:
            caption = f"{what.capitalize()} ({html.escape(chapter)})"
            shown += folded(f"{len(part)} {what}: {tally(part)}", listed(caption, part))
    return shown


def tally(records) -> str:
    """How often every verdict was given, best first."""
    counts = Counter(r.verdict for r in records)
    return ", ".join(f"{counts[v]} {v}" for v in SIGNS if counts[v])


def listed(caption: str, records, page: str | None = None) -> str:
    """Records as a table, main results of the paper first; page: where to link (None: this is the
    place)."""
    rows = [_record(r, page) for r in sorted(records, key=rank)]
    return table(caption, ["Sentence", "Verdict", "Evidence", "Place"], rows) if rows else ""


def _record(record, page):
    """Statement, verdict, rows and place; the statement carries its kind for filters."""
    anchor, said = html.escape(f"claim-{record.id}"), html.escape(record.statement)
    kind = f'data-kind="{"finding" if record.finding else record.kind}"'
    if page is None:
        said = f'<span id="{anchor}" {kind}>{said}</span>'
    else:
        said = f'<a href="{html.escape(page)}#{anchor}" {kind}>{said}</a>'
    rows = [
        f"{html.escape(f'{e.setting}: ' if e.setting else '')}{html.escape(e.measured)} "
        f"<small>{ends(e.interval)} Rule: {html.escape(e.rule)}</small>"
        for e in record.evidence
    ]
    count = f"{len(rows)} row{'' if len(rows) == 1 else 's'}"
    shown = folded(count, "<br>".join(rows) + history(record))
    return [said, badge(record.verdict), shown, html.escape(record.paper)]
