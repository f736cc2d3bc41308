"""`judge`: a policy goes in; what it promises, what it gives, how it does, comes out as a
`Report`.

The policy runs in a process of its own (`load.Child`), which does one task after another:
a task that raises, ends its process, or takes more than its limit is answered for, and
the next one gets a new process.  Every task answers with rows of plain data, which say
what was done ("part", "what"), how it came out ("outcome"), in words ("found"), and in
numbers.  From the rows follow one word, a text, a page, and files.
"""

import html
import sys
from pathlib import Path
from typing import NamedTuple

from companion import validate
from evidence.arena import contest, environments
from evidence.judge import attack, checks, leaderboard, measuring
from evidence.judge.load import Child

pd = validate.need_module("pandas", "notebooks")


def judge(
    what,
    *,
    worlds=None,
    epsilons=(1.0, 8.0),
    seed=1,
    quick=False,
    trials=None,
    limit=90.0,
):
    """A `Report` on a policy that need not be of this package, compiled or plain Python.

    what: the path of a file, the dotted name of a module, a function that makes the
    policy, or a `Policy`, of which no other dimensions and budgets can be measured;
    worlds: {title: a `World` of the arena} (None: the dense one with d = 5; empty: no
    arena); epsilons: budgets in [0.01, 100] there; seed: an integer >= 0; quick: a short
    look, whose measurements end at a refutation; trials: runs of each input that an
    attack counts, in [4, 10^7] (None: from 300 to 10,000); limit: seconds of CPU that one
    task may take. Raises ValueError where the settings make no sense; what is wrong with
    the policy stands in the report.
    """
    worlds = {"d = 5": environments.dense(5, 5)} if worlds is None else worlds
    validate.need_members("worlds", [worlds], dict)
    for world in worlds.values():
        validate.need_members("worlds", [world], environments.World)
    for epsilon in validate.need_members("epsilons", epsilons):
        validate.need_float("epsilons", epsilon, 0.01, 100.0)
    trials = trials if trials is None else validate.need_int("trials", trials, 4, 10**7)
    how = {
        "quick": bool(quick),
        "trials": trials,
        "seed": validate.need_seed("seed", seed),
    }
    limit = validate.need_positive("limit", limit)
    child = Child(what, min(limit, QUICK_LIMIT) if quick else limit)
    return made(investigate(child.ask, worlds, epsilons, **how))


def investigate(ask, worlds, epsilons, quick: bool, trials, seed: int):
    """All rows of the report, the promise first; where a task fails the reason stands
    there."""
    rows = []

    def add(part, name, task, *args):
        if sys.stderr.isatty():
            print(f"\r{part:<12}{name}", end="\x1b[K", file=sys.stderr, flush=True)
        new = [{"part": part, "what": name} | row for row in ask(task, *args)]
        rows.extend(new)
        return new

    (promise,) = add("promise", "the policy", measuring.promised)
    if promise["outcome"] == "failed":
        return rows
    for name in checks.CHECKS:
        (found,) = add("contract", name, checks.checked, name)
        if found["outcome"] == "failed":
            found["outcome"] = "broken"
            stuck = found["found"].startswith("does not return")
            if stuck or name == "rows":  # nothing can be played
                return rows
    add("budget", "budgets", measuring.asked)
    add("speech", "a run", attack.speaks)
    if promise["model"] != "none":
        for row in add("measured", "its noise", measuring.plans, quick):
            plan = row.pop("plan", None)
            if plan is not None:
                done = quick and any(r.get("outcome") == "refuted" for r in rows)
                row |= SKIPPED if done else ask(measuring.measured, plan)[0]
        for task in (attack.general, attack.own):
            add("attack", f"{task.__name__} attack", task, quick, trials, seed)
    add("cost", "a round", leaderboard.cost)
    T, n_reps = (400, 8) if quick else (2_000, 10)
    for title, world in worlds.items():
        there = contest.play(title, world, T, epsilons, n_reps, 2, seed)
        for epsilon, setting in there.items():
            where = f"{title}, epsilon = {epsilon:g}"
            game = (world, T, epsilon, n_reps, seed)
            (row,) = add("arena", where, leaderboard.newcomer, *game)
            if "run" in row:
                looks = len(worlds) * len(epsilons)
                placed = leaderboard.table(
                    promise["factory"],
                    row["run"],
                    setting.untuned,
                    looks,
                )
                rows[-1:] = [{"part": "arena", "where": where} | row for row in placed]
    return rows


