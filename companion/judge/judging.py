"""`judge`: a policy goes in; what it promises, what it gives, how it does, comes out as a `Report`.

The policy runs in a process of its own (`load.Child`), which does one task after another: a task
that raises, ends its process, or takes more than its limit is answered for, and the next one gets a
new process.  Every task answers with rows of plain data, which say what was done ("part", "what"),
how it came out ("outcome"), in words ("found"), and in numbers.  From the rows follow one word, a
text, a page, and files.
"""

import html
import itertools
import json
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from companion.judge import attack, checks, leaderboard, measuring
from companion.judge.load import Child, Refused, failed
from companion.validate import (
    need_choice,
    need_float,
    need_int,
    need_members,
    need_positive,
    need_seed,
)


class Scale(NamedTuple):
    """How much is played."""

    limit: float  # seconds that one task may take
    worlds: tuple  # of the arena
    epsilons: tuple
    T: int  # rounds in the arena
    n_reps: int


FULL = Scale(90.0, ("d = 5", "logistic clicks"), (1.0, 8.0), 2_000, 10)
QUICK = Scale(30.0, ("d = 5",), (8.0,), 400, 8)


def judge(
    what,
    *,
    factory=None,
    worlds=None,
    epsilons=None,
    seed: int = 1,
    quick: bool = False,
    trials: int | None = None,
    limit: float | None = None,
    memory: float = 8.0,
    progress=None,
):
    """A `Report` on a policy that need not be of this package, compiled or plain Python.

    what: a `Policy`, the path of a file, or the dotted name of a module; factory: what made the
    `Policy`, so that other dimensions and budgets can be measured; worlds: names of
    `leaderboard.WORLDS` (None: two, one if quick; empty: no arena); epsilons: budgets in
    [0.01, 100] there (None: 1 and 8, or 8); seed: an integer >= 0; quick: a short look; trials:
    runs of each input that an attack counts, in [4, 10^7]; limit: seconds of CPU that one task may
    take (None: 30 or 90); memory: gigabytes that the policy may use; progress: whether the task
    under way is named (None: on a terminal).  Raises ValueError where the settings make no sense;
    what is wrong with the policy stands in the report.
    """
    scale = QUICK if quick else FULL
    if worlds is not None:
        named = tuple(need_choice("worlds", w, tuple(leaderboard.WORLDS)) for w in worlds)
        scale = scale._replace(worlds=named)
    if epsilons is not None:
        budgets = need_members("epsilons", epsilons)
        told = tuple(need_float("epsilons", e, 0.01, 100.0) for e in budgets)
        scale = scale._replace(epsilons=told)
    limit = scale.limit if limit is None else need_positive("limit", limit)
    trials = trials if trials is None else need_int("trials", trials, 4, 10**7)
    told = {"seed": need_seed("seed", seed), "quick": bool(quick), "trials": trials, "limit": limit}
    shown = sys.stderr.isatty() if progress is None else progress
    child = Child(what, factory, limit, need_positive("memory", memory))

    def ask(task, *args):
        if shown:
            print(f"\r{task.__name__:<12}", *args[:1], end="\x1b[K", file=sys.stderr, flush=True)
        return child.ask(task, *args)

    try:
        rows = investigate(ask, scale, bool(quick), trials, told["seed"])
    except Refused as refusal:
        rows = [{"part": "promise", "what": "the policy"} | failed(str(refusal))]
    finally:
        child.stop()
    return made(rows, told)


