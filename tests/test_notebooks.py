"""The committed notebooks: as readers and papermill need them, and without any output."""

import json
import re
from types import SimpleNamespace

import nbformat
import numpy as np
import pytest
from cell_names import names, needs
from real_book import BOOK, ROOT, cells

from companion import stats
from evidence.claims.page import listed
from evidence.claims.published import REPORT, sentences
from evidence.claims.scoreboard import PAPERS
from tools.chapters import HIDDEN, code, pages, read, scales, source, tags

NOTEBOOKS = sorted((ROOT / "book").glob("*.ipynb"))
every_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)


@every_notebook
def test_notebook_is_clean_and_runs_anywhere(path):
    book = nbformat.read(path, as_version=nbformat.NO_CONVERT)
    nbformat.validate(book)
    assert (book.nbformat, book.nbformat_minor >= 5) == (4, True)
    assert book.metadata["kernelspec"]["name"] == "python3"
    # a line a line, so that edits are readable
    kept = json.loads(path.read_text("utf8"))["cells"]
    assert [cell["id"] for cell in kept if not isinstance(cell["source"], list)] == []
    ids = [cell["id"] for cell in kept]  # nbformat gives a new one to the second of two
    assert len(ids) == len(set(ids))
    for cell in book.cells:
        if cell.cell_type == "code":
            assert cell.outputs == [], cell.id
            assert cell.execution_count is None, cell.id
            assert cell.source.strip(), cell.id


@every_notebook
def test_parameters_are_the_first_code_and_documented(path):
    # raises unless there is one parameters cell that follows the grammar
    chapter = read(path)
    assert chapter.parameters
    assert "parameters" in tags(code(chapter.notebook)[0])


def test_the_table_of_contents_lists_every_notebook():
    listed = set(pages(ROOT))
    assert [p.stem for p in NOTEBOOKS if f"book/{p.stem}" not in listed] == []


def test_smoke_scale_is_smaller_for_every_chapter_with_rounds():
    smoke = scales(ROOT)["smoke"]
    for name, chapter in BOOK.items():
        if "T" in chapter.parameters:
            assert smoke[name]["T"] < chapter.parameters["T"].default, name


@every_notebook
def test_what_a_cell_continues_is_above_it_and_visible(path):
    """So that a reader who copies a cell can copy what it needs, too."""
    cells = read(path).notebook["cells"]
    for i, taken in needs(cells).items():
        assert None not in taken.values(), (i, taken)
        if not HIDDEN & set(tags(cells[i])):
            hidden = {n for n, j in taken.items() if HIDDEN & set(tags(cells[j]))}
            assert not hidden, (i, hidden)


def test_names_of_a_cell():
    cell = (
        "import math\nfor i in range(n):\n    f = lambda a: a + b + math.pi\n[z for "
        "z in f(i)]"
    )
    assert names(cell) == ({"math", "i", "f"}, {"n", "b"})


def test_the_crossing_of_lplr_is_where_its_regret_falls_below_that_of_ssp():
    """Regret 1 at every horizon T, against T / 10^5."""
    cells = [source(c) for c in read(ROOT / "book" / "lplr.ipynb").notebook["cells"]]
    (cell,) = [code for code in cells if "stats.crossing" in code]
    said = {}

    def regrets(d, name, rounds):
        regret = rounds / 1e5 if name == "SSP" else np.ones(len(rounds))
        return np.tile(regret[:, None, None], (1, 1, 2))

    given = {
        "horizons": {1: np.array([1e4, 1e6, 1e8])},
        "instances": 0,
        "listed": listed,
        "page": SimpleNamespace(say=said.update),
        "regrets": regrets,
        "seed": 1,
        "stats": stats,
        "T": 10**8,
    }
    exec(cell[cell.index("every = ") :], given)
    assert said["crossings_both"].startswith("1.0e+05 [")


def test_the_policy_that_hides_all_actions_favours_the_advised_arm_as_it_promises():
    """By e^(epsilon/2) over every other arm: q is spread evenly over all K."""
    (line,) = re.findall(r" (q = .*)", "\n".join(cells("privacy_models")))
    given = {"K": 3, "epsilon": 2.0, "np": np}
    exec(line, given)
    other = given["q"] / 3
    assert 1 - given["q"] + other == pytest.approx(np.e * other)


def judged(path):
    """The names that a notebook opens as claims or findings, with the room of its
    `Page`."""
    text = "\n".join(source(c) for c in code(read(path).notebook))
    room = re.search(r'Page\([^()]*(?:\([^()]*\)[^()]*)*?room="(\w+)"', text)
    opened = re.findall(r'page\.open\(\s*"([^"]+)"', text)
    assert text.count("page.open(") == len(opened), "the name is a literal"
    return room[1] if room else path.stem, opened


def test_every_sentence_of_a_paper_is_judged_once():
    opened = {}
    for path in NOTEBOOKS:
        room, names = judged(path)
        opened.setdefault(room, []).extend(names)
    for room in (*PAPERS, REPORT):
        assert sorted(opened.pop(room)) == sorted(sentences(room))
    assert not any(opened.values()), opened
