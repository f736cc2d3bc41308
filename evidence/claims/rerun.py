"""Run one figure of a chapter again, with other parameters, and write it as an HTML page:

    python -m evidence.claims.rerun CHAPTER.ipynb FIGURE -p NAME VALUE -p NAME VALUE ...

Papermill runs the parameters, the imports, and the cells that the figure's cell takes
names from; nothing else of the chapter.  FIGURE.html is written into the present folder.
The names of figures stand below them in the book; without FIGURE they are listed.
"""

import argparse
import builtins
import html
import json
import re
import shlex
import symtable
import sys
from pathlib import Path

from companion.validate import need_module
from evidence.claims import markup, rules

GIVEN = {*dir(builtins), "display", "get_ipython", "__name__"}
SHOWN = re.compile(r'\bname"?\s*[=:]\s*"([^"]+)"')  # in a cell with a caption


def names(code: str) -> tuple[set[str], set[str]]:
    """(names that a cell binds, names that it takes from elsewhere)."""
    top = symtable.symtable(code, "cell", "exec")
    bound = {
        s.get_name() for s in top.get_symbols() if s.is_assigned() or s.is_imported()
    }
    used = set()
    tables = [top]
    while tables:
        table = tables.pop()
        tables += table.get_children()
        here = [s for s in table.get_symbols() if s.is_referenced()]
        used |= {s.get_name() for s in here if table is top or s.is_global()}
    return bound, used - bound - GIVEN


def sources(cells) -> dict[int, str]:
    """Index of a code cell -> its text."""
    return {
        i: "".join(c["source"]) for i, c in enumerate(cells) if c["cell_type"] == "code"
    }


def needs(cells) -> dict[int, dict]:
    """Index of a code cell -> {name: index of the earlier cell that binds it}.

    Parameters (given and injected) and the first code cell after them, the imports, are
    what every cell may rely on.  A name that nobody binds has the index None.
    """
    code = {i: names(text) for i, text in sources(cells).items()}
    given = {"parameters", "injected-parameters"}
    first = sum(bool(given & set(cells[i]["metadata"].get("tags", []))) for i in code) + 1
    always = set().union(*(bound for bound, _ in list(code.values())[:first]))
    found = {}
    where = {}
    for i in list(code)[first:]:
        bound, used = code[i]
        found[i] = {name: where.get(name) for name in sorted(used - always)}
        where |= dict.fromkeys(bound, i)
    return found


def figures(cells) -> dict[str, int]:
    """{name of a figure: index of the cell that shows it}: it has a caption, or labels an
    axis of a figure whose caption a function writes."""
    found = {}
    for i, text in sources(cells).items():
        if "caption" in text or "xlabel=" in text:
            found |= dict.fromkeys(SHOWN.findall(text), i)
    return found


def part(notebook, figure: str) -> dict:
    """The notebook with those cells alone that show this figure.

    Raises ValueError, with the names of its figures, if the chapter has no such figure.
    """
    cells = notebook["cells"]
    known = figures(cells)
    taken = needs(cells)
    if figure not in known:
        raise ValueError(
            f"FIGURE must be one of {', '.join(known) or 'none'}; got {figure!r}"
        )
    wanted = set()
    todo = [known[figure]]
    while todo:
        i = todo.pop()
        wanted.add(i)
        todo += [j for j in taken[i].values() if j is not None and j not in wanted]
    before = {i for i in sources(cells) if i < min(taken)}  # with the imports
    return notebook | {"cells": [cells[i] for i in sorted(before | wanted)]}


def checked(cells, given) -> dict:
    """{name: value} of the parameters that are changed; cells: of the chapter; given:
    pairs (name, text of the value).

    Raises ValueError for a name that is no parameter, and for a value that it may not
    have.
    """
    text, *_ = sources(cells).values()
    known, _ = rules.parse_cell(text)
    values = {}
    for name, value in given:
        if name not in known:
            raise ValueError(f"NAME must be one of {', '.join(known)}; got {name!r}")
        values[name] = rules.from_text(known[name], value)
    return values


def rerun(path, figure: str, given=()) -> str:
    """The HTML that the figure's cell shows when the chapter at `path` runs with these
    parameters.

    given: pairs (name, text of the value).  Raises ValueError for an unknown figure, for
    what `checked` refuses, and with what a cell raises.
    """
    nbformat = need_module("nbformat", "notebooks")
    papermill = need_module("papermill", "notebooks")
    kept = part(json.loads(Path(path).read_text("utf8")), figure)
    values = checked(kept["cells"], given)
    notebook = nbformat.from_dict(kept)
    try:
        done = papermill.execute_notebook(notebook, None, values)
    except papermill.PapermillExecutionError as error:
        raise ValueError(f"{error.ename}: {error.evalue}") from None
    body = "".join(
        o.get("data", {}).get("text/html", "") for o in done.cells[-1]["outputs"]
    )
    options = "".join(f" -p {name} {shlex.quote(text)}" for name, text in given)
    body = body.replace(f"{figure}</code>", f"{figure}{html.escape(options)}</code>")
    said = "; ".join(f"{n} = {v!r}" for n, v in values.items()) or "unchanged"
    return str(markup.site.alone(figure, f"{Path(path).name}, {figure}: {said}", body))


def main(argv=None) -> int:
    """Exit code: 0 written or listed, 2 refused."""
    parser = argparse.ArgumentParser(prog="python -m evidence.claims.rerun")
    parser.add_argument("notebook", type=Path, help="a chapter: CHAPTER.ipynb")
    parser.add_argument("figure", nargs="?", help="its name; without it: all names")
    parser.add_argument(
        "-p",
        nargs=2,
        action="append",
        default=[],
        metavar=("NAME", "VALUE"),
    )
    args = parser.parse_args(argv)
    if not args.notebook.exists() and Path("book", args.notebook).exists():
        args.notebook = Path("book", args.notebook)  # from the root of the sources
    try:
        if not args.figure:
            print(
                "\n".join(figures(json.loads(args.notebook.read_text("utf8"))["cells"]))
            )
            return 0
        page = rerun(args.notebook, args.figure, args.p)
    except (OSError, ValueError) as error:
        print(f"Refused: {error}", file=sys.stderr)
        return 2
    out = Path(f"{args.figure}.html")
    out.write_text(page, "utf8")
    print(f"written: {out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
