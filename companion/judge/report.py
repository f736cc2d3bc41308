"""The report: a value of plain data, with a text, a page for notebooks, and a file."""

import json
from pathlib import Path
from typing import NamedTuple

from companion.judge import pages, words
from companion.judge.store import write
from companion.validate import need_choice

FORMAT = 1
KINDS = (".json", ".html")


class Report(NamedTuple):
    """What `judge` found: `data` is a dict of plain data, whose `lines` say the essentials."""

    data: dict

    @property
    def lines(self):
        """The essentials, a refuted promise first."""
        return tuple(self.data["lines"])

    @property
    def refuted(self) -> bool:
        """Whether the promise was refuted."""
        return bool(self.data["refuted"])

    @property
    def reproducible(self):
        """The data without what a clock measured: equal to the bit on every machine, if no task was
        stopped by its limit."""
        kept = {k: v for k, v in self.data.items() if k not in ("cost", "took")}
        return kept | {"lines": [line for line in self.lines if not line.startswith("Cost: ")]}

    def to_json(self) -> str:
        """The data as JSON; equal reports give equal texts."""
        return json.dumps(self.data, indent=1, sort_keys=True, ensure_ascii=False) + "\n"

    @classmethod
    def from_json(cls, text: str):
        """The report that `to_json` wrote.  Raises ValueError on another text."""
        try:
            data = json.loads(text)
            right = data["format"] == FORMAT
        except (TypeError, KeyError, ValueError):
            right = False
        if not right:
            raise ValueError(f"text must be a report of format {FORMAT}")
        return cls(data)

    def save(self, path) -> None:
        """Write the report to a file, `.json` or `.html` (complete), all or nothing."""
        path = Path(path)
        kind = need_choice("the ending of path", path.suffix, KINDS)
        write(path, self.to_json() if kind == ".json" else pages.standalone(self.data))

    def __str__(self):
        return words.text(self.data)

    __repr__ = __str__

    def _repr_html_(self):
        return pages.body(self.data)


def made(parts) -> Report:
    """The `Report` of what was found."""
    refuted, lines = words.essentials(parts)
    return Report({"format": FORMAT, "refuted": refuted, "lines": lines,
                   "unseen": words.unseen(parts)} | parts)  # fmt: skip
