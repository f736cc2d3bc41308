"""`judge`: a policy goes in; what it promises, what it gives, how it does, comes out as a
`Report`.

The policy need not be of this package.  It runs in a process of its own (`load.Child`),
which does one task after another: a task that raises, ends its process, or takes more
than its limit is answered for, and the next one gets a new process.  Every task answers
with rows of plain data, which say what was done ("part", "what"), how it came out
("outcome"), in words ("found"), and in numbers.  From the rows follow one word, a text, a
page, and files.

>>> from evidence.judge import judge
>>> print(judge("my_policy.py", quick=True).word)
NOTHING
"""

import sys
from pathlib import Path
from typing import NamedTuple

from companion import validate
from evidence.judge import attack, checks, measuring
from evidence.judge.load import Child

pd = validate.need_module("pandas", "notebooks")

__all__ = ["Report", "judge"]

QUICK_LIMIT = 90.0  # seconds of CPU that one task of a short look may take
# quick: seconds on the clock after which no task begins, and the one that runs ends
TOTAL = {True: 300.0, False: 1_800.0}
WORDS = {  # the verdict: exit code, meaning
    "MEASURED": (
        0,
        "what was measured lies within a factor of 2 around the promise, and no attack "
        "refutes it",
    ),
    "REFUTED": (1, "less private than promised"),
    "NOTHING": (2, "nothing could be judged"),
    "BOUNDED ONLY": (3, "no attack refutes it, but its noise was not measured"),
    "CONTRACT BROKEN": (4, "it does not do what every policy does: mend that first"),
}
FIRST = {"broken": 0, "refuted": 1}  # outcomes whose lines come before all others
DECLARED = "as its Release declares"  # in what refutes the law alone
UNSEEN = """What the judge cannot see:
  what the declaration leaves out: which numbers are shown, which fields are private
  neighbours that were not tried; a bound below the promise proves nothing
  leaks by time, by memory, or by the last bits of floating-point numbers
  whether records of many rounds belong to one person: the guarantee names the unit
"""


def judge(what, *, seed=1, quick=False, trials=None, limit=90.0):
    """A `Report` on a policy that need not be of this package, compiled or plain Python.

    what: the path of a file, the dotted name of a module, a function that makes the
    policy, or a `Policy`, of which no other dimensions and budgets can be measured;
    seed: an integer >= 0; quick: a short look, whose measurements end at a refutation;
    trials: runs of each input that an attack counts, in [4, 10^7] (None: from 300 to
    10,000); limit: seconds of CPU that one task may take; all tasks together end after
    `TOTAL` seconds on the clock.  Raises ValueError where the settings make no sense;
    what is wrong with the policy stands in the report.
    """
    seed = validate.need_seed("seed", seed)
    if trials is not None:
        trials = validate.need_int("trials", trials, 4, 10**7)
    limit = validate.need_positive("limit", limit)
    quick = bool(quick)
    if quick:
        limit = min(limit, QUICK_LIMIT)
    child = Child(what, limit, TOTAL[quick])
    return made(looked_at(child.ask, quick, trials, seed))


def looked_at(ask, quick: bool, trials, seed: int):
    """The rows of the report, the promise first; it ends early where nothing can be
    played."""
    rows = []

    def add(part, name, task, *args):
        if sys.stderr.isatty():
            print(f"\r{part:<12}{name}", end="\x1b[K", file=sys.stderr, flush=True)
        (found,) = ask(task, *args)
        row = {"part": part, "what": name} | found
        rows.append(row)
        return row

    promise = add("promise", "the policy", measuring.promised)
    if promise["outcome"] != "promised":
        return rows
    for name in checks.CHECKS:
        found = add("contract", name, checks.checked, name)
        if found["outcome"] == "failed":
            found["outcome"] = "broken"
        stuck = found["found"].startswith("does not return")
        if found["outcome"] == "broken" and (stuck or name in checks.DECISIVE):
            return rows
    add("speech", "a run", checks.checked, "a run")
    if promise["model"] != "none":
        # first, because it takes a known time
        add("attack", "general attack", attack.general, quick, trials, seed)
        for plan in ask(measuring.plans, quick):
            if not isinstance(plan, measuring.Plan):  # the row of a task that failed
                rows.append({"part": "measured", "what": "its noise"} | plan)
                break
            found = add("measured", plan.what, measuring.measured, plan, quick)
            if found["found"].endswith("s of CPU"):
                found["found"] += ": the measurement takes this time -> "
                found["found"] += "leave out --quick" if quick else "make a round faster"
            elif found["found"].endswith("on the clock"):
                found["found"] += ": the machine is busy, or the policy sleeps -> "
                found["found"] += "judge it again when the machine is idle"
            if quick and found["outcome"] == "refuted":
                break
    return rows


