"""The scoreboard: what all chapters have claimed, from the records that `make book` writes.

Every sentence of every paper stands there beside its verdict.  A paper's folder lists its sentences
in `paper.toml`, in the paper's order: each names the claims that judge it (`claims`), sections that
show it without a rule (`shown`, CHAPTER#SECTION), or why nobody judges it (`why`).
"""

import html
import json
import tomllib
from collections import Counter
from functools import cache
from importlib.resources import files
from pathlib import Path

from companion.report import markup
from companion.report.claims import VERDICTS, from_json
from companion.report.published import rooms
from companion.report.tables import Shown

NOTHING = "No chapter has been executed: run `make book`."
EVIDENCE = "_rows"  # ends the names of evidence pages


class Scoreboard:
    """The records of a build; `records`: path of its claims.json, with times.json beside it ("":
    none, and every table says so).
    """

    def __init__(self, records=""):
        self.claims, self.times = [], {"chapters": []}
        if records:
            path = Path(records)
            self.claims = [from_json(r) for r in json.loads(path.read_text("utf8"))]
            self.times = json.loads(path.with_name("times.json").read_text("utf8"))

    def message(self) -> Shown:
        """How many sentences were tested and how they came out, in three sentences."""
        n = Counter(c.verdict for c in self.claims if not c.finding)
        if not n:
            return _shown("")
        small = n["not tested at this scale"]
        held = n["reproduced"] + n["reproduced with changes"]
        tested = [c for c in self.claims if not c.finding and not c.chapter.endswith(EVIDENCE)]
        said = (
            f"We tested <b>{n.total() - small}</b> sentences of the papers: {len(tested)} in the "
            f"chapters, the others on evidence pages. <b>{held}</b> hold: "
            f"{n['reproduced']} as printed, and {n['reproduced with changes']} with changes that "
            f"we name; {n['consistent']} more are consistent with what we measured. "
            f"<b>{n['wrong as printed']}</b> are wrong as printed, {n['not reproduced']} were not "
            f"reproduced, and {n['not settled']} are not settled."
        )
        rest = f" {small} could not be tested at the scale of this build." if small else ""
        return _shown(f"<p>{said}{rest}</p>")

    def summary(self) -> Shown:
        """Verdicts counted per chapter, findings apart."""
        rows = []
        for chapter in self.times["chapters"]:
            claimed, found = (self._of(chapter, finding) for finding in (False, True))
            if claimed or found:
                n = Counter(c.verdict for c in claimed)
                said = (f"<span>{n[v]} × {markup.badge(v)}</span>" for v in VERDICTS if n[v])
                rows.append([_link(chapter), len(claimed), " ".join(said), len(found)])
        return _table("Verdicts per chapter", ["Chapter", "Claims", "Verdicts", "Findings"], rows)

    def every_sentence(self) -> Shown:
        """All sentences of the papers with their verdicts, or why they have none."""
        return _shown(sentences(self.claims))

    def by_paper(self) -> Shown:
        """The claims of every paper, main results first, linked to places, below the filters, which
        nobody sees without scripts."""
        return self._each("<div data-filters></div>", False)

    def findings(self) -> Shown:
        """Our own findings, paper by paper, linked to their places."""
        return self._each("", True)

    def _each(self, page, finding):
        """One table per chapter that has such records."""
        for chapter in self.times["chapters"] if self.claims else ():
            own, name = self._of(chapter, finding), html.escape(chapter["title"])
            table = markup.listed(name, own, chapter["chapter"] + ".html")
            further = own and chapter["chapter"].endswith(EVIDENCE)
            page += markup.folded(f"{name}: {len(own)} sentences", table) if further else table
        return _shown(page if self.claims else "")

    def _of(self, chapter, finding):
        return [c for c in self.claims
                if c.chapter == chapter["chapter"] and c.finding == finding]  # fmt: skip

    def run_times(self) -> Shown:
        """Seconds per chapter, with the parameters that differ from the committed ones."""
        rows = []
        for chapter in self.times["chapters"]:
            changed = ", ".join(f"{k} = {v}" for k, v in chapter["parameters"].items())
            seconds = [f"{chapter[k]:.1f} s" for k in ("seconds", "cpu_seconds")]
            rows.append([_link(chapter), *seconds, html.escape(changed) or "as committed"])
        where = "{scale} scale, {cores} cores, Python {python}".format_map(
            {"scale": "", "cores": "", "python": ""} | self.times
        )
        return _table(where, ["Chapter", "Wall", "Processor", "Parameters"], rows)


def _table(caption, head, rows):
    return _shown(markup.table(html.escape(caption), head, rows) if rows else "")


def _shown(page):
    return Shown(page or f"<p>{NOTHING}</p>", NOTHING if not page else "See the page.")


def _link(chapter):
    """A link to the page of a chapter."""
    return f'<a href="{html.escape(chapter["chapter"])}.html">{html.escape(chapter["title"])}</a>'


@cache
def paper(room: str):
    """What a folder's `paper.toml` says: paper, chapters, counters, assumed, sentences.

    A sentence has place, says, and at least one of claims, shown and why.  counters: the last
    number of every counter of the paper; assumed: places that define or assume, and assert nothing.
    """
    return tomllib.loads(files(f"companion.{room}").joinpath("paper.toml").read_text("utf8"))


def sentences(records) -> str:
    """A folded table of all sentences of every paper; records: the `Claim`s of a build."""
    shown = ""
    for room in rooms():
        if not files(f"companion.{room}").joinpath("paper.toml").is_file():
            continue
        told = paper(room)
        own = {r.id: r for r in records if r.chapter in told["chapters"]}
        n = Counter(_how(s) for s in told["sentences"])
        counts = ", ".join(f"{n[how]} {how}" for how in ("judged", "shown", "not judged"))
        rows, name = [_row(s, own) for s in told["sentences"]], html.escape(told["paper"])
        page = markup.table(name, ["Place", "Sentence", "Verdict", "Remark"], rows)
        shown += markup.folded(f"{name}: {n.total()} sentences, {counts}", page)
    return shown


def _how(sentence):
    return "judged" if "claims" in sentence else "shown" if "shown" in sentence else "not judged"


def _row(sentence, own):
    """One sentence; what judges or shows it is linked."""
    links = []
    for name in sentence.get("claims", ()):
        page = f"{own[name].chapter}.html#claim-{name}" if name in own else ""
        links.append(
            (page, markup.badge(own[name].verdict)) if page else ("", f"{name}: not built")
        )
    for place in sentence.get("shown", ()):
        links.append((place.replace("#", ".html#"), "shown"))
    said = [f'<a href="{html.escape(to)}">{what}</a>' if to else what for to, what in links]
    place, says, why = (html.escape(sentence.get(key, "")) for key in ("place", "says", "why"))
    return [place, says, "<br>".join(said) or "not judged", why]
