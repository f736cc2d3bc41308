"""`companion` as a wheel: built without network from a copy, unpacked, with compiled kernels."""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

from numba.core.caching import UserProvidedCacheLocator

from companion import _jit

ROOT = Path(__file__).resolve().parent.parent


def run(*command, **options):
    """What a new Python says when it is run with these arguments."""
    done = subprocess.run(
        [sys.executable, *map(str, command)], capture_output=True, text=True, timeout=600, **options
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    return done.stdout


def build(base):
    """The wheel, built in the folder base from a copy of the sources."""
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


def unpack(wheel):
    """Environment variables under which `companion` is the wheel's and there is no MyST-NB."""
    site = wheel.parent / "site"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    carry_kernels(site)
    (site / "myst_nb.py").write_text('raise ImportError("a chapter asked for MyST-NB")\n')
    variables = {"PYTHONPATH": str(site), "NUMBA_CACHE_DIR": str(site / "cache")}
    return {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | variables
