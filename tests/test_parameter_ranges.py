"""Any allowed parameters run to the end, with verdicts untested and a number wherever one
stands.

For every chapter, corners of the ranges in its parameters cell, in sets drawn with a
fixed seed. Costly parameters (repetitions, rounds, sizes) go to their low ends, the
others to both.  Chapters run as readers run them: by papermill alone, in an empty folder,
with the installed package.
"""

import json
import math
import os
import random
import re
from itertools import pairwise

import pytest
from nbformat.v4 import new_code_cell
from papermill.translators import PythonTranslator
from real_book import BOOK, ROOT
from wheel import run

from evidence.claims import rules
from evidence.claims.claims import MIME, UNTESTED
from tools.chapters import tags

SETS = 2  # drawn for each chapter: both ends of every range
# The largest value tried where the range goes further than a test can (by default the
# least and one more), and values between the ends at which something changes.
LARGE = {
    "K": 60,
    "batch": 200,
    "d": 60,
    "horizons": 400,
    "max_sparsity": 400,
    "sparsity": 30,
}
BETWEEN = {"T": [511, 512], "T_scaling": [300, 512], "T_long": [511]}
NAN = re.compile(r"\bnan\b|\bNaN\b(?! or)")  # a refusal may speak of "NaN or infinite"
# Its command line would take 1e-12 for a word.
PAPERMILL = (
    "import json, sys, papermill; papermill.execute_notebook(**json.loads(sys.argv[1]))"
)
HTML = re.compile(r"<(?:img|source|a)\b[^>]*>|<[^>]+>")


def corners(parameter):
    """The values that a parameter is drawn from: ends of its range, lists of them in all
    orders."""
    kind = parameter.kind
    name = parameter.name
    if kind.base == "boolean":
        return [False, True]
    if kind.base == "text":
        return [parameter.default]
    step = 1 if kind.base == "integer" else min(1e-3, 1e-6 * (kind.high - kind.low))
    low = kind.low if kind.closed[0] else kind.low + step
    high = kind.high if kind.closed[1] else kind.high - step
    if kind.base == "integer":
        low, high = int(low), int(min(high, max(LARGE.get(name, 0), low + 1)))
    else:
        high = min(high, 1e3)
    if not kind.many:
        return [
            low,
            high,
            *(v for v in BETWEEN.get(name, ()) if kind.low <= v <= kind.high),
        ]
    middle = type(low)(math.sqrt(low * high))
    return [[low], [high, low], [middle, middle], [high, middle, low]]


def sets(chapter):
    """SETS allowed sets of values: every parameter moves from corner to corner.

    Parameters that a rule speaks of are drawn again, all of them, until the rule holds.
    """
    rng = random.Random(1)
    cards = {n: corners(p) for n, p in chapter.parameters.items() if n != "seed"}
    cards = {n: rng.sample(values, len(values)) for n, values in cards.items()}
    bound = set().union(*(rules.names(rule) for rule in chapter.rules))
    found = []
    for i in range(SETS):
        drawn = {n: values[i % len(values)] for n, values in cards.items()}
        for _ in range(1_000):
            if all(rules.holds(rule, drawn) for rule in chapter.rules):
                break
            drawn |= {n: rng.choice(cards[n]) for n in sorted(bound)}
        else:
            raise AssertionError(f"the rules of {chapter.name} refuse nearly all corners")
        found.append(drawn | {"seed": rng.randrange(2**32)})
    return found


def shown(output):
    """What a reader sees of an output, without pictures."""
    data = output.get("data", {"text/plain": output.get("text", "")})
    said = data.get("text/html", data.get("text/markdown", data.get("text/plain", "")))
    spoken = [v for k, v in data.items() if k.endswith("record/text/plain")]
    return HTML.sub(" ", "".join(said)) + " ".join(map(str, spoken))


def again(cells, parameters, i):
    """Cells that forget all names and run again with these parameters, in the process
    that has the libraries and kernels."""
    found = [new_code_cell("%reset_selective -f .", id=f"forget-{i}")]
    for cell in cells:
        found.append({**cell, "id": f"{cell['id']}-{i}"})
        if "parameters" in tags(cell):
            found[-1]["metadata"] = {}  # papermill writes its own below the first
            source = PythonTranslator.codify(parameters)
            found.append(new_code_cell(source, id=f"parameters-{i}-set"))
    return found


def execute(path, several, folder, variables):
    """The notebook executed in an empty folder, with the first of several sets of
    parameters, then with the next: a list of the cells of each."""
    empty = folder / "empty"
    target = folder / "out.ipynb"
    book = json.loads(path.read_text("utf8"))
    empty.mkdir()
    cells = book["cells"]
    book["cells"] = sum((again(cells, v, i) for i, v in enumerate(several[1:], 1)), cells)
    (folder / "in.ipynb").write_text(json.dumps(book))
    job = {"input_path": str(folder / "in.ipynb"), "output_path": str(target)}
    job |= {"cwd": str(empty), "execution_timeout": 300, "progress_bar": False}
    run(
        "-c",
        PAPERMILL,
        json.dumps(job | {"parameters": several[0]}),
        cwd=empty,
        env=variables,
    )
    assert list(empty.iterdir()) == []
    done = json.loads(target.read_text("utf8"))["cells"]
    starts = [k for k, c in enumerate(done) if c["id"].startswith("forget-")]
    return [done[a:b] for a, b in pairwise([0, *starts, len(done)])]


RANDOM = [name for name in BOOK if "seed" in BOOK[name].parameters]


@pytest.mark.nightly
@pytest.mark.parametrize("name", RANDOM)
def test_corners_run_to_the_end(tmp_path, installed, name):
    several = sets(BOOK[name])
    if name == "performance":  # it runs `benchmarks`, which stand beside the book
        installed = installed | {
            "PYTHONPATH": f"{installed['PYTHONPATH']}{os.pathsep}{ROOT}"
        }
    books = execute(BOOK[name].path, several, tmp_path, installed)
    for cells, parameters in zip(books, several, strict=True):
        assert all(c["execution_count"] for c in cells if c["cell_type"] == "code")
        outputs = [(c["id"], o) for c in cells for o in c.get("outputs", [])]
        records = [r for _, o in outputs for r in o.get("data", {}).get(MIME, [])]
        wrong = {r["id"]: r["verdict"] for r in records if r["verdict"] != UNTESTED}
        assert wrong == {}, parameters
        missing = {cell: shown(o) for cell, o in outputs if NAN.search(shown(o))}
        assert missing == {}, parameters
