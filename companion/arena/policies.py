"""The policies of the package as a table, made from their sources and from the chapters."""

import ast
import html
import inspect
import json
import re
from pathlib import Path

from companion import policies
from companion.report import markup
from companion.report.tables import Shown

# chapters of no paper
FOUNDATIONS = (
    "playing",
    "your_data",
    "privacy_models",
    "mechanisms",
    "arena",
    "judge",
    "performance",
    "scoreboard",
)
MODELS = {  # from the least trust to the most
    "local": "Nobody has to be trusted: a message is noisy before it leaves its user.",
    "shuffle": "A shuffler is trusted to forget who sent what; the server sees mixed messages.",
    "joint": "The server is trusted: it remembers records and shows others nothing but noisy sums.",
    "none": "No privacy: these are the yardsticks that say what privacy costs.",
}
HEAD = ("Factory", "What it is", "Chapters")


def which_policy(book=None, fold: bool | None = None) -> Shown:
    """Every policy with its factory's first sentence and chapters, a table for each trust model.

    book: the folder of the notebooks, whose chapters are linked if they import the policy (None:
    `book` or here, where notebooks are found; nowhere else are there links).  fold: a line behind
    which the tables are folded away.
    """
    imported = _imports(Path("book" if Path("book").is_dir() else ".") if book is None else book)
    rows, lines = {model: [] for model in MODELS}, []
    for name in policies.TABLE:
        model = policies.example(name).guarantee.model
        what = described(policies.factory(name))
        links = [
            f'<a href="{stem}.html">{html.escape(title)}</a>'
            for stem, (title, names) in imported.items()
            if name in names
        ]
        code = f"<code>{name}</code>"
        rows[model].append([code, html.escape(what), ", ".join(links)])
        lines.append(f"{model:8} {name:18} {what}")
    parts = [
        f"<p><b>{model.capitalize()}.</b> {MODELS[model]}</p>"
        + markup.table(f"Policies of trust model {model}", HEAD, found)
        for model, found in rows.items()
        if found
    ]
    page = "".join(parts)
    page = markup.folded(html.escape(fold), page) if fold else page
    return Shown(page, "\n".join(sorted(lines, key=lambda x: x.split()[1])))


def described(factory):
    """The first paragraph of a factory's docstring."""
    what, *_ = (inspect.getdoc(factory) or "").split("\n\n")
    return re.sub(r"[\s`]+", " ", what).strip()


def _imports(book):
    """{chapter: (title, names imported from `companion`)} of the papers' notebooks in a folder."""
    found = {}
    for path in sorted(Path(book).glob("*.ipynb")):
        cells = json.loads(path.read_text("utf8"))["cells"]
        text = "\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "code")
        froms = (n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.ImportFrom))
        names = {a.name for n in froms if n.module.startswith("companion.") for a in n.names}
        lines = (line for c in cells for line in "".join(c["source"]).splitlines())
        title = next(line for line in lines if line.startswith("# "))
        found[path.stem] = title.strip("# ").split(":")[0], names
    return {k: v for k, v in found.items() if k not in FOUNDATIONS}
