"""The installed package is enough: chapters run from a wheel, in an empty folder, without Sphinx.

The wheel is built without network, from a copy.  Dependencies come from this environment, but
`companion` from the unpacked wheel alone, and MyST-NB cannot be imported.
"""

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from numba.core.caching import UserProvidedCacheLocator

from companion import _jit
from tools.chapters import load, scales

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parent.parent
CHAPTERS = load(ROOT)


def run(*command, **options):
    done = subprocess.run(
        [sys.executable, *map(str, command)], capture_output=True, text=True, timeout=600, **options
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel, built from a copy of the sources."""
    base = tmp_path_factory.mktemp("wheel")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        (base / "src").mkdir(exist_ok=True)
        shutil.copy2(ROOT / name, base / "src" / name)
    skip = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "companion", base / "src" / "companion", ignore=skip)
    run("-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", base, base / "src")
    (built,) = base.glob("*.whl")
    return built


def carry_kernels(site):
    """Copy what is compiled for the same sources here, so that the wheel's need not be compiled.

    Numba names the folder of a module's kernels by the module's path; inside, content alone counts.
    """
    place = UserProvidedCacheLocator.get_suitable_cache_subpath
    unfinished = shutil.ignore_patterns("*.tmp.*")
    for folder in {p.parent.relative_to(ROOT) for p in (ROOT / "companion").rglob("*.py")}:
        here = Path(_jit.CACHE) / place(ROOT / folder / "module.py")
        there = site / "cache" / Path(_jit.CACHE).name / place(site / folder / "module.py")
        if here.exists():
            shutil.copytree(here, there, ignore=unfinished)


@pytest.fixture(scope="module")
def installed(wheel):
    """Environment variables under which `companion` is the wheel's and there is no MyST-NB."""
    site = wheel.parent / "site"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    carry_kernels(site)
    (site / "myst_nb.py").write_text('raise ImportError("a chapter asked for MyST-NB")\n')
    variables = {"PYTHONPATH": str(site), "NUMBA_CACHE_DIR": str(site / "cache")}
    return {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | variables


def test_the_wheel_holds_code_and_published_numbers_and_nothing_else(wheel):
    files = {p.relative_to(ROOT).as_posix() for p in (ROOT / "companion").rglob("*.py")}
    for kind in ("*.json", "*.toml"):
        files |= {p.relative_to(ROOT).as_posix() for p in (ROOT / "companion").rglob(kind)}
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert held == files
    assert "companion/fliphat/published.json" in held


def test_the_package_comes_from_the_wheel(installed, tmp_path, wheel):
    said = run("-c", "import companion; print(companion.__file__)", cwd=tmp_path, env=installed)
    assert Path(said.strip()).is_relative_to(wheel.parent / "site")


@pytest.mark.parametrize("name", CHAPTERS)
def test_every_chapter_runs_under_papermill_in_an_empty_folder(name, installed, tmp_path):
    empty, out = tmp_path / "empty", tmp_path / "out.ipynb"
    empty.mkdir()
    values = json.dumps(scales(ROOT)["smoke"].get(name, {}))
    source = ROOT / "book" / f"{name}.ipynb"
    command = ["-m", "papermill", source, out, "-y", values, "--cwd", empty, "--no-progress-bar"]
    run(*command, cwd=empty, env=installed)
    cells = json.loads(out.read_text("utf8"))["cells"]
    assert all(c["execution_count"] for c in cells if c["cell_type"] == "code")
    assert list(empty.iterdir()) == []
