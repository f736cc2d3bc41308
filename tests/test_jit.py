"""The disk cache: used when nothing changed, never stale when a callee in another file did."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import companion._jit

CALLEE = "from tiny._jit import jit\n@jit\ndef f(x):\n    return {} * x\n"
CALLER = (
    "from tiny._jit import jit\nfrom tiny.callee import f\n@jit\ndef g(x):\n    return f(x) + 1\n"
)
PRINT = (
    "from tiny.caller import g; print(g(10.0), sum(g.stats.cache_hits.values()),"
    " sum(g.stats.cache_misses.values()))"
)


@pytest.fixture
def package(tmp_path):
    """A package of two modules that uses our decorator; call it to run g(10.0) in a new process."""
    root = tmp_path / "tiny"
    root.mkdir()
    (root / "__init__.py").touch()
    shutil.copy(companion._jit.__file__, root / "_jit.py")
    (root / "caller.py").write_text(CALLER)
    (root / "callee.py").write_text(CALLEE.format(2))
    env = {k: v for k, v in os.environ.items() if not k.startswith("NUMBA")}

    def ask(**more):
        command = [sys.executable, "-c", PRINT]
        run = subprocess.run(
            command, cwd=tmp_path, env=env | more, capture_output=True, text=True, check=True
        )
        value, hits, misses = run.stdout.split()
        return float(value), int(hits), int(misses)

    ask.root = root
    return ask


def test_an_edited_callee_in_another_file_is_seen(package):
    assert package() == (21.0, 0, 1)
    assert package() == (21.0, 1, 0)  # unchanged: from the cache
    (package.root / "callee.py").write_text(CALLEE.format(3))
    assert package() == (31.0, 0, 1)


def test_numba_cache_dir_is_respected(package, tmp_path):
    assert package(NUMBA_CACHE_DIR=str(tmp_path / "elsewhere"))[0] == 21.0
    assert list((tmp_path / "elsewhere").rglob("*.nbi"))
    assert not list(package.root.rglob("*.nbi"))


def test_options_are_the_house_options():
    kernel = companion._jit.jit(lambda x: x)
    assert kernel.targetoptions["nogil"]
    assert kernel.targetoptions["error_model"] == "numpy"
    assert not kernel.targetoptions.get("fastmath")
    assert Path(companion._jit.CACHE).name == companion._jit._digest(companion._jit._PACKAGE)
