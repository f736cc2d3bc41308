"""`judge`: a policy goes in; what it promises, what it gives, how it does, comes out as a `Report`.

The policy runs in a process of its own (`load.Child`), which does one task after another: a task
that raises, ends its process, or takes more than its limit is answered for, and the next one gets a
new process.  Every task answers with rows of plain data, which say what was done ("part", "what"),
how it came out ("outcome"), in words ("found"), and in numbers.  From the rows follow one word, a
text, a page, and files.
"""

import html
import itertools
import sys
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from companion.judge import attack, checks, leaderboard, measuring
from companion.judge.load import Child
from companion.validate import (
    need_choice,
    need_float,
    need_int,
    need_members,
    need_positive,
    need_seed,
)

QUICK = ("d = 5",), (8.0,), 400, 8  # of the arena: worlds, budgets, rounds, repetitions
FULL = ("d = 5", "logistic clicks"), (1.0, 8.0), 2_000, 10


def judge(
    what,
    *,
    worlds=None,
    epsilons=None,
    seed: int = 1,
    quick: bool = False,
    trials: int | None = None,
    limit: float = 90.0,
):
    """A `Report` on a policy that need not be of this package, compiled or plain Python.

    what: the path of a file, the dotted name of a module, a function that makes the policy, or a
    `Policy`, of which no other dimensions and budgets can be measured; worlds: names of
    `leaderboard.WORLDS` (None: two, one if quick; empty: no arena); epsilons: budgets in
    [0.01, 100] there (None: 1 and 8, or 8); seed: an integer >= 0; quick: a short look; trials:
    runs of each input that an attack counts, in [4, 10^7]; limit: seconds of CPU that one task may
    take.  Raises ValueError where the settings make no sense; what is wrong with the policy stands
    in the report.
    """
    usual_worlds, usual_epsilons, *size = QUICK if quick else FULL
    worlds = [need_choice("worlds", w, tuple(leaderboard.WORLDS))
              for w in (usual_worlds if worlds is None else worlds)]  # fmt: skip
    epsilons = need_members("epsilons", usual_epsilons if epsilons is None else epsilons)
    epsilons = [need_float("epsilons", e, 0.01, 100.0) for e in epsilons]
    trials = trials if trials is None else need_int("trials", trials, 4, 10**7)
    how = bool(quick), trials, need_seed("seed", seed)
    child = Child(what, need_positive("limit", limit))
    try:
        rows = investigate(child.ask, list(itertools.product(worlds, epsilons)), size, *how)
    finally:
        child.pool.shutdown(wait=False)
    return made(rows, {"quick": how[0], "trials": trials, "seed": how[2], "limit": child.limit})


def investigate(ask, games, size, quick: bool, trials, seed: int):
    """All rows of the report, the promise first; where a task fails the reason stands there."""
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
            if name == "rows":  # nothing can be played
                return rows
    add("budget", "budgets", measuring.asked)
    add("speech", "a run", attack.speaks)
    if promise["model"] != "none":
        for row in add("measured", "its noise", measuring.plans, quick):
            if "plan" in row:
                row |= ask(measuring.measured, row.pop("plan"))[0]
        for task in (attack.general, attack.own):
            add("attack", f"{task.__name__} attack", task, quick, trials, seed)
    add("cost", "a round", leaderboard.cost)
    for world, epsilon in games:
        where, game = f"{world}, epsilon = {epsilon:g}", (world, size[0], epsilon, size[1], seed)
        (row,) = add("arena", where, leaderboard.newcomer, *game)
        if "run" in row:
            there = leaderboard.rivals(*game)
            placed = leaderboard.table(promise["factory"], row["run"], there, len(games))
            rows[-1:] = [{"part": "arena", "where": where} | row for row in placed]
    return rows


# --- the report -----------------------------------------------------------------------------------

