"""Every visible code cell runs in a fresh namespace after parameters, imports and what it names."""

import contextlib
import io
from pathlib import Path

import matplotlib as mpl
import pytest

from tools.cells import HIDDEN, needs
from tools.chapters import read, scales, source, tags

ROOT = Path(__file__).resolve().parent.parent
# playing starts processes and defines kernels, which needs a file or a notebook to be in.
CHAPTERS = sorted(scales(ROOT)["smoke"].keys() - {"playing"})


def with_needs(need, i):
    """Cell i and, transitively, the cells it takes names from, in order."""
    found, stack = set(), [i]
    while stack:
        j = stack.pop()
        if j not in found:
            found.add(j)
            stack += need[j].values()
    return sorted(found)


@pytest.mark.slow
@pytest.mark.parametrize("name", CHAPTERS)
def test_cells_run_alone(name):
    mpl.use("Agg")
    chapter = read(ROOT / "book" / f"{name}.ipynb")
    cells, smoke = chapter.notebook["cells"], scales(ROOT)["smoke"][name]
    need = needs(cells)
    parameters, imports, *_ = (source(c) for c in cells if c["cell_type"] == "code")
    visible = [i for i in need if not HIDDEN & set(tags(cells[i]))]
    assert visible
    broken = {}
    for i in visible:
        space = {"display": lambda *_, **__: None, "__name__": "__main__"}
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                exec(parameters, space)
                space.update(smoke)
                exec(imports, space)
                for j in with_needs(need, i):
                    exec(source(cells[j]), space)
        except Exception as error:  # whatever it is, all cells that fail are named
            broken[i] = repr(error)
    assert broken == {}
