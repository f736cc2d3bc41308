"""The HTML of verdicts, claims and tables: one look for the whole book."""

import html
import re
from collections import Counter

from companion.report.explained import explained

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
PARTS = {  # of a paper, by the ranks of their places
    "theorems and corollaries": range(2),
    "figures and tables": range(2, 4),
    "lemmas, definitions and text": range(4, len(PLACES) + 1),
}
NAMED = re.compile(rf"\b({'|'.join(PLACES)})s? ([A-Z0-9][A-Z0-9.]*)", re.IGNORECASE)


def group(record) -> tuple[int, str]:
    """(rank, name) of the theorem, figure or section that a claim is about, main results first.

    It is the first that the record's place names; a section only where nothing else is named.
    """
    found = [
        (PLACES.index(m[1].capitalize()), m[2].rstrip(".")) for m in NAMED.finditer(record.paper)
    ]
    found.sort(key=lambda place: PLACES[place[0]] in ("Section", "Appendix"))
    rank, number = found[0] if found else (len(PLACES), "")
    return rank, f"{PLACES[rank]} {number}" if number else "Elsewhere in the paper"


def badge(verdict: str) -> str:
    """The verdict as sign and word, in a colour that only repeats them."""
    sign, style = SIGNS[verdict]
    return f'<span class="verdict {style}">{sign} {html.escape(verdict)}</span>'


def table(
    caption: str,
    head,
    rows,
    style: str = "scoreboard",
) -> str:
    """An HTML table; cells are HTML already, the first cell of a row is its heading.

    rows: a list, or {heading: rows} for groups.  Every cell carries its column's name, so that a
    narrow page can stack the row as a card.
    """
    line = "".join(f'<th scope="col">{cell}</th>' for cell in head)
    groups = rows if isinstance(rows, dict) else {"": rows}
    body = "".join(f"<tbody>{_body(name, head, part)}</tbody>" for name, part in groups.items())
    shown = f"<caption>{caption}</caption><thead><tr>{line}</tr></thead>{body}"
    region = f'class="{style}" tabindex="0" role="region" aria-label="{caption}"'
    return f"<div {region}><table>{shown}</table></div>"


def _body(name, head, rows):
    span = f'<th colspan="{len(head)}" scope="rowgroup">{name}</th>'
    first = f'<tr class="group">{span}</tr>' if name else ""
    return first + "".join(
        f'<tr><th scope="row">{row[0]}</th>'
        + "".join(
            f'<td data-label="{html.escape(html.unescape(column), quote=True)}">{cell}</td>'
            for column, cell in zip(head[1:], row[1:], strict=True)
        )
        + "</tr>"
        for row in rows
    )


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
    """The rows of evidence of one claim as a table."""
    rows = [
        [
            html.escape(e.setting or "all"),
            f"{html.escape(e.measured)} <small>{ends(e.interval)}</small>",
            html.escape(e.rule),
            badge(e.outcome),
            _control(e),
        ]
        for e in record.evidence
    ]
    head = ["Setting", "Measured", "Rule", "Outcome", "The rule rejects"]
    caption = f"Evidence: {html.escape(record.statement)}"
    return why(record) + table(caption, head, rows, "scoreboard evidence")


def why(record) -> str:
    """What the verdict rests on, in words."""
    return f'<p class="why">{" ".join(map(html.escape, explained(record)))}</p>'


def _control(e):
    """What the rule of a row rejects: its planted alternative."""
    if e.control is None:
        return "the proof decides" if e.severe else "no control"
    c = e.control
    shown = f"{html.escape(c.what)}: {html.escape(c.measured)} <small>{ends(c.interval)}</small>"
    return shown if e.severe else f"not {shown}"


def notes(record) -> str:
    """What was changed, what the paper leaves open, and its errata, as small lines."""
    linked = (f'<a href="errata.html#{e.lower()}">{html.escape(e)}</a>' for e in record.errata)
    said = (
        ("Changed", html.escape(record.changes)),
        ("Left open by the paper", html.escape(record.left_open)),
        ("Errata", ", ".join(linked)),
    )
    return "".join(f"<small>{name}: {text}</small>" for name, text in said if text)


def claim(record) -> str:
    """One claim where its experiment stands: badge, sentence, and the evidence folded."""
    head = f"{badge(record.verdict)} {html.escape(record.statement)}"
    place = f" <small>{html.escape(record.paper)}</small>" if record.paper else ""
    shown = folded("Evidence", evidence(record) + notes(record))
    anchor = f'id="evidence-{html.escape(record.id)}"'
    told = history(record)
    return f'<div class="claim" {anchor}><p>{head}{place}</p>{shown}{told}</div>'


def history(record) -> str:
    """Where the site writes what was changed about a claim and why (`tools.lock`)."""
    return f"<!-- history of {html.escape(record.chapter)}/{html.escape(record.id)} -->"


def claims(chapter: str, records, page: str | None = None) -> str:
    """The claims of a chapter, a folded table for each of PARTS, then its findings, folded as well.

    page: where to link (None: this is the place).
    """
    own, shown = [r for r in records if r.finding], ""
    for name, places in PARTS.items():
        part = [r for r in records if not r.finding and group(r)[0] in places]
        if part:
            shown += f"<p>What the paper says in {name}: {tally(part)}.</p>"
            listed = by_group(f"Claims in {name} ({html.escape(chapter)})", part, page)
            shown += folded(f"All {len(part)} of {name}", listed)
    if not own:
        return shown
    note = "<p>Findings are what the paper does not say; they count in none of its verdicts.</p>"
    listed = findings(f"Findings of our own ({html.escape(chapter)})", own, page)
    return shown + note + folded(f"All {len(own)} findings of our own", listed)


def tally(records) -> str:
    """How often every verdict was given, best first."""
    counts = Counter(r.verdict for r in records)
    return ", ".join(f"{counts[v]} {v}" for v in SIGNS if counts[v])


def by_group(caption: str, records, page: str | None = None) -> str:
    """The claims among the records, grouped by theorem, figure or section, main results first."""
    groups = {}
    for r in sorted((r for r in records if not r.finding), key=lambda r: group(r)[0]):
        groups.setdefault(html.escape(group(r)[1]), []).append(_row(r, page))
    return table(caption, HEAD, groups) if groups else ""


def findings(caption: str, records, page: str | None = None) -> str:
    """Findings as a table of their own, in the order of the records."""
    head = HEAD[:3]
    return table(caption, head, [_row(r, page)[:3] for r in records]) if records else ""


HEAD = ["Sentence", "Verdict", "Evidence", "Place"]


def _row(record, page):
    said = badge(record.verdict), _summary(record), html.escape(record.paper)
    return [_place(record, page), *said]


def _summary(record):
    """The rows of a record and its notes, behind the number of rows."""
    shown = [
        f"{html.escape(f'{e.setting}: ' if e.setting else '')}{html.escape(e.measured)} "
        f"<small>{ends(e.interval)} Rule: {html.escape(e.rule)}</small>"
        for e in record.evidence
    ]
    count = f"{len(shown)} row{'' if len(shown) == 1 else 's'}"
    return folded(count, why(record) + "<br>".join(shown) + notes(record) + history(record))


def _place(record, page):
    """The statement, as the target of links or as a link; it carries its kind for filters."""
    anchor, statement = html.escape(f"claim-{record.id}"), html.escape(record.statement)
    kind = f'data-kind="{"finding" if record.finding else record.kind}"'
    if page is None:
        return f'<span id="{anchor}" {kind}>{statement}</span>'
    return f'<a href="{html.escape(page)}#{anchor}" {kind}>{statement}</a>'
