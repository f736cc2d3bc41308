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
from types import SimpleNamespace

import pandas as pd

from companion.stats import Interval
from evidence.claims import markup
from evidence.claims.claims import AUDITED, UNTESTED, grade, outcome
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
INTERVALS = ["record", "verdict", "row", "interval", "rule", "outcome", "if it is moved"]


class Scoreboard:
    """The records of a build; `records`: path of its claims.json ("": none, and the
    summary says so).
    """

    def __init__(self, records=""):
        self.claims = []
        if records:
            text = Path(records).read_text("utf8")
            self.claims = json.loads(text, object_hook=lambda r: SimpleNamespace(**r))

    def summary(self) -> Shown:
        """Verdicts counted, a bar for every paper; findings of ours apart."""
        if not self.claims:
            return Shown(f"<p>{NOTHING}</p>", NOTHING)
        papers = self._by_paper(finding=False)
        total = [record for own in papers.values() for record in own]
        rows = [
            (name, len(own), markup.counted(own))
            for name, own in {"All papers": total, **papers}.items()
        ]
        ours = len(self.claims) - len(total)
        return Shown(markup.site.bars(rows, markup.counted(total), ours))

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
        tested = [claim for claim in self.claims if claim.verdict != UNTESTED]
        found = intervals(tested)
        hanging = found[found["if it is moved"] != ""]
        text = (
            f"{found.record.nunique()} of the {len(tested)} records rest on intervals of "
            f"95 %, {len(found)} in all. About {len(found) / 20:.0f} of these "
            f"intervals miss their number by chance. {hanging.record.nunique()} "
            "verdicts hang on one interval."
        )
        table = numbers(
            hanging.reset_index(drop=True), fold="The verdicts that hang on one interval"
        )
        return Shown(f"<p>{text}</p>{table._repr_html_()}")

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
        return Shown(shown)

    def sentences(self, finding: bool) -> Shown:
        """The claims of every paper, or our own findings, linked to their places: a table
        of each chapter's, then one, folded, of those of its evidence pages.

        The filters above the claims are seen by nobody without scripts.
        """
        page = ""
        for name, records in self._by_paper(finding).items():
            main = [r for r in records if not r.chapter.endswith(EVIDENCE)]
            further = [r for r in records if r.chapter.endswith(EVIDENCE)]
            if main:
                page += markup.listed(name, main, link=True)
            if further:
                summary = f"{name}: {len(further)} further sentences"
                page += markup.folded(summary, markup.listed(name, further, link=True))
        filters = "" if finding else "<div data-filters></div>"
        return Shown(f"{filters}{page}")


def intervals(claims) -> pd.DataFrame:
    """[INTERVALS] of every row of these claims that rests on a 95 % interval.

    An interval counts if both its ends are finite; the bounds of audits have other levels
    and do not.  One in twenty misses its number on average.  The rows of a record may
    share runs, and some intervals hold jointly: the mean number of those that miss does
    not depend on the first, and is smaller for the second.  The last column has the
    outcomes of the row that would turn the verdict, if the interval lay half its width
    lower, or higher.
    """
    found = []
    for claim in claims:
        outcomes = [row.outcome for row in claim.evidence]
        for i, row in enumerate(claim.evidence):
            ends = row.interval
            if not ends or None in ends or row.rule.startswith(AUDITED):
                continue
            turning = []
            for moved in moved_outcomes(row):
                others = [*outcomes[:i], moved, *outcomes[i + 1 :]]
                if grade(others, claim.bound) != grade(outcomes, claim.bound):
                    turning.append(moved)
            # what a proof, exact arithmetic or an audit has refuted hangs on no interval
            if claim.verdict == "wrong as printed":
                turning = []
            found.append(
                [
                    f"{claim.chapter}/{claim.id}",
                    claim.verdict,
                    row.setting or "all",
                    "{:.3g} to {:.3g}".format(*ends),
                    row.rule,
                    row.outcome,
                    " or ".join(turning),
                ]
            )
    return pd.DataFrame(found, columns=INTERVALS)


def moved_outcomes(row) -> list:
    """The outcomes of a row if its interval lay half its width lower, or higher."""
    least, most = row.limits
    least = -math.inf if least is None else least
    most = math.inf if most is None else most
    low, high = row.interval
    half = (high - low) / 2.0
    moved = [Interval(by, low + by, high + by) for by in (-half, half)]
    return sorted({outcome(there, least, most) for there in moved})
