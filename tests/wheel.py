"""`companion` as a wheel: built without network from a copy, unpacked.

Kernels are known by content, so the wheel takes those that are compiled for the same
sources here (NUMBA_CACHE_DIR, set in conftest.py).
"""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ABOUT = (
    "pyproject.toml",
    "README.md",
    "LICENSE",
    "CHANGELOG.md",
    "CITATION.cff",
    "MANIFEST.in",
)


def run(*command, **options):
    """What a new Python says when it is run with these arguments."""
    done = subprocess.run(
        [sys.executable, *map(str, command)],
        capture_output=True,
        text=True,
        timeout=600,
        **options,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    return done.stdout


def build(base):
    """The wheel, built in the folder base from a copy of the sources."""
    for name in ABOUT:
        (base / "src").mkdir(exist_ok=True)
        shutil.copy2(ROOT / name, base / "src" / name)
    skip = shutil.ignore_patterns("__pycache__")
    for package in ("companion", "evidence"):
        shutil.copytree(ROOT / package, base / "src" / package, ignore=skip)
    run(
        "-m",
        "pip",
        "wheel",
        "-q",
        "--no-deps",
        "--no-build-isolation",
        "-w",
        base,
        base / "src",
    )
    (built,) = base.glob("*.whl")
    return built


def unpack(wheel):
    """Environment variables under which `companion` is the wheel's and there is no
    MyST-NB."""
    site = wheel.parent / "site"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    (site / "myst_nb.py").write_text('raise ImportError("a chapter asked for MyST-NB")\n')
    return os.environ | {"PYTHONPATH": str(site)}
