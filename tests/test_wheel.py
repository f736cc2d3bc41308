"""The installed package is enough: code, published numbers, claims, and nothing else.

Dependencies come from this environment, but `companion` from the unpacked wheel alone.
Chapters run on it, in an empty folder, here and in `test_parameter_ranges.py`.
"""

import json
import zipfile

import pytest
from wheel import ROOT, run

from tools.chapters import code, load, scales

pytestmark = pytest.mark.slow
# chapters without parameters
WITHOUT = sorted(load(ROOT).keys() - scales(ROOT)["smoke"].keys())


def test_the_wheel_holds_the_package_and_nothing_else(wheel):
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}
    kinds = ("*.py", "*.json", "*.toml", "*.txt", "*.html", "py.typed")
    packages = (ROOT / "companion", ROOT / "evidence")
    files = (p for package in packages for kind in kinds for p in package.rglob(kind))
    assert held == {
        p.relative_to(ROOT).as_posix() for p in files if "__pycache__" not in p.parts
    }


@pytest.mark.parametrize("name", ["playing", *WITHOUT])
def test_chapters_run_under_papermill_in_an_empty_folder(name, installed, tmp_path):
    """One of those with parameters, and all without."""
    empty = tmp_path / "empty"
    out = tmp_path / "out.ipynb"
    empty.mkdir()
    values = json.dumps(scales(ROOT)["smoke"].get(name, {}))
    source = ROOT / "book" / f"{name}.ipynb"
    command = [
        "-m",
        "papermill",
        source,
        out,
        "-y",
        values,
        "--cwd",
        empty,
        "--no-progress-bar",
    ]
    run(*command, cwd=empty, env=installed)
    done = code(json.loads(out.read_text("utf8")))
    assert all(c["execution_count"] for c in done)
    assert list(empty.iterdir()) == []
