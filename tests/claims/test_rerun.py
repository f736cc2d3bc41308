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
    code = [
        "n, m, k = 3, 4, 5",
        "import math\nsizes = [n, k]\nmore, lines = m, sizes",
        "line = lines",
    ]
    assert rerun.needed(code) & {"n", "m", "k"} == {"n", "k"}  # m changes nothing


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
    assert "uses, n; got 'm'" in said.err
    assert "n must be a whole number, such as 200; got [2]" in said.err


@pytest.mark.parametrize(
    ("stands", "text", "value"),
    [
        ("3", "2e2", 200),
        ("1.0", "2", 2),
        ("1.0", "inf", float("inf")),
        ("'a'", "7", "7"),
        ("'a'", "'b'", "b"),
        ("[1.0]", "[2, 0.5]", [2, 0.5]),
        ("True", "False", False),
        ("3", "abc", "a whole number, such as 200; got 'abc'"),
        ("3", "2.5", "a whole number, such as 200; got 2.5"),
        ("3", "True", "a whole number, such as 200; got True"),
        ("1.0", "abc", "a number, such as 0.5; got 'abc'"),
        ("[1.0]", "2.0", "a list, such as [1.0]; got 2.0"),
        ("[1.0]", "[]", "a list, such as [1.0]; got []"),
        ("[1.0]", "['a']", "a number, such as 0.5; got 'a'"),
        ("True", "1", "True or False; got 1"),
    ],
)
def test_a_value_is_of_the_kind_of_the_one_that_stands_there(stands, text, value):
    cells = [cell(f"n = {stands}", "parameters"), cell("import math"), cell("n")]
    if isinstance(value, str) and "got" in value:
        with pytest.raises(ValueError, match="VALUE of ") as refused:
            rerun.checked(cells, [("n", text)])
        assert str(refused.value).endswith(value)
    else:
        found = rerun.checked(cells, [("n", text)])["n"]
        assert found == value
        assert type(found) is type(value)


@pytest.mark.slow
def test_a_figure_of_the_book_is_written_as_a_page(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    given = ["-p", "T", "300", "-p", "n_reps", "3"]
    assert rerun.main([str(BOOK / "playing.ipynb"), "playing-own", *given]) == 0
    page = (tmp_path / "playing-own.html").read_text("utf8")
    assert 'id="fig-playing-own"' in page
    assert "T = 300; n_reps = 3" in page
    assert "playing.ipynb playing-own -p T 300 -p n_reps 3</code>" in page
    assert "glue" not in page
