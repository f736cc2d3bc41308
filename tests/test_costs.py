"""What chapters cost: what a build says before it begins, and in which order they run."""

import json

import pytest
from tiny_book import build, executed, tiny

from tools import cache, chapters, costs


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A book of two chapters whose costs are known from a machine twice as fast."""
    root = tiny(tmp_path, one=["x = 1"], two=["y = 2", "z = 3"])
    kept = {"loop": 0.1, "paper": {"one": {"parameters": 1.0, "code-0": 300.0},
                                   "two": {"parameters": 1.0, "code-0": 3.0}}}  # fmt: skip
    (root / "book" / "costs.json").write_text(json.dumps(kept))
    monkeypatch.setattr(costs, "loop", lambda: 0.2)
    return root


def test_seconds_are_those_of_the_last_run_on_this_machine(project):
    found = costs.expected(project, "paper", chapters.load(project).values())
    assert found["one"] == {"parameters": 2.0, "code-0": 600.0}
    assert found["two"] == {"parameters": 2.0, "code-0": 6.0, "code-1": 4.0}  # new: as the others
    assert costs.said(found, 2) == "About 10 min"  # no less than the longest chapter
    assert costs.said({"two": found["two"]}, 2) == "About 12 s"


def test_a_chapter_that_never_ran_has_a_guess(project):
    found = costs.expected(project, "smoke", chapters.load(project).values())
    assert sum(found["two"].values()) == pytest.approx(2 * costs.UNKNOWN)


@pytest.mark.slow
def test_a_build_keeps_what_cells_took_and_begins_with_the_longest(tmp_path):
    burn = "import time\nwhile time.process_time() < 3: pass"
    root = tiny(tmp_path, one=["x = 1"], two=[burn])
    assert build(root, "--jobs", "1", "--keep-costs").returncode == 0
    cells = json.loads(executed(root, "two")[0].read_bytes())["metadata"][cache.RUN]["cells"]
    assert cells["code-0"] > 1.0 > cells["parameters"]
    kept = costs.read(root)["paper"]
    assert kept["two"]["code-0"] == pytest.approx(cells["code-0"], abs=0.006)
    again = build(root, "--jobs", "1", "--force")
    assert again.stdout.index("two") < again.stdout.index("one")
