"""The scoreboard: what all chapters have claimed, from the records that `make book` writes."""

import html
import json
import textwrap
from collections import Counter
from pathlib import Path

from companion.report import coverage, markup, plots
from companion.report.claims import VERDICTS, from_json
from companion.report.looks import SHADES
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
            own = self._of(chapter)
            claimed = [c.verdict for c in own if not c.finding]
            if own:
                found = str(len(own) - len(claimed))
                rows.append([_link(chapter), str(len(claimed)), counted(claimed), found])
        return _table("Verdicts per chapter", ["Chapter", "Claims", "Verdicts", "Findings"], rows)

    def picture(self) -> None:
        """Show the verdicts of every chapter as one bar of claims; without records: nothing."""
        own = {_short(c): self._of(c) for c in self.times["chapters"]}
        counts = {
            name: Counter(c.verdict for c in records if not c.finding)
            for name, records in own.items()
            if any(not c.finding for c in records)
        }
        if not counts:
            return
        plots.use_style()  # the page has one figure, and no import cell that would say so
        fig, (ax,) = plots.panels(1, height=1.4 + 0.55 * len(counts), width=7.0)
        left = Counter()
        for verdict in (v for v in VERDICTS if any(n[v] for n in counts.values())):
            widths = [n[verdict] for n in counts.values()]
            starts = [left[name] for name in counts]
            label = f"{markup.SIGNS[verdict][0]} {verdict}"
            colour = SHADES[verdict]
            bars = ax.barh(list(counts), widths, left=starts, label=label, color=colour)
            ax.bar_label(bars, [str(w or "") for w in widths], label_type="center", color="white")
            left.update(dict(zip(counts, widths, strict=True)))
        ax.invert_yaxis()
        ax.set(xlabel="claims")
        ax.grid(False)
        ax.set_yticks(range(len(counts)), list(counts))  # a line for each on narrow pages
        fig.legend(loc="outside lower center", ncols=3, frameon=False, fontsize="small")
        said = "; ".join(
            f"{' '.join(name.split())}: " + ", ".join(f"{n[v]} {v}" for v in VERDICTS if n[v])
            for name, n in counts.items()
        )
        data = [
            {"chapter": " ".join(t.split()), "verdict": v, "claims": n[v]}
            for t, n in counts.items()
            for v in n
        ]
        plots.show(fig, alt=f"Bars of claims by verdict, one per chapter. {said}.", data=data,
                   caption="Claims by verdict, chapter by chapter.", name="scoreboard")  # fmt: skip

    def filters(self) -> Shown:
        """Where the page puts its filters; nothing is seen without scripts."""
        return _shown("<div data-filters></div>" if self.claims else "")

    def every_sentence(self) -> Shown:
        """All sentences of the papers with their verdicts, or why they have none (`coverage`)."""
        return _shown(coverage.summary() + coverage.tables(self.claims))

    def by_paper(self) -> Shown:
        """The claims of every paper by theorem and figure, main ones first, linked to places."""
        return self._each(markup.by_group, False)

    def findings(self) -> Shown:
        """Our own findings, paper by paper, linked to their places."""
        return self._each(markup.findings, True)

    def _each(self, make, finding):
        """One table per chapter that has such records."""
        return _shown(
            "".join(
                make(html.escape(chapter["title"]), own, chapter["chapter"] + ".html")
                for chapter in self.times["chapters"]
                if (own := [c for c in self._of(chapter) if c.finding == finding])
            )
        )

    def _of(self, chapter):
        return [c for c in self.claims if c.chapter == chapter["chapter"]]

    def run_times(self) -> Shown:
        """Seconds per chapter, with the parameters that differ from the committed ones."""
        rows = []
        for chapter in self.times["chapters"]:
            changed = (f"{k} = {v}" for k, v in chapter["parameters"].items())
            seconds = [f"{chapter[k]:.1f} s" for k in ("seconds", "cpu_seconds")]
            rows.append(
                [_link(chapter), *seconds, html.escape(", ".join(changed)) or "as committed"]
            )
        where = "{scale} scale, {cores} cores, Python {python}".format_map(
            {"scale": "", "cores": "", "python": ""} | self.times
        )
        return _table(where, ["Chapter", "Wall", "Processor", "Parameters"], rows)


def counted(verdicts) -> str:
    """How often each verdict was given, as badges."""
    n = Counter(verdicts)
    return " ".join(f"<span>{n[v]} × {markup.badge(v)}</span>" for v in VERDICTS if n[v])


def _table(caption, head, rows):
    return _shown(markup.table(html.escape(caption), head, rows) if rows else "")


def _shown(page):
    return Shown(page or f"<p>{NOTHING}</p>", NOTHING if not page else "See the page.")


def _short(chapter):
    """The title of a chapter up to a colon, in lines of at most 22 letters."""
    return textwrap.fill(chapter["title"].partition(":")[0], 22)


def _link(chapter):
    """A link to the page of a chapter."""
    return f'<a href="{html.escape(chapter["chapter"])}.html">{html.escape(chapter["title"])}</a>'
