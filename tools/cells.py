"""What a code cell needs besides the parameters and the imports, for readers who copy it."""

import html

from companion.report.rerun import needs
from tools.chapters import tags

HIDDEN = {"remove-cell", "remove-input"}


def plain(code):
    """The code of a cell without lines for IPython alone."""
    return "\n".join(line for line in code.splitlines() if not line.startswith(("%", "!")))


def annotated(cells):
    """The cells with a line above each one that takes names from others, linked to their places."""
    wanted = {
        i: taken for i, taken in needs(cells).items() if taken and not HIDDEN & set(tags(cells[i]))
    }
    targets = {j for taken in wanted.values() for j in taken.values() if j is not None}
    result = []
    for i, cell in enumerate(cells):
        if i in wanted or i in targets:
            result.append(_line(cells, i, wanted.get(i, {})))
        result.append(cell)
    return result


def _line(cells, i, taken):
    """A markdown cell: the anchor of cell i, and what it takes from which cells."""
    links = [
        f'<a href="#cell-{cells[j]["id"]}"><code>{html.escape(name)}</code></a>'
        for name, j in taken.items()
        if j is not None
    ]
    text = f"Uses {', '.join(links)} from above." if links else ""
    line = f'<div class="needs" id="cell-{cells[i]["id"]}">{text}</div>'
    return {
        "cell_type": "markdown",
        "id": f"needs-{cells[i]['id']}",
        "metadata": {},
        "source": line,
    }
