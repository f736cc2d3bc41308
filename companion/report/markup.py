"""The HTML of verdicts, claims and tables: one look for the whole book."""

import re
from collections import Counter
from html import escape
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
    return f'<span class="verdict {style}">{sign} {escape(verdict)}</span>'


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
        [escape(e.setting or "all"), _number(e), escape(e.rule), badge(e.outcome), _control(e)]
        for e in record.evidence
    ]
    head = ["Setting", "Measured", "Rule", "Outcome", "The rule rejects"]
    linked = (f'<a href="errata.html#{e.lower()}">{escape(e)}</a>' for e in record.errata)
    notes = {
        "Changed": escape(record.changes),
        "Left open by the paper": escape(record.left_open),
        "Errata": ", ".join(linked),
    }
    said = "".join(f"<small>{name}: {text}</small>" for name, text in notes.items() if text)
    caption = f"Evidence: {escape(record.statement)}"
    return table(caption, head, rows, "scoreboard evidence") + said


def _number(measured):
    return f"{escape(measured.measured)} <small>{ends(measured.interval)}</small>"


def _control(row):
    """What the rule of a row rejects: its planted alternative."""
    if row.control is None:
        return "the proof decides" if row.severe else "no control"
    return f"{'' if row.severe else 'not '}{escape(row.control.what)}: {_number(row.control)}"


def claim(record) -> str:
    """One claim where its experiment stands: badge, sentence, and the evidence folded.

    The comment is where the site writes what was changed about a claim and why (`tools.lock`).
    """
    where = f" <small>{escape(record.paper)}</small>" if record.paper else ""
    said = f"<p>{badge(record.verdict)} {escape(record.statement)}{where}</p>"
    shown = folded("Evidence", evidence(record)) + history(record)
    return f'<div class="claim" id="evidence-{escape(record.id)}">{said}{shown}</div>'


def history(record) -> str:
    """Where the site writes what was changed about a claim and why (`tools.lock`)."""
    return f"<!-- history of {escape(record.chapter)}/{escape(record.id)} -->"


def claims(chapter: str, records) -> str:
    """The claims of a chapter, then its findings, each folded behind a count of its verdicts."""
    shown = ""
    for what, finding in (("claims of the paper", False), ("findings of our own", True)):
        if part := [r for r in records if r.finding == finding]:
            caption = f"{what.capitalize()} ({escape(chapter)})"
            shown += folded(f"{len(part)} {what}: {tally(part)}", listed(caption, part))
    return shown


def tally(records) -> str:
    """How often every verdict was given, best first."""
    counts = Counter(r.verdict for r in records)
    return ", ".join(f"{counts[v]} {v}" for v in SIGNS if counts[v])


def listed(caption: str, records, page: str = "") -> str:
    """Records as a table, main results of the paper first; page: where to link ("": this is the
    place).  A statement carries its kind for filters."""
    rows = []
    for r in sorted(records, key=rank):
        tag, to = ("a", f'href="{escape(page)}#') if page else ("span", 'id="')
        kind = "finding" if r.finding else r.kind
        said = f'<{tag} {to}claim-{escape(r.id)}" data-kind="{kind}">{escape(r.statement)}</{tag}>'
        lines = [
            f"{escape(f'{e.setting}: ' if e.setting else '')}{escape(e.measured)} "
            f"<small>{ends(e.interval)} Rule: {escape(e.rule)}</small>"
            for e in r.evidence
        ]
        count = f"{len(lines)} row{'' if len(lines) == 1 else 's'}"
        shown = folded(count, "<br>".join(lines) + history(r))
        rows.append([said, badge(r.verdict), shown, escape(r.paper)])
    return table(caption, ["Sentence", "Verdict", "Evidence", "Place"], rows) if rows else ""