def investigate(ask, scale: Scale, quick: bool, trials, seed: int):
    """All rows of the report, the promise first; where a task fails the reason stands there."""
    rows = []

    def add(part, name, task, *args, **more):
        found = ask(task, *args)
        rows.extend({"part": part, "what": name} | more | row for row in found)
        return found

    (promise,) = add("promise", "the policy", measuring.promised)
    if promise["outcome"] == "failed":
        return rows
    for name in checks.CHECKS:
        (found,) = add("contract", name, checks.checked, name)
        if found["outcome"] == "failed":
            rows[-1]["outcome"] = "broken"
            if name == "rows":  # nothing can be played
                return rows
    add("budget", "budgets", measuring.asked)
    add("speech", "a run", attack.speaks)
    if promise["model"] != "none":
        for how in ask(measuring.plans, quick):
            if "plan" in how:
                add("measured", "", measuring.measured, how.pop("plan"), **how)
            else:
                rows.append({"part": "measured", "what": "its noise"} | how)
        for task in (attack.general, attack.own):
            add("attack", f"{task.__name__} attack", task, quick, trials, seed)
    add("cost", "a round", leaderboard.cost)
    games = list(itertools.product(scale.worlds, scale.epsilons))
    for world, epsilon in games:
        where, game = f"{world}, epsilon = {epsilon:g}", (scale.T, epsilon, scale.n_reps, seed)
        (found,) = add("arena", where, leaderboard.newcomer, world, *game)
        if run := found.pop("run", None):
            there = leaderboard.rivals(world, *game)
            placed = leaderboard.table(promise["factory"], run, there, len(games))
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
UNSEEN = (
    "what the audit's declaration leaves out: which numbers are shown, which fields are private",
    "neighbours that were not tried; a bound below the promise proves nothing",
    "leaks by time, by memory, or by the last bits of floating-point numbers",
    "whether records that enter many rounds belong to one person: the unit is what the guarantee "
    "says",
)
ARENA = ["where", "what", "model", "value", "low", "high"]  # columns of the table


class Report(NamedTuple):
    """What a judge found: `data` is a dict of plain data; `word` is the verdict, `lines` say the
    essentials, the word last."""

    data: dict

    @property
    def word(self) -> str:
        """REFUTED, MEASURED, BOUNDED ONLY, CONTRACT BROKEN or NOTHING."""
        return self.data["word"]

    @property
    def exit_code(self) -> int:
        """1, 0, 3, 4 or 2, in the same order."""
        return WORDS[self.word][0]

    @property
    def lines(self):
        """The essentials, a refuted promise first, the word last."""
        return tuple(self.data["lines"])

    @property
    def refuted(self) -> bool:
        """Whether the promise was refuted."""
        return self.word == "REFUTED"

    def rows(self, part: str):
        """Rows of a part: "promise", "contract", "budget", "speech", "measured", "attack", "cost",
        "arena"; "played": of all parts those that say what was played."""
        rows = self.data["rows"]
        return [r for r in rows if part == r["part"] or (part == "played" and part in r)]

    def to_json(self) -> str:
        """The data as JSON; equal reports give equal texts."""
        return json.dumps(self.data, indent=1, sort_keys=True, ensure_ascii=False) + "\n"

    def save(self, path) -> None:
        """Write the report to a file, `.json` or `.html` (complete)."""
        kind = need_choice("the ending of path", Path(path).suffix, (".json", ".html"))
        page = '<!doctype html><meta charset="utf-8"><title>judged</title>' + self._repr_html_()
        Path(path).write_text(self.to_json() if kind == ".json" else page, "utf8")

    def __str__(self):
        played = [f"  {row['what']}: {row['played']}" for row in self.rows("played")]
        unseen = [f"  {what}" for what in UNSEEN]
        lines = *self.lines[:-1], "What was played:", *played
        return "\n".join([*lines, "What the judge cannot see:", *unseen, self.lines[-1]])

    __repr__ = __str__

    def _repr_html_(self):
        text = f'<div style="white-space: pre-wrap">{html.escape(str(self))}</div>'
        arena = pd.DataFrame(self.rows("arena")).reindex(columns=ARENA).dropna()
        return text + (arena.to_html(index=False, border=0, float_format="{:.3g}".format)
                       if len(arena) else "")  # fmt: skip


def made(rows, settings) -> Report:
    """The `Report` of rows, the promise first; every finding has one line."""
    word, names = verdict(rows), {}
    for row in rows:
        names.setdefault((row["outcome"], row.get("found")), []).append(row["what"])
    lines = [
        f"{begin}{'; '.join(whats)}: {found}."
        for outcome, begin in BEGIN.items()
        for (how, found), whats in names.items() if how == outcome
    ]  # fmt: skip
    lines.append(f"{word}: {WORDS[word][1]}.")
    return Report(plain({"word": word, "lines": lines, "rows": rows, "settings": settings}))


def plain(value):
    """The same as JSON holds it: infinite numbers as text."""
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    value = value.item() if isinstance(value, np.generic) else value
    return str(value) if isinstance(value, float) and not np.isfinite(value) else value


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
