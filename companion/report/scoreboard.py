"""The scoreboard: what all chapters have claimed, from the records that `make book` writes."""

import html
import json
from collections import Counter
from pathlib import Path

from companion.report import coverage, markup
from companion.report.claims import VERDICTS, from_json
from companion.report.tables import Shown

NOTHING = "No chapter has been executed: run `make book`."


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
        said = (
            f"We tested <b>{n.total() - small}</b> sentences of the papers. <b>{held}</b> hold: "
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
        """All sentences of the papers with their verdicts, or why they have none (`coverage`)."""
        return _shown(coverage.tables(self.claims))

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
            own = self._of(chapter, finding)
            page += markup.listed(html.escape(chapter["title"]), own, chapter["chapter"] + ".html")
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
