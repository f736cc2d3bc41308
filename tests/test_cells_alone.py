"""Every visible code cell runs with the parameters, the imports and what it names alone."""

import contextlib
import io
from pathlib import Path

import matplotlib as mpl
import pytest

from companion.report import plots
from companion.report.rerun import needs
from tools.cells import HIDDEN
from tools.chapters import read, scales, source, tags

ROOT = Path(__file__).resolve().parent.parent
# playing starts processes and defines kernels, which needs a file or a notebook to be in.
CHAPTERS = sorted(scales(ROOT)["smoke"].keys() - {"playing"})


class Cells:
    """The code cells of a chapter, each run once, seeing what it names and nothing else."""

    def __init__(self, name):
        self.cells = read(ROOT / "book" / f"{name}.ipynb").notebook["cells"]
        self.smoke, self.need, self.spaces = scales(ROOT)["smoke"][name], needs(self.cells), {}
        code = [i for i, c in enumerate(self.cells) if c["cell_type"] == "code"]
        self.first, self.second, *_ = code  # parameters, imports

    def visible(self):
        return [i for i in self.need if not HIDDEN & set(tags(self.cells[i]))]

    def space(self, i):
        """The names there are after cell i."""
        if i not in self.spaces:
            space = {"display": lambda *_, **__: None, "__name__": "__main__"}
            if i > self.first:
                space.update(self.space(self.first), **self.smoke)
            if i > self.second:
                space.update(self.space(self.second))
            taken = self.need.get(i, {}).items()
            space.update({k: self.space(j)[k] for k, j in taken if j is not None})
            with contextlib.redirect_stdout(io.StringIO()):
                exec(source(self.cells[i]), space)
            self.spaces[i] = space
        return self.spaces[i]


@pytest.mark.slow
@pytest.mark.parametrize("name", CHAPTERS)
def test_cells_run_alone(name, monkeypatch):
    mpl.use("Agg")
    monkeypatch.setattr(plots, "figure_html", lambda *_, **__: "")  # drawing takes long: see others
    chapter, broken = Cells(name), {}
    assert chapter.visible()
    for i in chapter.visible():
        try:
            chapter.space(i)
        except Exception as error:  # whatever it is, all cells that fail are named
            broken[i] = repr(error)
    assert broken == {}
