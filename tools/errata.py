"""ERRATA.md against the results: its numbers come from records, and its evidence is
there.

A number is a link whose title says where it comes from:
    [27.0](book/online_linucb.ipynb#is-it-private "row: privacy / ε = 10")
        a row of a claim
    [13.9](book/fliphat.ipynb#the-sensitivity "say: missing_factor")
        a number of the prose
What is shown must be the number there, rounded as shown.  An entry that says a statement
or a proof is wrong needs a row that fails among the claims that name it, a finding that
holds, or a proof.
"""

import re

from evidence.claims.markup import powers
from evidence.readable import said
from tools.errors import Failure

HEAD = r'^\* <a id="(\w+)"></a>\*\*([A-Z]+)(\d+)\. (.+?)\*\* \[([\w ]+)\]\.$'
ENTRY = re.compile(HEAD + r"(.*?)(?=^\* |^## |^### |\Z)", re.MULTILINE | re.DOTALL)
NUMBER = re.compile(
    r'\[([^\]]+)\]\(book/(\w+)\.ipynb(?:#[\w-]+)?\s+"(row|say): ([^"]+)"\)'
)
PLACELESS = re.compile(r'\[([^\]]+)\]\(book/(\w+)\.ipynb\s+"(row: ([\w-]+) / [^"]+)"\)')
ARGUMENT = re.compile(
    r"\b(proof|derivation|derived|algebra|reading|by hand)\b",
    re.IGNORECASE,
)
WEIGHTS = (
    "privacy broken",
    "theorem false",
    "theorem unproved",
    "figure or number",
    "program only",
    "constant",
    "misprint",
)
PAPERS = {  # how the numbers of a paper's entries begin: its name on the scoreboard
    "OL": "OnlineLinUCB",
    "FL": "FLIPHAT",
    "SS": "Streaming SCO",
    "GL": "Private GLM bandits",
    "LP": "LPLR",
}
PART = re.compile(r"^  \*(Printed|Evidence|Consequence|Repair):\*", re.MULTILINE)
WRONG = set(WEIGHTS[:5])
SENTENCE = re.compile(r"(?<=\.)\s+(?=[A-Z$\[*])")
UNSEEN = re.compile(r"\]\(.*?\)|\\\w+|[${}[]")  # of links and formulas
SHORT = 250  # characters of a consequence that the table of all entries shows
CONSEQUENCE = re.compile(r"\*Consequence:\*\s(.*?)\n  \*Repair", re.DOTALL)


def entries(text):
    """{number: match of ENTRY} of the text of ERRATA.md."""
    return {match[2] + match[3]: match for match in ENTRY.finditer(text)}


def overview(text):
    """The text as the site shows it: filters and a table of all entries, by weight, come
    before its first section, with the beginning of what follows; an entry's four parts
    are lines of their own; a number of a row that names no section leads to its claim."""
    found = sorted(entries(text).items(), key=lambda item: WEIGHTS.index(item[1][5]))
    lines = ["| entry | paper and place | how bad | what follows |", "|---|---|---|---|"]
    for number, match in found:
        follows = _beginning(CONSEQUENCE.search(match[6])[1], match[1])
        follows = follows.replace("|", "\\|")
        link = f'<a href="#{match[1]}">{number}</a>'
        follows = follows[:1].upper() + follows[1:]
        paper = PAPERS.get(match[2], match[2])
        lines.append(f"| {link} | {paper}: {match[4]} | {match[5]} | {follows} |")
    head, section, rest = text.partition("\n## ")
    rest = PART.sub(r"  * *\1:*", ENTRY.sub(_marked, rest))
    table = "\n".join(lines)
    shown = (
        f"{head}\n## All papers, by weight\n\n<div data-filters></div>\n\n{table}"
        f"{section}{rest}"
    )
    shown = PLACELESS.sub(r'<a href="\2.html#claim-\4" title="\3">\1</a>', shown)
    return powers(shown)


def _beginning(consequence, entry):
    """The first sentences of what follows, SHORT together or one, and where the rest
    is."""
    first, *others = SENTENCE.split(" ".join(consequence.split()))
    while others and len(UNSEEN.sub("", f"{first} {others[0]}")) <= SHORT:
        first += f" {others.pop(0)}"
    return f'{first} <a href="#{entry}">More</a>' if others else first


def _marked(match):
    """An entry with its paper and weight as data, for the filters."""
    paper = PAPERS.get(match[2], match[2])
    data = f'<a id="{match[1]}" data-paper="{paper}" data-weight="{match[5]}"></a>'
    return match[0].replace(f'<a id="{match[1]}"></a>', data, 1)


def source_of(chapter, kind, place, records, spoken):
    """The text of the number that a link names, or None."""
    if kind == "say":
        return spoken.get(chapter, {}).get(f"{chapter}_{place}")
    claim, _, setting = place.partition(" / ")
    for record in records:
        if (record["chapter"], record["id"]) == (chapter, claim):
            rows = [row for row in record["evidence"] if row["setting"] == setting]
            return rows[0]["measured"] if rows else None
    return None


def agrees(shown, found):
    """Whether a shown number is the one found, rounded as it is shown."""
    first = re.search(r"-?\d[\d,]*\.?\d*(?:e[-+]?\d+)?", found)
    try:
        value, number = float(first[0].replace(",", "")), float(shown.replace(",", ""))
    except (TypeError, ValueError):
        return shown == found
    decimals = len(shown.partition(".")[2])
    return abs(value - number) <= 0.5000001 * 10.0**-decimals


def problems(text, records, spoken):
    """A line for every number that is not what the book finds, and for evidence that is
    missing."""
    lines = []
    for number, match in entries(text).items():
        for shown, chapter, kind, place in NUMBER.findall(match[6]):
            found = source_of(chapter, kind, place, records, spoken)
            if found is None:
                lines.append(f"{number}: {chapter} has no {kind} {place!r}")
            elif not agrees(shown, found):
                lines.append(
                    f"{number}: shows {shown} where {chapter} has {found} ({place})"
                )
        naming = [r for r in records if number in r["errata"]]
        shown_by = any(_shows(r) for r in naming)
        if match[5] in WRONG and not shown_by and not ARGUMENT.search(match[6]):
            lines.append(
                f"{number}: no row fails, no finding holds and no proof is named"
            )
    return lines


def _shows(record):
    """Whether a record is evidence against its paper."""
    if record["finding"]:
        return record["verdict"] == "holds"
    return any(row["outcome"] == "fails" for row in record["evidence"])


def check(root, records, notebooks):
    """Raise Failure with the `problems` of ERRATA.md; notebooks: {chapter: executed
    notebook}."""
    path = root / "ERRATA.md"
    if not path.is_file():
        return
    spoken = {name: said(notebook) for name, notebook in notebooks.items()}
    found = problems(path.read_text("utf8"), records, spoken)
    if found:
        raise Failure("ERRATA.md is not what the book finds\n" + "\n".join(found))
