"""Any allowed parameters run to the end, with verdicts untested and a number wherever one stands.

For every chapter, corners of the ranges in its parameters cell, in sets drawn with a fixed seed.
Costly parameters (repetitions, rounds, sizes) go to their low ends, the others to both.
"""

import json
import random
import re
import subprocess
import sys
from pathlib import Path

import pytest

from companion.report import rules
from companion.report.claims import MIME, UNTESTED
from tools.chapters import load
from tools.parameters import check

ROOT = Path(__file__).resolve().parent.parent
SETS = 3  # drawn for each chapter
# The values that every parameter but the seed is drawn from.
CORNERS = {
    "playing": {
        "n_reps": [4, 5],
        "T": [200, 333],
        "epsilon": [1e-3, 50.0],
        "delta": [1e-9, 0.99],
    },
    "mechanisms": {
        "epsilon": [1e-3, 1.0],
        "delta": [1e-12, 0.49],
        "copies": [1_000],
        "trials": [10_000],
        "batch": [2, 200],
    },
    "online_linucb": {
        "n_reps": [2, 3],
        "T": [200, 201],
        "K": [3, 6, 60],
        "d": [3, 12, 50],
        "epsilons": [[0.01], [10.0, 0.2], [0.5, 0.5], [1e3, 1.0, 1e-2]],
        "delta": [1e-12, 0.99],
        "tune_reps": [2],
        "horizons": [[200], [400, 200], [200, 200], [200, 300]],
        "rate_reps": [2, 3],
        "audit_trials": [1_000],
    },
    "fliphat": {
        "n_reps": [2, 3],
        "n_extra": [2, 3],
        "trials": [100],
        "T": [256, 511, 512],
        "T_scaling": [256, 300, 512],
        "T_long": [256, 511],
        "d": [30, 60],
        "K": [2, 40],
        "sparsity": [5, 30],
        "delta": [1e-9, 0.99],
        "epsilons": [[0.01], [10.0, 0.2], [0.5, 0.5], [1e3, 1.0, 1e-2]],
        "budgets": [[0.01], [10.0, 0.2], [0.5, 0.5], [1e3, 1.0, 1e-2]],
        "n_dimensions": [2, 3],
        "max_dimension": [60, 61],
        "max_sparsity": [20, 400],
        "max_arms": [4, 5],
    },
    "lplr": {
        "n_reps": [4, 5],
        "T": [10_000_000_000, 10_000_000_001],
        "epsilon": [1e-2, 10.0],
        "bandit_reps": [4],
        "instances": [4, 5],
        "audit_trials": [1_000],
        "test_users": [1_000],
        "test_trials": [20],
    },
}
HTML = re.compile(r"<(?:img|source|a)\b[^>]*>|<[^>]+>")


def sets(chapter):
    """SETS allowed sets of values: in each, every parameter has one of its corners."""
    rng = random.Random(1)
    deck = {name: rng.sample(values, len(values)) for name, values in CORNERS[chapter.name].items()}
    found = []
    for i in range(1_000):
        drawn = {
            name: values[(i + rng.randrange(2)) % len(values)] for name, values in deck.items()
        }
        drawn["seed"] = rng.randrange(2**32)
        if all(rules.holds(rule, drawn) for rule in chapter.rules):
            found.append({n: check(chapter.parameters[n], v) for n, v in drawn.items()})
        if len(found) == SETS:
            return found
    raise AssertionError(f"the rules of {chapter.name} refuse nearly all corners")


def shown(output):
    """What a reader sees of an output, without pictures."""
    data = output.get("data", {"text/plain": output.get("text", "")})
    said = data.get("text/html", data.get("text/markdown", data.get("text/plain", "")))
    spoken = [v for k, v in data.items() if k.endswith("record/text/plain")]
    return HTML.sub(" ", "".join(said)) + " ".join(map(str, spoken))


def run(path, parameters, target):
    """The notebook executed with these parameters, or how it failed."""
    job = {
        "source": str(path),
        "target": str(target),
        "cwd": str(path.parent),
        "parameters": parameters,
        "cell_timeout": 300,
    }
    command = [sys.executable, "-m", "tools.child", json.dumps(job)]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        said = [json.loads(line) for line in process.stdout]  # its standard input stays open
        process.wait(600)
    errors = [message["error"] for message in said if "error" in message]
    assert errors == [], (parameters, errors[0]["id"], errors[0]["traceback"][-1500:])
    assert process.returncode == 0, parameters
    return json.loads(target.read_text("utf8"))


CASES = [(name, i) for name in CORNERS for i in range(SETS)]


def test_corners_are_drawn_for_every_chapter():
    book = load(ROOT)
    assert set(CORNERS) == {n for n, c in book.items() if "seed" in c.parameters}
    for name, chapter in book.items():
        if name in CORNERS:
            assert set(CORNERS[name]) == set(chapter.parameters) - {"seed"}, name


@pytest.mark.slow
@pytest.mark.parametrize(("name", "i"), CASES)
def test_corners_run_to_the_end(tmp_path, name, i):
    chapter = load(ROOT)[name]
    parameters = sets(chapter)[i]
    book = run(chapter.path, parameters, tmp_path / "out.ipynb")
    outputs = [(c["id"], o) for c in book["cells"] for o in c.get("outputs", [])]
    records = [r for _, o in outputs for r in o.get("data", {}).get(MIME, [])]
    wrong = {r["id"]: r["verdict"] for r in records if r["verdict"] != UNTESTED}
    assert wrong == {}, parameters
    missing = {
        cell: shown(o) for cell, o in outputs if re.search(r"\bnan\b", shown(o), re.IGNORECASE)
    }
    assert missing == {}, parameters
