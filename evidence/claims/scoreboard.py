"""The scoreboard: what all chapters have claimed, from the records that `make book`
writes.

Every sentence of every paper stands there beside its verdict.  A paper's folder lists its
sentences in `paper.toml`, in the paper's order: each names the claims that judge it
(`claims`), sections that show it without a rule (`shown`, CHAPTER#SECTION), or why nobody
judges it (`why`).
"""

import json
import math
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from companion.stats import Interval
from evidence.claims import markup
from evidence.claims.claims import AUDITED, UNTESTED, outcome
from evidence.claims.published import paper
from evidence.claims.tables import Shown, numbers

NOTHING = "No chapter has been executed: run `make book`."
PAPERS = {  # the room of a paper in `companion`: its short name
    "online_linucb": "OnlineLinUCB",
    "fliphat": "FLIPHAT",
    "streaming_sco": "Streaming SCO",
    "private_glm": "Private GLM bandits",
    "lplr": "LPLR",
}
OTHERS = "Other pages"
EVIDENCE = "_rows"  # ends the names of evidence pages
SENTENCES = ["Place", "Sentence", "Verdict", "Remark"]
HANGING = ["record", "verdict", "row", "interval", "rule", "outcome", "if it is moved"]


class Multiplicity(NamedTuple):
    """What chance alone does to the verdicts of many records."""

    records: int
    resting: int  # records with a row that rests on a 95 % interval
    intervals: int  # such rows
    hanging: pd.DataFrame  # a row for every interval that a verdict hangs on


class Scoreboard:
    """The records of a build; `records`: path of its claims.json ("": none, and the
    summary says so).
    """

    def __init__(self, records=""):
        self.claims = []
        if records:
            claims = pd.DataFrame(json.loads(Path(records).read_text("utf8")))
            self.claims = list(claims.itertuples(index=False, name="Record"))

    def summary(self) -> Shown:
        """Verdicts counted, a bar for every paper; findings of ours apart."""
        if not self.claims:
            return Shown(f"<p>{NOTHING}</p>", NOTHING)
        papers = self._by_paper(finding=False)
        total = [record for own in papers.values() for record in own]
        rows = []
        said = []
        for name, own in {"All papers": total, **papers}.items():
            rows.append((name, len(own), markup.counted(own)))
            said.append(f"{name}: {markup.tally(own)}")
        ours = len(self.claims) - len(total)
        said.append(f"Findings of ours: {ours}")
        page = markup.site.bars(rows, markup.counted(total), ours)
        return Shown(page, "\n".join(said))

    def _by_paper(self, finding):
        """{name of a paper, or of all other pages: its records}, in the order of the
        book."""
        papers = {}
        for room, name in PAPERS.items():
            papers |= dict.fromkeys(paper(room)["chapters"], name)
        found = {name: [] for name in (*PAPERS.values(), OTHERS)}
        for record in self.claims:
            if record.finding == finding:
                found[papers.get(record.chapter, OTHERS)].append(record)
        return {name: records for name, records in found.items() if records}

    def chance(self) -> Shown:
        """How many intervals miss by chance, and the verdicts that hang on one of
        them."""
        tested = {}
        for c in self.claims:
            if c.verdict != UNTESTED:
                told = {"verdict": c.verdict, "bound": c.bound, "rows": c.evidence}
                tested[f"{c.chapter}/{c.id}"] = told
        found = multiplicity(tested)
        text = (
            f"{found.resting} of the {found.records} records rest on intervals of 95 %, "
            f"{found.intervals} in all. About {found.intervals / 20:.0f} of these "
            f"intervals miss their number by chance. {found.hanging.record.nunique()} "
            "verdicts hang on one interval."
        )
        table = numbers(found.hanging, fold="The verdicts that hang on one interval")
        return Shown(f"<p>{text}</p>{table._repr_html_()}", f"{text}\n{table!r}")

    def every_sentence(self) -> Shown:
        """All sentences of the papers with their verdicts, or why they have none."""
        shown = ""
        for room, name in PAPERS.items():
            told = paper(room)
            own = {r.id: r for r in self.claims if r.chapter in told["chapters"]}
            rows = [
                [s["place"], s["says"], markup.site.judged(s, own), s.get("why", "")]
                for s in told["sentences"]
            ]
            table = markup.table(told["paper"], SENTENCES, rows)
            judged = sum("claims" in s for s in told["sentences"])
            summary = f"{name}: {len(rows)} sentences, {judged} judged"
            shown += markup.folded(summary, table)
        return Shown(shown, "See the page.")

    def by_paper(self) -> Shown:
        """The claims of every paper, main results first, linked to places, below the
        filters, which nobody sees without scripts."""
        page = self._listed(finding=False)
        return Shown(f"<div data-filters></div>{page}", "See the page.")

    def findings(self) -> Shown:
        """Our own findings, paper by paper, linked to their places."""
        return Shown(self._listed(finding=True), "See the page.")

    def _listed(self, finding):
        """A table for every paper, then one, folded, of the records of its evidence
        pages."""
        page = ""
        for name, records in self._by_paper(finding).items():
            main = [r for r in records if not r.chapter.endswith(EVIDENCE)]
            further = [r for r in records if r.chapter.endswith(EVIDENCE)]
            if main:
                page += markup.listed(name, main, link=True)
            if further:
                summary = f"{name}: {len(further)} further sentences"
                page += markup.folded(summary, markup.listed(name, further, link=True))
        return page


