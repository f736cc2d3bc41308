"""Which rows of evidence the repetitions of a cell serve, and how few of them would do.

A cell repeats if it takes a parameter whose comment begins with a word of `COUNTS`, or what the
cell of imports makes of it by a call; to say or to compare it is not enough.  It serves the rows of
a claim if this cell opens it, or if the one that does takes names from this cell, directly or
through cells that do not repeat.
"""

import ast
import html
import math
import re
from typing import Any, NamedTuple

from companion.report import claims, markup
from tools import cells, results
from tools.chapters import source, tags
from tools.parameters import literal, parse_cell

ROOM = 2.0  # half widths that an experiment should leave between an interval and its limit
LEAST = 8  # repetitions, whatever the room
COUNTS = re.compile(r"(further )?(repetitions|runs|samples|streams)\b")
OPENS = re.compile(r"\.(?:open|finding|claim)\(\s*\"([^\"]+)\"")


class Served(NamedTuple):
    """A cell that repeats."""

    cell: str  # its id
    counts: dict[str, Any]  # {parameter: value in this build}
    rows: list[Any]  # [(room, half width, claim's id, row)], the nearest to its limit first


def counts(notebook):
    """{parameter that counts repetitions: its value in this build} of an executed chapter."""
    found = {}
    for cell in notebook["cells"]:
        if "parameters" in tags(cell):
            given = parse_cell(source(cell), "parameters")
            found = {n: p.default for n, p in given.items() if COUNTS.match(p.purpose)}
        if "injected-parameters" in tags(cell):
            for line in ast.parse(source(cell)).body:
                if isinstance(line, ast.Assign) and line.targets[0].id in found:
                    found[line.targets[0].id] = literal(ast.unparse(line.value))
    return found


def said(code, known):
    """Names of `known` that the code takes, but for those in texts and comparisons."""
    if isinstance(code, ast.JoinedStr | ast.Compare):
        return set()
    mine = {code.id} & known.keys() if isinstance(code, ast.Name) else set()
    return mine.union(*(said(part, known) for part in ast.iter_child_nodes(code)))


def behind(cells_of_all, known):
    """{name: parameters of `known` behind it}: themselves, and what is made from them by a call in
    the cells that every other may rely on."""
    found = {name: {name} for name in known}
    for cell in cells_of_all:
        for line in ast.parse(cells.plain(source(cell))).body:
            if isinstance(line, ast.Assign) and any(
                isinstance(n, ast.Call) for n in ast.walk(line)
            ):
                taken = said(line.value, known)
                names, _ = cells.names(ast.unparse(line))
                found |= {name: taken for name in names if taken and name not in known}
    return found


def repeating(at, repeats, taken):
    """Indices of the cells whose repetitions a claim opened in cell `at` rests on."""
    seen, waiting, found = set(), [at], set()
    while waiting:
        i = waiting.pop()
        if i in repeats:
            found.add(i)
        elif i not in seen:
            seen.add(i)
            waiting += [j for j in taken.get(i, {}).values() if j is not None]
    return found


def served(name, notebook):
    """[`Served`] of a chapter, in its order; cells that no row rests on are left out."""
    known, rows = counts(notebook), {}
    for c in map(claims.from_json, results.claims(name, notebook)):
        rows[c.id] = [(*e.nearest, c.id, e) for e in c.evidence if e.nearest is not None]
    code = {i: source(c) for i, c in enumerate(notebook["cells"]) if c["cell_type"] == "code"}
    taken, repeats, found = cells.needs(notebook["cells"]), {}, {}
    made = behind([notebook["cells"][i] for i in code if i not in taken], known)
    for i in taken:
        names = said(ast.parse(cells.plain(code[i])), made)
        if read := sorted(set().union(*(made[n] for n in names))):
            repeats[i] = {n: known[n] for n in read}
    for i in taken:
        mine = [row for id in OPENS.findall(code[i]) for row in rows.get(id, [])]
        for j in repeating(i, repeats, taken):
            found.setdefault(j, []).extend(mine)
    return [
        Served(notebook["cells"][i]["id"], repeats[i], sorted(found[i], key=lambda row: row[:3]))
        for i in sorted(found)
        if found[i]
    ]


def fewest(count, room):
    """The least number of repetitions that would leave `ROOM` half widths where so many leave
    `room`, if the interval shrinks with the root of their number and its middle stays: the limit is
    room + 1 half widths from there.  None where an interval holds its limit."""
    if room <= 0.0:
        return None
    return max(LEAST, math.ceil(count * ((ROOM + 1.0) / (room + 1.0)) ** 2))


def table(notebooks):
    """Every cell with repetitions, the rows that it serves and how few would do, as a table."""
    groups = {}
    for name, notebook in notebooks.items():
        if found := served(name, notebook):
            groups[f'<a href="{name}.html">{name}</a>'] = [_row(name, s) for s in found]
    head = ["Cell", "Rows", "Nearest to its limit", "Half width", "Room", "Repetitions", "Enough"]
    caption = "Rows that the repetitions of a cell serve"
    return markup.table(caption, head, groups, "scoreboard evidence")


def _row(chapter, s):
    """The HTML cells of one `Served`."""
    room, half, id, row = s.rows[0]
    words = html.escape(f"{id}, {row.setting}" if row.setting else id)
    enough = {name: fewest(n, room) for name, n in s.counts.items()}
    return [
        f"<code>{html.escape(s.cell)}</code>",
        str(len(s.rows)),
        f'<div><a href="{chapter}.html#claim-{id}">{words}</a>: {html.escape(row.rule)}</div>',
        f"{half:.3g}",
        f"{room:.1f}",
        "<br>".join(f"{html.escape(name)} = {n:,}" for name, n in s.counts.items()),
        "<br>".join("more" if n is None else f"{n:,}" for n in enough.values()),
    ]
