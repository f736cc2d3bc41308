"""Kernels: compiled again when what they import changes, usable by a user's own kernels,
lazy."""

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
    "__init__": "from tiny import _stamps\n",
    **{
        name: (ROOT / f"{name}.py").read_text().replace("from companion", "from tiny")
        for name in ("_stamps", "_closure", "jit")
    },
    "constants": '"""Numbers."""\n\nFACTOR = 2.0\n',
    "callee": "from tiny.jit import jit\nfrom tiny.constants import FACTOR\n\n"
    "@jit\ndef f(x):\n    return FACTOR * x\n",
    "caller": "from tiny.jit import jit\nfrom tiny.callee import f\n\n@jit\ndef g(x):\n"
    '    """One more."""\n    return f(x) + 1\n',
    "aside": "from tiny.jit import jit\n\n@jit\ndef h(x):\n    return 5 * x\n",
}
ASK = (
    "from tiny.caller import g; from tiny.aside import h; print(g(10.0), h(1.0), "
    "sum(g.stats.cache_misses.values()), sum(h.stats.cache_misses.values()))"
)
EDITED = """
from pathlib import Path
from tiny.caller import g
path = Path("tiny/constants.py")
path.write_text(path.read_text().replace("2.0", "3.0"))
print(g(10.0))
"""
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
    env = {
        k: v
        for k, v in os.environ.items()
        if k not in ("NUMBA_CACHE_DIR", "NUMBA_DISABLE_JIT")
    }
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
    assert [path.name for path in package.data(["p.a"])] == [
        "claims.toml",
        "published.json",
    ]


def test_a_file_that_was_written_and_put_back_was_written(tmp_path):
    (path := tmp_path / "a.py").write_text("x = 1")
    package = Package(tmp_path)
    assert package.written([path]) == []
    path.write_text("x = 2")
    path.write_text("x = 1")
    assert package.written([path]) == [path]


@pytest.mark.parametrize("folder", ["src", "lib/site-packages"])
def test_only_a_source_tree_holds_its_kernels(folder, tmp_path, monkeypatch):
    (root := tmp_path / folder / "tiny").mkdir(parents=True)
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setattr(jit, "HOME", root)
    assert jit.cache_folder().is_relative_to(root) == (folder == "src")


def tiny(folder):
    """Write the small package into a folder."""
    (folder / "tiny").mkdir()
    for name, text in FILES.items():
        (folder / "tiny" / f"{name}.py").write_text(text)


def test_a_session_stores_nothing_under_the_name_of_sources_that_it_did_not_import(
    tmp_path,
):
    tiny(tmp_path)
    assert run(EDITED, tmp_path) == ["21.0"]
    assert run(ASK, tmp_path)[0] == "31.0"


def test_without_a_place_for_kernels_everything_runs_with_one_warning(tmp_path):
    tiny(tmp_path)
    (tmp_path / "file").touch()
    env = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "file" / "kernels")}
    env.pop("NUMBA_DISABLE_JIT", None)
    command = [sys.executable, "-W", "always", "-c", ASK]
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True)
    assert done.stdout.split()[:2] == ["21.0", "5.0"], done.stderr
    assert done.stderr.count("RuntimeWarning") == 1
    assert "set NUMBA_CACHE_DIR to a folder that can" in done.stderr


def no_home():
    raise RuntimeError("Could not determine home directory.")


def test_an_empty_variable_is_unset_and_a_user_may_have_no_home(tmp_path, monkeypatch):
    (root := tmp_path / "tiny").mkdir()
    monkeypatch.setattr(jit, "PACKAGE", Package(root))
    monkeypatch.setattr(jit, "HOME", root)
    monkeypatch.setenv("NUMBA_CACHE_DIR", "")
    assert jit.cache_folder() == root / "__pycache__" / "kernels"
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    monkeypatch.setattr(Path, "home", no_home)
    assert jit.cache_folder() is None
    monkeypatch.setattr(jit, "CACHE", None)
    jit.unstored_for.cache_clear()
    with pytest.warns(RuntimeWarning, match="set NUMBA_CACHE_DIR") as told:
        assert [jit.stored_name.__wrapped__(m) for m in ("tiny", "tiny.a")] == [
            None,
            None,
        ]
    assert len(told) == 1


@pytest.mark.parametrize("kept", [b"", b"\0" * 20, b"a text", None])
@pytest.mark.parametrize("which", ["*.nbi", "*.nbc"])
def test_a_file_that_is_cut_or_foreign_is_a_miss_and_is_written_again(
    tmp_path,
    which,
    kept,
):
    files = jit._Files(str(tmp_path), "kernel", "a digest")
    files.save("a key", ("machine", "code"))
    (path,) = tmp_path.glob(which)
    path.write_bytes(path.read_bytes()[:-3] if kept is None else kept)
    assert files.load("a key") is None
    files.save("a key", ("machine", "code"))
    assert files.load("a key") == ("machine", "code")


def test_what_an_edit_compiles(tmp_path):
    tiny(tmp_path)

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