def multiplicity(records) -> Multiplicity:
    """`Multiplicity` of records, as `book/results.lock` has them: name -> {verdict,
    bound, rows}.

    An interval counts if both its ends are finite; the bounds of audits have other levels
    and do not.  One in twenty misses its number on average.  The rows of a record may
    share runs, and some intervals hold jointly: the mean number of those that miss does
    not depend on the first, and is smaller for the second.
    """
    counts = []
    hanging = []
    for name, record in records.items():
        counts.append(sum(rests_on_chance(row) for row in record["rows"]))
        # what a proof, exact arithmetic or an audit has refuted hangs on no interval
        if record["verdict"] != "wrong as printed":
            hanging += hangs(name, record)
    return Multiplicity(
        records=len(records),
        resting=sum(count > 0 for count in counts),
        intervals=sum(counts),
        hanging=pd.DataFrame(hanging, columns=HANGING),
    )


def hangs(name, record) -> list:
    """[HANGING] of every row of a record, and every move of its interval by half its
    width, that turns the verdict."""
    bound = record["bound"]
    outcomes = [row["outcome"] for row in record["rows"]]
    found = []
    for i, row in enumerate(record["rows"]):
        if not rests_on_chance(row):
            continue
        told = [name, record["verdict"], row["setting"] or "all"]
        told += ["{:.3g} to {:.3g}".format(*row["interval"]), row["rule"], outcomes[i]]
        for moved in moved_outcomes(row):
            others = [*outcomes[:i], moved, *outcomes[i + 1 :]]
            if grade(others, bound) != grade(outcomes, bound):
                found.append([*told, moved])
    return found


def rests_on_chance(row) -> bool:
    """Whether a row of a record has a 95 % interval with two finite ends."""
    audited = row["rule"].startswith(AUDITED)
    return bool(row["interval"]) and None not in row["interval"] and not audited


def moved_outcomes(row) -> list:
    """The outcomes of a row if its interval lay half its width lower, or higher."""
    least, most = row["limits"]
    least = -math.inf if least is None else least
    most = math.inf if most is None else most
    low, high = row["interval"]
    half = (high - low) / 2.0
    lower = Interval(low, low - half, high - half)
    higher = Interval(high, low + half, high + half)
    return sorted({outcome(lower, least, most), outcome(higher, least, most)})


def grade(outcomes, bound: bool) -> str:
    """What a verdict depends on beside controls and changes: "holds", "open" or "fails".

    bound: a bound with a hidden constant is left open by a row that fails.
    """
    if "fails" in outcomes and not bound:
        return "fails"
    return "holds" if set(outcomes) == {"holds"} else "open"
