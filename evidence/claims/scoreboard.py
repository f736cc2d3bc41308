"""The scoreboard: what all chapters have claimed, from the records that `make book` writes.

Every sentence of every paper stands there beside its verdict.  A paper's folder lists its sentences
in `paper.toml`, in the paper's order: each names the claims that judge it (`claims`), sections that
show it without a rule (`shown`, CHAPTER#SECTION), or why nobody judges it (`why`).
"""

import json
from importlib.resources import files
from pathlib import Path

import pandas as pd

from evidence.claims import markup
from evidence.claims.published import paper, rooms
from evidence.claims.tables import Shown, numbers

NOTHING = "No chapter has been executed: run `make book`."
FINDINGS = "findings of ours"
EVIDENCE = "_rows"  # ends the names of evidence pages


class Scoreboard:
    """The records of a build; `records`: path of its claims.json, with times.json beside it ("":
    none, and the summary says so).
    """

    def __init__(self, records=""):
        self.claims, self.times = [], {"chapters": []}
        if records:
            path = Path(records)
            claims = pd.DataFrame(json.loads(path.read_text("utf8")))
            self.claims = list(claims.itertuples(index=False, name="Record"))
            self.times = json.loads(path.with_name("times.json").read_text("utf8"))

    def summary(self) -> Shown:
        """Verdicts counted, of all chapters and per chapter; findings apart."""
        if not self.claims:
            return Shown(f"<p>{NOTHING}</p>", NOTHING)
        claims, titles = pd.DataFrame(self.claims), {"all": "all pages"}
        for c in self.times["chapters"]:
            titles[c["chapter"]] = markup.site.page(c["chapter"], c["title"])
        kinds = claims["verdict"].where(~claims["finding"], FINDINGS)
        counts = pd.crosstab(claims["chapter"], kinds, margins=True, margins_name="all")
        columns = [kind for kind in (*markup.SIGNS, FINDINGS) if kind in counts]
        rows = [chapter for chapter in titles if chapter in counts.index]
        shown = counts.loc[rows, columns].rename(titles).rename_axis(None, axis=1)
        return numbers(shown.rename_axis("chapter").replace(0, ""), caption="Verdicts")

    def every_sentence(self) -> Shown:
        """All sentences of the papers with their verdicts, or why they have none."""
        return Shown(sentences(self.claims), "See the page.")

    def by_paper(self) -> Shown:
        """The claims of every paper, main results first, linked to places, below the filters, which
        nobody sees without scripts."""
        return self._each("<div data-filters></div>", False)

    def findings(self) -> Shown:
        """Our own findings, paper by paper, linked to their places."""
        return self._each("", True)

    def _each(self, first, finding):
        """One table per chapter that has such records; those of evidence pages are folded."""
        parts = [first]
        for c in self.times["chapters"]:
            name, title = c["chapter"], c["title"]
            if own := [r for r in self.claims if (r.chapter, r.finding) == (name, finding)]:
                table = markup.listed(title, own, f"{name}.html")
                further = name.endswith(EVIDENCE)
                summary = f"{title}: {len(own)} sentences"
                parts.append(markup.folded(summary, table) if further else table)
        return Shown("".join(parts), "See the page.")


def sentences(records) -> str:
    """A folded table of all sentences of every paper; records: the `Claim`s of a build."""
    shown = ""
    for room in rooms():
        if not files(f"companion.{room}").joinpath("paper.toml").is_file():
            continue
        told = paper(room)
        own = {r.id: r for r in records if r.chapter in told["chapters"]}
        rows = [
            [s["place"], s["says"], markup.site.judged(s, own), s.get("why", "")]
            for s in told["sentences"]
        ]
        table = markup.table(told["paper"], ["Place", "Sentence", "Verdict", "Remark"], rows)
        judged = sum("claims" in s for s in told["sentences"])
        shown += markup.folded(f"{told['paper']}: {len(rows)} sentences, {judged} judged", table)
    return shown
