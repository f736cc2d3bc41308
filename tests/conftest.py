"""Fixtures that several files share."""

import fcntl
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import wheel as wheels

from companion.jit import CACHE
from companion.policies import linucb
from tools import site

# copies of the package compile no kernel again
os.environ["NUMBA_CACHE_DIR"] = str(CACHE)
ROOT = Path(__file__).resolve().parent.parent
COPIED = ["_config.yml", "_toc.yml", "requirements.txt", "pyproject.toml", *site.FRONT]


def pytest_configure(config):
    """Groups of tests run in the order below, not by how many tests they have."""
    config.option.loadscopereorder = False


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Tests of one file about one algorithm or setting run in one process: two that
    compile the same kernel at once both compile it.  Those of the site come first, for
    they take longest, then the other slow ones, so that all processes end at about the
    same time.  Tests of one turn are in the order of their names: values of a test that
    come out of a set have another in every process.
    """
    for item in items:
        if item.get_closest_marker("xdist_group") is None:
            item.add_marker(pytest.mark.xdist_group(_place(item)))
    turns = {}
    for item in items:
        turns[_group(item)] = min(_turn(item), turns.get(_group(item), (True, True)))
    items.sort(key=lambda item: (turns[_group(item)], item.nodeid))


def _group(item):
    """Where a test runs: one process for all of a group."""
    return item.get_closest_marker("xdist_group").args[0]


def _turn(item):
    """What comes first is less: tests of the site, then slow ones."""
    names = getattr(item, "fixturenames", ())
    return "smoke_site" not in names, item.get_closest_marker("slow") is None


def _place(item):
    """The file of a test; of one about all algorithms, the algorithm as well."""
    values = getattr(getattr(item, "callspec", None), "params", {})
    about = [
        values[name] for name in ("module", "name") if isinstance(values.get(name), str)
    ]
    return " ".join([item.nodeid.split("::")[0], *about[:1]])


@pytest.fixture(scope="session")
def shared(tmp_path_factory, worker_id):
    """One folder for all workers."""
    base = tmp_path_factory.getbasetemp()
    return base if worker_id == "master" else base.parent


@pytest.fixture(scope="session")
def smoke_site(shared):
    """The site built once per test session at smoke scale, from a copy: its folder.

    BUILD=_build takes the build that is there instead, such as one at the papers' scale.
    """
    if "BUILD" in os.environ:
        return Path(os.environ["BUILD"]).resolve() / "html"
    root = shared / "book-copy"
    log = shared / "book-copy.log"
    with (shared / "book-copy.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not root.exists():
            root.mkdir()
            for name in COPIED:
                shutil.copy2(ROOT / name, root / name)
            skip = shutil.ignore_patterns("__pycache__", ".ipynb_checkpoints")
            for name in ("book", "companion", "evidence", "tools"):
                shutil.copytree(ROOT / name, root / name, ignore=skip)
            command = [
                sys.executable,
                "-m",
                "tools.build",
                "--root",
                root,
                "--scale",
                "smoke",
            ]
            with log.open("w") as stream:
                code = subprocess.call(
                    command,
                    stdout=stream,
                    stderr=subprocess.STDOUT,
                    cwd=ROOT,
                )
            (root / "exit-code").write_text(str(code))
    code = (root / "exit-code").read_text()
    assert code == "0", log.read_text("utf8", "replace")[-8000:]
    return root / "_build" / "html"


@pytest.fixture
def rng():
    """The same random numbers for every test."""
    return np.random.default_rng(0)


@pytest.fixture
def live():
    """A run of LinUCB in three dimensions."""
    return linucb(3).start(0)


@pytest.fixture(scope="session")
def wheel(tmp_path_factory):
    """The package as a wheel."""
    return wheels.build(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="session")
def installed(wheel):
    """Environment variables under which `companion` is the wheel's and there is no
    MyST-NB."""
    return wheels.unpack(wheel)