# --- the report
# -----------------------------------------------------------------------------------


class Report(NamedTuple):
    """What a judge found."""

    word: str  # REFUTED, MEASURED, BOUNDED ONLY, CONTRACT BROKEN or NOTHING
    exit_code: int  # 1, 0, 3, 4 or 2, in the same order
    lines: tuple  # the essentials, what is broken or refuted first, the word last
    found: list  # all rows, dicts
    digest: str = ""  # SHA-256 of the source that was judged; "": it was in no file

    def rows(self, part: str):
        """Rows of a part: "promise", "contract", "speech", "measured", "attack"."""
        return [row for row in self.found if row["part"] == part]

    def save(self, path) -> None:
        """Write the report to a file, as data (`.json`, infinite numbers as null) or as
        text."""
        text = str(self)
        if str(path).endswith(".json"):
            text = pd.Series(self._asdict()).to_json(indent=1)
        Path(path).write_text(text, "utf8")

    def __str__(self):
        *lines, word = self.lines
        lines.append("What was played:")
        for row in self.found:
            if "played" in row:
                lines.append(f"  {row['what']}: {row['played']}")
        lines.append(f"  SHA-256 of the source: {self.digest or 'it is in no file'}")
        return "\n".join([*lines, UNSEEN + word])

    __repr__ = __str__


def made(rows) -> Report:
    """The `Report` of rows, the promise first; every finding has one line."""
    names = {}
    for row in sorted(rows, key=lambda row: FIRST.get(row["outcome"], 2)):
        if row["outcome"] != "holds":
            names.setdefault((row["outcome"], row["found"]), []).append(row["what"])
    lines = []
    for (outcome, found), whats in names.items():
        lines.append(f"{outcome.capitalize()}: {'; '.join(whats)}: {found}.")
    parts = [row for row in rows if row["part"] == "measured"]
    short = [row["what"] for row in parts if not enough(row)]
    word = verdict(rows, bool(parts) and not short)
    exit_code, meaning = WORDS[word]
    refuted = [row["found"] for row in rows if row["outcome"] == "refuted"]
    if word == "REFUTED" and all(DECLARED in found for found in refuted):
        meaning = "its noise has not the law that is declared"
    if word == "BOUNDED ONLY" and len(short) < len(parts):
        meaning = f"no attack refutes it, but {', '.join(short)}: not measured"
    return Report(
        word=word,
        exit_code=exit_code,
        lines=(*lines, f"{word}: {meaning}."),
        found=rows,
        digest=rows[0].get("digest", ""),
    )


def verdict(rows, measured: bool) -> str:
    """The word of rows, the promise first; measured: whether all that is needed was."""
    found = {row["outcome"] for row in rows}
    promise = rows[0]
    if promise["outcome"] != "promised":
        return "NOTHING"
    if "broken" in found:
        return "CONTRACT BROKEN"
    if "refuted" in found:
        return "REFUTED"
    if measured:
        return "MEASURED"
    if "not refuted" in found or promise["model"] == "none":
        return "BOUNDED ONLY"
    return "NOTHING"


def enough(row) -> bool:
    """Whether a row of the measurement lets the whole be MEASURED: its interval is
    narrow, or it is a cut of a long run, in which a record need not lose all."""
    narrow = row["outcome"] == "measured"
    return narrow or (row["outcome"] == "bounded" and row.get("cut", False))
