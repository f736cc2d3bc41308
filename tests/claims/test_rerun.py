"""One figure runs again from the notebook alone, and what it does not need is left
out."""

import json
from pathlib import Path

import pytest

from evidence.claims import rerun

BOOK = Path(__file__).resolve().parents[2] / "book"


def cell(source, *tags):
    meta = {"tags": list(tags)}
    return {"cell_type": "code", "id": source[:8], "metadata": meta, "source": [source]}


CELLS = [
    cell("n = 3  # points; integer in [1, 9]", "parameters"),
    cell("import math"),
    cell("a = 1"),
    cell("b = n * math.pi"),
    cell('plots.show(fig,\n    caption=b,\n    name="line",\n)'),
    cell("c = b"),
]


def test_only_the_cells_that_a_figure_takes_names_from_are_run():
    kept = rerun.part({"cells": CELLS}, "line")["cells"]
    assert kept == [CELLS[i] for i in (0, 1, 3, 4)]


def test_what_a_chapter_does_not_have_is_refused(tmp_path, capsys):
    notebook = tmp_path / "chapter.ipynb"
    notebook.write_text(json.dumps({"cells": CELLS}), "utf8")
    assert rerun.main([str(notebook)]) == 0
    assert rerun.main([str(notebook), "curve"]) == 2
    assert rerun.main([str(notebook), "line", "-p", "m", "2"]) == 2
    assert rerun.main([str(notebook), "line", "-p", "n", "[2]"]) == 2
    said = capsys.readouterr()
    assert said.out == "line\n"
    assert "one of line; got 'curve'" in said.err
    assert "NAME must be one of n; got 'm'" in said.err
    assert "n = [2] is not: integer in [1, 9]" in said.err


@pytest.mark.slow
def test_a_figure_of_the_book_is_written_as_a_page(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    given = ["-p", "T", "300", "-p", "n_reps", "4"]
    assert rerun.main([str(BOOK / "playing.ipynb"), "playing-own", *given]) == 0
    page = (tmp_path / "playing-own.html").read_text("utf8")
    assert 'id="fig-playing-own"' in page
    assert "T = 300; n_reps = 4" in page
    assert "playing.ipynb playing-own -p T 300 -p n_reps 4</code>" in page
    assert "glue" not in page
