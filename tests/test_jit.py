"""Kernels: compiled again when what they import changes, usable by a user's own kernels, lazy."""

import os
import subprocess
import sys
from pathlib import Path

import numba
import numpy as np
import pytest

import companion
from companion import jit
from companion._closure import Package
from companion.kernels.linalg import dot

ROOT = Path(companion.__file__).parent
FILES = {
    "__init__": "",
    "_closure": (ROOT / "_closure.py").read_text(),
    "jit": (ROOT / "jit.py").read_text().replace("companion._closure", "tiny._closure"),
    "constants": '"""Numbers."""\n\nFACTOR = 2.0\n',
    "callee": "from tiny.jit import jit\nfrom tiny.constants import FACTOR\n\n"
    "@jit\ndef f(x):\n    return FACTOR * x\n",
    "caller": "from tiny.jit import jit\nfrom tiny.callee import f\n\n@jit\ndef g(x):\n"
    '    """One more."""\n    return f(x) + 1\n',
    "aside": "from tiny.jit import jit\n\n@jit\ndef h(x):\n    return 5 * x\n",
}
ASK = (
    "from tiny.caller import g; from tiny.aside import h; print(g(10.0), h(1.0),"
    " sum(g.stats.cache_misses.values()), sum(h.stats.cache_misses.values()))"
)
PLAY = """
import numpy as np
from companion import policies, jit
X, R = np.random.default_rng(0).random((60, 4, 3)) / 2, np.ones((60, 4)) / 2
arms, p = np.empty(60, np.int64), policies.example("linucb")
p.loop(p.params, p.init(p.params), X, R, np.random.default_rng(1), arms)
print(jit.LINKING, *arms)
"""
LAZY = """
import sys, time
begin = time.perf_counter()
import companion
print(time.perf_counter() - begin, "numba" in sys.modules)
"""


def run(program, cwd, **more):
    """The words that a program prints in a new process."""
    env = {k: v for k, v in os.environ.items() if k not in ("NUMBA_CACHE_DIR", "NUMBA_DISABLE_JIT")}
    command = [sys.executable, "-c", program]
    return subprocess.check_output(command, cwd=cwd, env=env | more, text=True).split()


def test_the_closure_reads_every_kind_of_import(tmp_path):
    root = tmp_path / "p"
    (root / "room").mkdir(parents=True)
    texts = {
        "__init__": "",
        "a": "import p.b as other\n",
        "b": "def f():\n    from p import c\n",
        "c": "from p.room import made, policy\n",
        "room/__init__": "from p.room.policy import made\n",
        "room/policy": "import os\n\nmade = 1\n",
        "d": "",
    }
    for name, text in texts.items():
        (root / f"{name}.py").write_text(text)
    for name in ("claims.toml", "published.json", "notes.md"):
        (root / "room" / name).touch()
    package = Package(root)
    assert package.closure(["p.a"]) == {"p.a", "p.b", "p.c", "p.room", "p.room.policy"}
    assert package.closure(["p.d", "os"]) == {"p.d"}
    assert [path.name for path in package.data(["p.a"])] == ["claims.toml", "published.json"]


@pytest.mark.parametrize("folder", ["src", "lib/site-packages"])
def test_only_a_source_tree_holds_its_kernels(folder, tmp_path, monkeypatch):
    (root := tmp_path / folder / "tiny").mkdir(parents=True)
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setattr(jit, "HOME", root)
    assert jit.cache_folder().is_relative_to(root) == (folder == "src")


def test_what_an_edit_compiles(tmp_path):
    (tmp_path / "tiny").mkdir()
    for name, text in FILES.items():
        (tmp_path / "tiny" / f"{name}.py").write_text(text)

    def found():
        """(g(10), h(1), kernels compiled of g's module, of h's)."""
        return tuple(map(float, run(ASK, tmp_path)))

    def edit(name, old, new):
        path = tmp_path / "tiny" / f"{name}.py"
        assert old in path.read_text()
        path.write_text(path.read_text().replace(old, new))

    assert found() == (21.0, 5.0, 1, 1)
    edit("caller", '"""One more."""', '"""One more, said\n\n    at length."""  # or so')
    edit("constants", "Numbers.", "Numbers, and what they are for.")
    assert found() == (21.0, 5.0, 0, 0)  # docstrings and comments: from the cache
    edit("callee", "FACTOR * x", "FACTOR * x + 1.0")  # a callee in another file
    assert found() == (22.0, 5.0, 1, 0)
    edit("constants", "2.0", "3.0")  # a constant two modules away
    assert found() == (32.0, 5.0, 1, 0)


@pytest.mark.slow
def test_plain_numba_plays_the_same_arms(tmp_path):
    linked, *arms = run(PLAY, ROOT.parent)
    plain, *same = run(PLAY, ROOT.parent, COMPANION_PLAIN_NUMBA="1")
    assert (linked, plain) == ("True", "False")
    assert arms == same
    assert len(arms) == 60


def test_importing_the_package_is_quick_and_compiles_nothing():
    seconds, numba_there = run(LAZY, ROOT.parent)
    assert float(seconds) < 0.2
    assert numba_there == "False"


@jit.jit
def twice(x):
    return 2.0 * dot(x, x)


@jit.jit
def thrice(x):
    return 3.0 * dot(x, x)


@numba.njit
def chosen(c, x):
    h = twice if c else thrice
    return h(x)


@pytest.mark.filterwarnings("ignore:First-class function")
@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="compiled functions only")
def test_kernels_are_first_class_functions():
    x = np.array([1.0, 2.0])
    assert (twice(x), thrice(x)) == (10.0, 15.0)  # a choice needs both compiled before
    assert (chosen(True, x), chosen(False, x)) == (10.0, 15.0)
