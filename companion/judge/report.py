"""The report: rows of plain data, from which follow one word, a text, a page, and files.

A row says what was done ("part", "what"), how it came out ("outcome"), in words ("found"), and in
numbers.
"""

import html
import json
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from companion.validate import need_choice

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
TABLES = {  # of the page: (part, columns)
    "What was played": ("played", ["what", "played"]),
    "Arena": ("arena", ["where", "what", "model", "value", "low", "high"]),
    "Contract": ("contract", ["what", "outcome", "found"]),
}


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
        lines = [f"<p>{html.escape(line)}</p>" for line in self.lines[:-1]]
        for title, (part, columns) in TABLES.items():
            if rows := self.rows(part):
                text = pd.DataFrame(rows).reindex(columns=columns).dropna()
                text = text.to_html(index=False, border=0, float_format="{:.3g}".format)
                lines.append(f"<p><strong>{title}</strong></p>{text}")
        unseen = "".join(f"<li>{html.escape(what)}</li>" for what in UNSEEN)
        lines.append(f"<p>What the judge cannot see:</p><ul>{unseen}</ul>")
        return "".join([*lines, f"<p><strong>{html.escape(self.lines[-1])}</strong></p>"])


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
