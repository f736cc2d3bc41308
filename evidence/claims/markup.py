"""The HTML of verdicts, claims and tables: one look for the whole book.

The templates stand in `markup.html`.  Text is escaped, HTML (`markupsafe.Markup`) is not.
"""

import re
from collections import Counter

from jinja2 import Environment, PackageLoader

SIGNS = {  # verdict: sign, style of the site, colour dark enough below white numbers
    "reproduced": ("✓", "good", "#0a6b4f"),
    "reproduced with changes": ("≈", "fair", "#0b5c92"),
    "consistent": ("≤", "fair", "#3a76a5"),
    "not settled": ("?", "none", "#6b7580"),
    "not reproduced": ("✗", "bad", "#a32020"),
    "wrong as printed": ("✎", "fixed", "#7a3a94"),
    "not tested at this scale": ("–", "none", "#757575"),
    "holds": ("✓", "good", ""),  # the last three: of findings, and of single rows
    "fails": ("✗", "bad", ""),
    "undecided": ("?", "none", ""),
}
# of claims, in the order of tables
KINDS = ("theorem", "figure", "table", "privacy", "text")
EXPONENT = re.compile(r"(?<![\w.])(-?\d(?:\.\d+)?)e([+-]\d+)\b")
RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def powers(text):
    """A text with its 1.3e+06 written as 1.3 × 10⁶, and numbers up to a million in full;
    anything else, and HTML, as it is.

    >>> powers("1.3e+06, 2.5e+03 and 1e-05")
    '1.3 × 10⁶, 2,500 and 10⁻⁵'
    """

    def written(match):
        factor, exponent = match.groups()
        if 0 < int(exponent) < 6:
            return f"{float(match[0]):,.0f}"
        power = f"10{str(int(exponent)).translate(RAISED)}"
        return power if factor == "1" else f"{factor} × {power}"

    return EXPONENT.sub(written, text) if type(text) is str else text


HERE = PackageLoader("evidence.claims", ".")
site = Environment(loader=HERE, autoescape=True, trim_blocks=True)
site.globals["SIGNS"] = SIGNS
site.filters["powers"] = powers
site = site.get_template("markup.html").module
badge = site.badge
folded = site.folded
table = site.table


def claim(record) -> str:
    """One claim where its experiment stands: badge, sentence, and the evidence folded."""
    head = ["Setting", "Measured", "Rule", "Outcome", "The rule rejects"]
    rows = [
        [e.setting or "all", site.number(e), e.rule, badge(e.outcome), site.control(e)]
        for e in record.evidence
    ]
    evidence = table(f"Evidence: {record.statement}", head, rows, "scoreboard evidence")
    return site.claim(record, evidence)


def claims(chapter: str, records) -> str:
    """The claims of a chapter, then its findings, each folded behind a count of its
    verdicts."""
    shown = ""
    for what, finding in (("Claims of the paper", False), ("Findings of our own", True)):
        if part := [r for r in records if r.finding == finding]:
            page = listed(f"{what} ({chapter})", part)
            shown += folded(f"{what} ({len(part)}): {tally(part)}", page)
    return shown


def counted(records) -> dict:
    """{verdict: how often it was given}, best first."""
    counts = Counter(r.verdict for r in records)
    return {v: counts[v] for v in SIGNS if counts[v]}


def tally(records) -> str:
    """The same in words."""
    return ", ".join(f"{n} {v}" for v, n in counted(records).items())


def listed(caption: str, records, link=False) -> str:
    """Records as a table, theorems first, then figures, ...; link: sentences lead to
    their chapters (False: this is the place).  A statement carries its kind for
    filters."""
    rows = [
        [site.statement(r, link), badge(r.verdict), site.rows(r), r.paper]
        for r in sorted(records, key=lambda r: KINDS.index(r.kind))
    ]
    return table(caption, ["Sentence", "Verdict", "Evidence", "Place"], rows)
