"""The name of an execution changes with all that its result depends on, and with nothing
else."""

import os

import pytest
from tiny_book import cell, notebook

from tools import cache, chapters

PINNED = "# made by a program\nnumpy==2.0.0\nscipy==1.14.0\n"


def environment(root, text):
    """The digest of what every chapter depends on, with these requirements."""
    (root / "requirements.txt").write_text(text)
    return cache.environment(root)


def test_versions_of_packages_are_part_of_the_environment_and_comments_are_not(tmp_path):
    first = environment(tmp_path, PINNED)
    assert (
        environment(tmp_path, PINNED.replace("scipy==1.14.0", "scipy==1.14.1")) != first
    )
    assert environment(tmp_path, PINNED.replace("a program", "another")) == first


@pytest.mark.parametrize("place", [0, 1, 2])
def test_the_version_of_python_is_part_of_the_environment(tmp_path, monkeypatch, place):
    first = environment(tmp_path, PINNED)
    version = list(cache.sys.version_info[:3])
    version[place] += 1
    monkeypatch.setattr(cache.sys, "version_info", (*version, "final", 0))
    assert environment(tmp_path, PINNED) != first


def test_the_latest_executions_are_kept(tmp_path):
    folder = tmp_path / "executed" / "one"
    folder.mkdir(parents=True)
    for age in range(cache.KEPT + 2):
        path = folder / f"{age}.ipynb"
        path.write_text("{}")
        os.utime(path, (1_000 - age, 1_000 - age))
    (folder / "x.ipynb.7.part").write_text("")
    cache.prune(tmp_path, "one")
    assert sorted(p.name for p in folder.iterdir()) == [
        "0.ipynb",
        "1.ipynb",
        "2.ipynb",
        "3.ipynb",
    ]


def test_a_file_is_taken_for_an_execution_only_with_its_whole_key(tmp_path):
    """The name of a file has twenty letters of the key alone."""
    run_key = 64 * "a"
    done = cache.seal({"cells": [cell(1)], "metadata": {}}, run_key, 1.0, 1.0)
    cache.put(cache.place(tmp_path, "one", run_key), cache.dump(done))
    assert cache.get(tmp_path, "one", run_key) == done
    assert cache.get(tmp_path, "one", 20 * "a" + 44 * "b") is None


def test_outputs_of_an_execution_stand_below_their_cells_as_they_are_now(tmp_path):
    """Cells: the title, the parameters, those that were injected, two of code."""
    path = notebook(tmp_path / "one.ipynb", "x = 1", "y = 1")
    ran = chapters.read(path).notebook
    ran["cells"].insert(2, cell(2))
    ran["cells"][2]["metadata"]["tags"] = ["injected-parameters"]
    for count, done in enumerate(ran["cells"]):
        done["outputs"] = count
    chapter = chapters.read(path)
    chapters.tags(chapter.notebook["cells"][1]).append("remove-cell")
    shown = cache.refreshed(ran, chapter)["cells"]
    assert [c.get("outputs") for c in shown] == [None, 1, 2, 3, 4]
    assert chapters.tags(shown[2]) == ["injected-parameters", "remove-cell"]
