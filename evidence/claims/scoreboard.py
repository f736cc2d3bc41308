"""The scoreboard: what all chapters have claimed, from the records that `make book`
writes.

Every sentence of every paper stands there beside its verdict.  A paper's folder lists its
sentences in `paper.toml`, in the paper's order: each names the claims that judge it
(`claims`), sections that show it without a rule (`shown`, CHAPTER#SECTION), or why nobody
judges it (`why`).
"""

import json
import math
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from companion.stats import Interval
from evidence.claims import markup
from evidence.claims.claims import AUDITED, UNTESTED, outcome
from evidence.claims.published import paper, rooms
from evidence.claims.tables import Shown, numbers

NOTHING = "No chapter has been executed: run `make book`."
UNMEASURED = "No record was tested at this scale."
FINDINGS = "findings of ours"
EVIDENCE = "_rows"  # ends the names of evidence pages
LEVEL = 0.95  # of the intervals on the pages


class Hanging(NamedTuple):
    """A verdict that would be another one if one interval lay half its width higher or
    lower."""

    name: str  # chapter/id of the record
    verdict: str
    setting: str  # of the row
    interval: tuple  # (low, high)
    limits: tuple  # (low, high) of the rule, infinite where it has none
    rule: str  # in words
    outcome: str  # of the row
    moved: str  # its outcome with the interval moved


class Multiplicity(NamedTuple):
    """What chance alone does to the verdicts of many records."""

    records: int
    resting: int  # records with a row that rests on a 95 % interval
    intervals: int  # such rows
    # of these, how many miss their number on average, if each has its level
    missing: float
    hanging: list  # of `Hanging`


class Scoreboard:
    """The records of a build; `records`: path of its claims.json, with times.json beside
    it ("":
    none, and the summary says so).
    """

    def __init__(self, records=""):
        self.claims = []
        self.times = {"chapters": []}
        if records:
            path = Path(records)
            claims = pd.DataFrame(json.loads(path.read_text("utf8")))
            self.claims = list(claims.itertuples(index=False, name="Record"))
            self.times = json.loads(path.with_name("times.json").read_text("utf8"))

    def summary(self) -> Shown:
        """Verdicts counted, of all chapters and per chapter; findings apart."""
        if not self.claims:
            return Shown(f"<p>{NOTHING}</p>", NOTHING)
        claims = pd.DataFrame(self.claims)
        titles = {"all": "all pages"}
        for c in self.times["chapters"]:
            titles[c["chapter"]] = markup.site.page(c["chapter"], c["title"])
        kinds = claims["verdict"].where(~claims["finding"], FINDINGS)
        counts = pd.crosstab(claims["chapter"], kinds, margins=True, margins_name="all")
        columns = [kind for kind in (*markup.SIGNS, FINDINGS) if kind in counts]
        rows = [chapter for chapter in titles if chapter in counts.index]
        shown = counts.loc[rows, columns].rename(titles).rename_axis(None, axis=1)
        return numbers(shown.rename_axis("chapter").replace(0, ""), caption="Verdicts")

    def chance(self) -> Shown:
        """How many intervals miss by chance, and the verdicts that hang on one of
        them."""
        tested = {
            f"{c.chapter}/{c.id}": {
                "verdict": c.verdict,
                "bound": c.bound,
                "rows": c.evidence,
            }
            for c in self.claims
            if c.verdict != UNTESTED
        }
        if not tested:
            return Shown(f"<p>{UNMEASURED}</p>", UNMEASURED)
        found = multiplicity(tested)
        names = {h.name for h in found.hanging}
        text = (
            f"{found.resting} of the {found.records} records rest on intervals of 95 %, "
            f"{found.intervals} in all. About {found.missing:.0f} of these "
            "intervals miss their "
            f"number by chance. {len(names)} verdicts hang on one interval."
        )
        rows = [
            {
                "record": h.name,
                "verdict": h.verdict,
                "row": h.setting or "all",
                "interval": "{:.3g} to {:.3g}".format(*h.interval),
                "rule": h.rule,
                "the row": h.outcome,
                "if it is moved": h.moved,
            }
            for h in found.hanging
        ]
        table = numbers(rows, fold="The verdicts that hang on one interval")
        return Shown(f"<p>{text}</p>{table._repr_html_()}", f"{text}\n{table!r}")

    def every_sentence(self) -> Shown:
        """All sentences of the papers with their verdicts, or why they have none."""
        return Shown(sentences(self.claims), "See the page.")

    def by_paper(self) -> Shown:
        """The claims of every paper, main results first, linked to places, below the
        filters, which nobody sees without scripts."""
        return self._each("<div data-filters></div>", False)

    def findings(self) -> Shown:
        """Our own findings, paper by paper, linked to their places."""
        return self._each("", True)

    def _each(self, first, finding):
        """One table per chapter that has such records; those of evidence pages are
        folded."""
        parts = [first]
        for c in self.times["chapters"]:
            name = c["chapter"]
            title = c["title"]
            if own := [
                r for r in self.claims if (r.chapter, r.finding) == (name, finding)
            ]:
                table = markup.listed(title, own, f"{name}.html")
                further = name.endswith(EVIDENCE)
                summary = f"{title}: {len(own)} sentences"
                parts.append(markup.folded(summary, table) if further else table)
        return Shown("".join(parts), "See the page.")