WORDS = {  # the verdict: exit code, meaning
    "MEASURED": (0, "the promise lies in or above what was measured, and no attack refutes it"),
    "REFUTED": (1, "less private than promised"),
    "NOTHING": (2, "nothing could be judged"),
    "BOUNDED ONLY": (3, "no attack refutes it, but its noise was not measured"),
    "CONTRACT BROKEN": (4, "it does not do what every policy does: mend that first"),
}
BEGIN = {  # outcome of a row: how the line on it begins, the worst first; others have no line
    "refuted": "REFUTED: ",
    "broken": "The contract does not hold: ",
    "promised": "It promises: ",
    "failed": "It gave nothing: ",
    "not measured": "Not measured: ",
    "speaks": "It says more than its arms: ",
    "measured": "Measured: ",
    "not refuted": "Not refuted: ",
    "played": "Arena: ",
    "timed": "Cost: ",
}
UNSEEN = """What the judge cannot see:
  what the audit's declaration leaves out: which numbers are shown, which fields are private
  neighbours that were not tried; a bound below the promise proves nothing
  leaks by time, by memory, or by the last bits of floating-point numbers
  whether records that enter many rounds belong to one person: the unit is what the guarantee says
"""


class Report(NamedTuple):
    """What a judge found."""

    word: str  # REFUTED, MEASURED, BOUNDED ONLY, CONTRACT BROKEN or NOTHING
    lines: tuple  # the essentials, a refuted promise first, the word last
    found: list  # all rows, dicts
    settings: dict

    @property
    def exit_code(self) -> int:
        """1, 0, 3, 4 or 2, in the order of the words."""
        return WORDS[self.word][0]

    def rows(self, part: str):
        """Rows of a part: "promise", "contract", "budget", "speech", "measured", "attack", "cost",
        "arena"."""
        return [row for row in self.found if row["part"] == part]

    def save(self, path) -> None:
        """Write the report to a file, `.json` (infinite numbers as null) or `.html` (complete)."""
        kind = need_choice("the ending of path", Path(path).suffix, (".json", ".html"))
        page = '<!doctype html><meta charset="utf-8"><title>judged</title>' + self._repr_html_()
        data = pd.Series(self._asdict()).to_json(indent=1)
        Path(path).write_text(data if kind == ".json" else page, "utf8")

    def __str__(self):
        played = [f"  {row['what']}: {row['played']}" for row in self.found if "played" in row]
        *lines, word = self.lines
        return "\n".join([*lines, "What was played:", *played, UNSEEN + word])

    __repr__ = __str__

    def _repr_html_(self):
        text = f'<div style="white-space: pre-wrap">{html.escape(str(self))}</div>'
        columns = ["where", "what", "model", "value", "low", "high"]
        arena = pd.DataFrame(self.rows("arena")).reindex(columns=columns).dropna()
        table = arena.to_html(index=False, border=0, float_format="{:.3g}".format)
        return text + table if len(arena) else text


def made(rows, settings) -> Report:
    """The `Report` of rows, the promise first; every finding has one line."""
    word, names = verdict(rows), {}
    for row in rows:
        names.setdefault((row["outcome"], row.get("found")), []).append(row["what"])
    lines = [
        f"{begin}{'; '.join(whats)}: {found}."
        for outcome, begin in BEGIN.items()
        for (how, found), whats in names.items()
        if how == outcome
    ]
    return Report(word, (*lines, f"{word}: {WORDS[word][1]}."), rows, settings)


def verdict(rows) -> str:
    """The word of rows, the promise first."""
    found, promise = {row["outcome"] for row in rows}, rows[0]
    if promise["outcome"] != "promised":
        return "NOTHING"
    if "refuted" in found or "broken" in found:
        return "REFUTED" if "refuted" in found else "CONTRACT BROKEN"
    needed = [r for r in rows if r["part"] == "measured" and not r.get("optional")]
    if needed and all(row["outcome"] == "measured" for row in needed):
        return "MEASURED"
    return "BOUNDED ONLY" if "not refuted" in found or promise["model"] == "none" else "NOTHING"
