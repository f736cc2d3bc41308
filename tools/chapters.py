"""The notebooks of the book, as `_toc.yml` lists them, and the parameters asked of
each."""

import ast
import json
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from evidence.claims import rules
from tools.errors import Refusal, one_of

SCOREBOARD = "scoreboard"  # executed last, on the claims of all others
PAPER = "paper"  # the scale of the committed notebooks
HIDDEN = {"remove-cell", "remove-input"}  # tags of cells that readers do not see


class Chapter(NamedTuple):
    name: str
    path: Path
    notebook: dict[str, Any]
    parameters: dict  # name -> Parameter
    rules: tuple = ()  # what the parameters need together


def source(cell):
    """The text of a cell; in files it may be a list of lines."""
    return "".join(cell["source"])


def tags(cell):
    """The tags of a cell."""
    return cell["metadata"].get("tags", [])


def code(notebook):
    """The code cells of a notebook that hold something."""
    return [
        c for c in notebook["cells"] if c["cell_type"] == "code" and source(c).strip()
    ]


def plain(code):
    """The code of a cell without lines for IPython alone."""
    return "\n".join(
        line for line in code.splitlines() if not line.startswith(("%", "!"))
    )


def title(notebook):
    """The first heading of a notebook."""
    lines = (line for c in notebook["cells"] for line in source(c).splitlines())
    return next((line[2:].strip() for line in lines if line.startswith("# ")), "untitled")


def pages(root):
    """The pages that `_toc.yml` lists, without suffix.  Raises Refusal if one is not
    there."""
    found = []

    def walk(node):
        for entry in node if isinstance(node, list) else [node]:
            found.extend(entry[key] for key in ("root", "file") if key in entry)
            for key in ("parts", "chapters", "sections"):
                walk(entry.get(key, []))

    walk(yaml.safe_load((root / "_toc.yml").read_text("utf8")))
    for page in found:
        if not any((root / f"{page}{suffix}").is_file() for suffix in (".ipynb", ".md")):
            raise Refusal(
                f"_toc.yml lists {page}, but there is no {page}.ipynb and no {page}.md"
            )
    return found


def read(path):
    """The chapter in a notebook file.  Raises Refusal if its parameters cell is not in
    order."""
    try:
        notebook = json.loads(path.read_text("utf8"))
        cells = [c for c in notebook["cells"] if "parameters" in tags(c)]
    except (ValueError, KeyError, TypeError) as error:
        raise Refusal(f"{path.name} is not a notebook: {error!r}") from error
    if len(cells) != 1:
        raise Refusal(
            f"{path.name} needs one cell tagged `parameters`; it has {len(cells)}"
        )
    try:
        parameters, needed = rules.parse_cell(source(cells[0]))
    except ValueError as error:
        raise Refusal(f"{path.name}, {error}") from error
    return Chapter(
        name=path.stem,
        path=path,
        notebook=notebook,
        parameters=parameters,
        rules=tuple(needed),
    )


def load(root):
    """All chapters of the book, by name, in reading order and the scoreboard last."""
    found = {}
    for page in pages(root):
        path = root / f"{page}.ipynb"
        if path.is_file():
            found[path.stem] = read(path)
    if SCOREBOARD in found:
        found[SCOREBOARD] = found.pop(SCOREBOARD)
    return found


def scales(root):
    """Content of book/scales.yml: scale -> chapter -> parameter -> value."""
    path = root / "book" / "scales.yml"
    return (yaml.safe_load(path.read_text("utf8")) if path.is_file() else None) or {}


def overrides(chapter, values, where):
    """The checked `values` that differ from the chapter's defaults.  Raises Refusal."""
    wanted = {}
    for name, value in values.items():
        one_of(f"parameter of {where}", name, chapter.parameters)
        parameter = chapter.parameters[name]
        try:
            value = rules.check(parameter, value)
        except ValueError as error:
            raise Refusal(f"{where}: {error}") from error
        if value != parameter.default:
            wanted[name] = value
    try:
        rules.need(
            {n: p.default for n, p in chapter.parameters.items()} | wanted,
            *chapter.rules,
        )
    except ValueError as error:
        raise Refusal(f"{where}: {error}") from error
    return wanted


def given(text):
    """The value of a Python literal from the command line; any other text is a word."""
    try:
        return ast.literal_eval(text)
    except (SyntaxError, ValueError):
        return text


def requests(root, chapters, scale, only, pairs):
    """What to execute: chapter name -> parameters that differ from the committed ones.

    `pairs` are (name, text) from the command line; they apply to every chapter asked for.
    Raises Refusal for an unknown scale, chapter or parameter, and for a value that is not
    allowed.
    """
    known = scales(root)
    one_of("scale", scale, [PAPER, *(s for s in known if s != PAPER)])
    # every scale is checked, whichever is asked for
    for level, settings in known.items():
        for name, values in (settings or {}).items():
            one_of(f"chapter in book/scales.yml, {level},", name, chapters)
            overrides(chapters[name], values or {}, f"{name} in book/scales.yml, {level}")
    for name in only:
        one_of("chapter", name, chapters)
    settings = known.get(scale) or {}
    wanted = {}
    for name in only or [c for c in chapters if c != SCOREBOARD]:
        values = dict(settings.get(name) or {})
        for parameter, text in pairs:
            one_of(f"parameter of {name}", parameter, chapters[name].parameters)
            try:
                values[parameter] = rules.check(
                    chapters[name].parameters[parameter], given(text)
                )
            except ValueError as error:
                raise Refusal(f"{name}: {error}") from error
        wanted[name] = overrides(chapters[name], values, name)
    if SCOREBOARD in wanted:
        raise Refusal(
            f"{SCOREBOARD} shows the results of all chapters: run without --only"
        )
    return wanted