# --- the report
# -----------------------------------------------------------------------------------

WORDS = {  # the verdict: exit code, meaning
    "MEASURED": (
        0,
        "the promise lies in or above what was measured, and no attack refutes it",
    ),
    "REFUTED": (1, "less private than promised"),
    "NOTHING": (2, "nothing could be judged"),
    "BOUNDED ONLY": (3, "no attack refutes it, but its noise was not measured"),
    "CONTRACT BROKEN": (4, "it does not do what every policy does: mend that first"),
}
QUICK_LIMIT = 30.0  # seconds of CPU that one task of a short look may take
SKIPPED = {"outcome": "not applicable", "found": "not measured: refuted already"}
QUIET = ("holds", "beside", "not applicable")  # outcomes of rows that have no line
UNSEEN = """What the judge cannot see:
  what the declaration leaves out: which numbers are shown, which fields are private
  neighbours that were not tried; a bound below the promise proves nothing
  leaks by time, by memory, or by the last bits of floating-point numbers
  whether records of many rounds belong to one person: the guarantee names the unit
"""


class Report(NamedTuple):
    """What a judge found."""

    word: str  # REFUTED, MEASURED, BOUNDED ONLY, CONTRACT BROKEN or NOTHING
    exit_code: int  # 1, 0, 3, 4 or 2, in the same order
    lines: tuple  # the essentials, a refuted promise first, the word last
    found: list  # all rows, dicts

    def rows(self, part: str):
        """Rows of a part: "promise", "contract", "budget", "speech", "measured",
        "attack", "cost", "arena"."""
        return [row for row in self.found if row["part"] == part]

    def save(self, path) -> None:
        """Write the report to a file, `.json` (infinite numbers as null) or `.html`
        (complete)."""
        kind = validate.need_choice(
            "the ending of path",
            Path(path).suffix,
            (".json", ".html"),
        )
        page = (
            '<!doctype html><meta charset="utf-8"><title>judged</title>'
            + self._repr_html_()
        )
        data = pd.Series(self._asdict()).to_json(indent=1)
        Path(path).write_text(data if kind == ".json" else page, "utf8")

    def __str__(self):
        played = [
            f"  {row['what']}: {row['played']}" for row in self.found if "played" in row
        ]
        *lines, word = self.lines
        return "\n".join([*lines, "What was played:", *played, UNSEEN + word])

    __repr__ = __str__

    def _repr_html_(self):
        text = f'<div style="white-space: pre-wrap">{html.escape(str(self))}</div>'
        columns = ["where", "what", "model", "value", "low", "high"]
        arena = pd.DataFrame(self.rows("arena")).reindex(columns=columns).dropna()
        table = arena.to_html(index=False, border=0, float_format="{:.3g}".format)
        return text + table if len(arena) else text


def made(rows) -> Report:
    """The `Report` of rows, the promise first; every finding has one line."""
    word = verdict(rows)
    names = {}
    for row in sorted(
        rows,
        key=lambda row: {"broken": 0, "refuted": 1}.get(row["outcome"], 2),
    ):
        if row["outcome"] not in QUIET:
            what = row.get("where", row["what"])
            names.setdefault((row["outcome"], row["found"]), []).append(what)
    said = (
        f"{how[0].upper()}{how[1:]}: {'; '.join(w)}: {why}."
        for (how, why), w in names.items()
    )
    exit_code, meaning = WORDS[word]
    return Report(
        word=word,
        exit_code=exit_code,
        lines=(*said, f"{word}: {meaning}."),
        found=rows,
    )


def verdict(rows) -> str:
    """The word of rows, the promise first."""
    found = {row["outcome"] for row in rows}
    promise = rows[0]
    if promise["outcome"] != "promised":
        return "NOTHING"
    for outcome, word in (("broken", "CONTRACT BROKEN"), ("refuted", "REFUTED")):
        if outcome in found:
            return word
    needed = [r for r in rows if r["part"] == "measured"]
    if needed and all(enough(row) for row in needed):
        return "MEASURED"
    if "not refuted" in found or promise["model"] == "none":
        return "BOUNDED ONLY"
    return "NOTHING"


def enough(row) -> bool:
    """Whether a row of the measurement lets the whole be MEASURED: its interval is
    narrow, or it is a cut of a long run, in which a record need not lose all."""
    narrow = row["outcome"] == "measured"
    return narrow or (row["outcome"] == "bounded" and row.get("cut", False))
