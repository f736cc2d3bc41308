"""Every sentence of every paper beside its verdict: what is judged, shown, or not judged, and why.

A room lists its paper's sentences in `paper.toml`, in the paper's order.  A sentence names the
claims that judge it (`claims`), sections that show it without a rule (`shown`, CHAPTER#SECTION), or
why nobody judges it (`why`); verdicts come from the records of a build.
"""

import html
import re
import tomllib
from functools import cache
from importlib.resources import files

from companion.report import markup
from companion.report.published import rooms

HEAD = ["Place", "Sentence", "Verdict", "Remark"]
LABEL = re.compile(r"\b([A-Z][a-z]+)s? ((?:[A-Z]+|\d+)\.)?(\d+)\b")


@cache
def paper(room: str):
    """What `paper.toml` of a room says: paper, chapters, counters, assumed, sentences.

    A sentence has place, says, and at least one of claims, shown and why.  counters: the last
    number of every counter of the paper; assumed: places that define or assume, and assert nothing.
    """
    return tomllib.loads(files(f"companion.{room}").joinpath("paper.toml").read_text("utf8"))


def numbers(room: str) -> dict[str, list[int]]:
    """{counter: sorted numbers} of all places of a paper, as its counters share them out.

    "Lemma 3.2" counts under "3" where all kinds of a section share a counter, else under "Lemma 3";
    "Table 2" counts under "Table".  Every place stands once.
    """
    told, found = paper(room), {}
    counted = told["counters"]
    for place in [s["place"] for s in told["sentences"]] + told["assumed"]:
        kind, section, number = _label(place)
        if kind is None:
            continue
        shared = (section or "").rstrip(".")
        key = shared if shared in counted else f"{kind} {shared}".strip()
        if key in counted:
            found.setdefault(key, []).append(int(number))
    return {key: sorted(n) for key, n in found.items()}


def _label(place):
    """(kind, section or None, number) of a place that begins with a numbered name, else Nones."""
    match = LABEL.match(place)
    named = match and match[1] not in ("Section", "Appendix", "Contribution")
    return match.groups() if named else (None, None, None)


def tallies(room: str) -> tuple[int, int, int, int]:
    """(sentences, judged by a claim, shown without one, neither) of a paper."""
    listed = paper(room)["sentences"]
    judged = sum("claims" in s for s in listed)
    shown = sum("shown" in s and "claims" not in s for s in listed)
    return len(listed), judged, shown, len(listed) - judged - shown


def summary() -> str:
    """The counts of all papers, as an HTML table."""
    rows = [[html.escape(paper(room)["paper"]), *map(str, tallies(room))] for room in rooms()
            if _listed(room)]  # fmt: skip
    head = ["Paper", "Sentences", "Judged", "Shown", "Not judged"]
    return markup.table("Sentences of the papers", head, rows)


def tables(records) -> str:
    """A folded table of all sentences of every paper; records: the `Claim`s of a build."""
    shown = ""
    for room in filter(_listed, rooms()):
        told = paper(room)
        own = {r.id: r for r in records if r.chapter in told["chapters"]}
        rows = [_row(s, own) for s in told["sentences"]]
        caption = html.escape(told["paper"])
        shown += markup.folded(
            f"{caption}: {len(rows)} sentences", markup.table(caption, HEAD, rows)
        )
    return shown


def _listed(room):
    return files(f"companion.{room}").joinpath("paper.toml").is_file()


def _row(sentence, own):
    """One sentence; what judges or shows it is linked."""
    outcome = [_verdict(own[i]) for i in sentence.get("claims", ()) if i in own]
    outcome += [f"{html.escape(i)}: not built" for i in sentence.get("claims", ()) if i not in own]
    outcome += [_section(place) for place in sentence.get("shown", ())]
    said = html.escape(sentence.get("why", ""))
    return [html.escape(sentence["place"]), html.escape(sentence["says"]),
            "<br>".join(outcome) or "not judged", said]  # fmt: skip


def _verdict(record):
    target = f"{html.escape(record.chapter)}.html#claim-{html.escape(record.id)}"
    return f'<a href="{target}">{markup.badge(record.verdict)}</a>'


def _section(place):
    chapter, _, anchor = place.partition("#")
    return f'<a href="{html.escape(chapter)}.html#{html.escape(anchor)}">shown</a>'