def multiplicity(records) -> Multiplicity:
    """`Multiplicity` of records, as `book/results.lock` has them: name -> {verdict,
    bound, rows}.

    An interval counts if both its ends are finite; the bounds of audits have other levels
    and do not.  The rows of a record may share runs, and some intervals hold jointly: the
    mean number of those that miss does not depend on the first, and is smaller for the
    second.
    """
    resting = 0
    intervals = 0
    hanging = []
    for name, record in records.items():
        count = sum(rests_on_chance(row) for row in record["rows"])
        resting += count > 0
        intervals += count
        hanging += hangs(name, record)
    missing = (1.0 - LEVEL) * intervals
    return Multiplicity(
        records=len(records),
        resting=resting,
        intervals=intervals,
        missing=missing,
        hanging=hanging,
    )


def hangs(name, record) -> list:
    """A `Hanging` for every row of a record, and every move, that turns its verdict.

    What a proof, exact arithmetic or an audit has refuted hangs on no interval.
    """
    if record["verdict"] == "wrong as printed":
        return []
    rows = record["rows"]
    found = []
    outcomes = [row["outcome"] for row in rows]
    for i, row in enumerate(rows):
        for moved in moved_outcomes(row):
            others = [*outcomes[:i], moved, *outcomes[i + 1 :]]
            if grade(others, record["bound"]) != grade(outcomes, record["bound"]):
                one = Hanging(
                    name=name,
                    verdict=record["verdict"],
                    setting=row["setting"],
                    interval=tuple(row["interval"]),
                    limits=limits_of(row),
                    rule=row["rule"],
                    outcome=row["outcome"],
                    moved=moved,
                )
                found.append(one)
    return found


def rests_on_chance(row) -> bool:
    """Whether a row of a record has a 95 % interval with two finite ends."""
    audited = row["rule"].startswith(AUDITED)
    return bool(row["interval"]) and None not in row["interval"] and not audited


def limits_of(row) -> tuple:
    """The limits (low, high) of a row's rule, infinite where it has none."""
    low, high = row["limits"]
    return -math.inf if low is None else low, math.inf if high is None else high


def moved_outcomes(row) -> list:
    """The other outcomes of a row if its interval lay half its width lower, or higher;
    none for a row without one."""
    if not rests_on_chance(row):
        return []
    low, high = row["interval"]
    half = (high - low) / 2.0
    found = []
    for shift in (-half, half):
        middle = (low + high) / 2.0 + shift
        moved = outcome(Interval(middle, low + shift, high + shift), *limits_of(row))
        if moved != row["outcome"] and moved not in found:
            found.append(moved)
    return found


def grade(outcomes, bound: bool) -> str:
    """What a verdict depends on beside controls and changes: "holds", "open" or "fails".

    bound: a bound with a hidden constant is left open by a row that fails.
    """
    if "fails" in outcomes and not bound:
        return "fails"
    return "holds" if set(outcomes) == {"holds"} else "open"


def sentences(records) -> str:
    """A folded table of all sentences of every paper; records: the `Claim`s of a
    build."""
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
        table = markup.table(
            told["paper"],
            ["Place", "Sentence", "Verdict", "Remark"],
            rows,
        )
        judged = sum("claims" in s for s in told["sentences"])
        shown += markup.folded(
            f"{told['paper']}: {len(rows)} sentences, {judged} judged",
            table,
        )
    return shown
