"""The policies of the package as a table, made from their sources and from the chapters."""

import ast
import html
import importlib
import json
import re
from pathlib import Path

from companion import catalogue
from companion.report import markup
from companion.report.tables import Shown

FOUNDATIONS = ("playing", "privacy_models", "mechanisms", "scoreboard")  # no paper's chapters
MODELS = ("local", "shuffle", "joint", "none")  # from the least trust to the most


def which_policy(book=None):
    """Every policy with trust model, source's first sentence, chapters and cost, as a table.

    book: the folder of the notebooks, whose chapters are linked if they import the policy (None:
    `book` or here, where notebooks are found; nowhere else are there links).
    """
    imported = _imports(Path("book" if Path("book").is_dir() else ".") if book is None else book)
    entries = [(e.example().guarantee.model, e) for e in catalogue.policies().values()]
    entries.sort(key=lambda row: (MODELS.index(row[0]), row[1].name))
    rows, lines = [], []
    for model, entry in entries:
        what, cost = described(importlib.import_module(entry.module).__doc__)
        links = [
            f'<a href="{stem}.html">{html.escape(title)}</a>'
            for stem, (title, names) in imported.items()
            if entry.name in names
        ]
        name = f"<code>{entry.name}</code>"
        rows.append([name, model, html.escape(what), ", ".join(links), html.escape(cost)])
        lines.append(f"{model:8} {entry.name:18} {what}")
    head = ["Factory", "Trust model", "What it is", "Chapters", "Cost"]
    return Shown(markup.table("Policies of the package", head, rows), "\n".join(lines))


def described(doc):
    """(what it is, what it costs): the first paragraph and the Cost line of a module's text."""
    what, *rest = (re.sub(r"[\s`]+", " ", part).strip() for part in doc.split("\n\n"))
    cost = re.search(r"Cost: (.*?)(?:\.(?= )|\.?$)", " ".join(rest))
    return what, cost[1] if cost else ""


def _imports(book):
    """{chapter: (title, names imported from `companion`)} of the papers' notebooks in a folder."""
    found = {}
    for path in sorted(Path(book).glob("*.ipynb")):
        cells = json.loads(path.read_text("utf8"))["cells"]
        text = "\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "code")
        froms = (n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.ImportFrom))
        names = {a.name for n in froms if n.module.startswith("companion.") for a in n.names}
        title = next(line for c in cells for line in c["source"] if line.startswith("# "))
        found[path.stem] = title.strip("# \n").split(":")[0], names
    return {k: v for k, v in found.items() if k not in FOUNDATIONS}
