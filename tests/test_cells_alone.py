"""Every name that a code cell takes comes from the parameters, the imports or an earlier
cell."""

import json
from pathlib import Path

import pytest
from cell_names import needs

CHAPTERS = sorted((Path(__file__).resolve().parent.parent / "book").glob("*.ipynb"))


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda p: p.stem)
def test_every_name_that_a_cell_takes_is_bound_by_an_earlier_cell(path):
    cells = json.loads(path.read_text("utf8"))["cells"]
    if not any("parameters" in c["metadata"].get("tags", []) for c in cells):
        pytest.skip("a page without parameters")
    free = {
        i: [n for n, j in taken.items() if j is None] for i, taken in needs(cells).items()
    }
    assert {i: names for i, names in free.items() if names} == {}
