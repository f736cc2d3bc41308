"""A build that is killed at any moment, in a folder with a strange name, and finished later."""

import json
import os
import random
import signal
import subprocess
import time

import pytest
from tiny_book import PROJECT, build, command, tiny, with_site

from tools import cache

pytestmark = pytest.mark.nightly
MOMENTS = int(os.environ.get("KILLS", "3"))  # KILLS=20: as often as by hand
STRANGE = "Bücher und Bände, 第二"  # a folder with spaces and letters beyond ASCII


def project(folder):
    """A book of two chapters with a site."""
    folder.mkdir(parents=True)
    cells = ["total = sum(range(T))\nprint(total)", "import time\ntime.sleep(0.5)\nprint('end')"]
    return with_site(tiny(folder, one=cells, two=["print(delta)", "T + 1"]))


def made(root):
    """{name: bytes} of all that a build leaves, without the times in notebooks and results."""
    found = {}
    for path in sorted((root / "_build").rglob("*")):
        name = path.relative_to(root / "_build").as_posix()
        if not path.is_file() or path.suffix == ".log" or name == "lock":
            continue
        data = path.read_bytes()
        if name.startswith("executed/"):
            book = json.loads(data)
            book["metadata"].pop(cache.RUN)
            data = cache.dump(book)
        elif name == "results/times.json":
            times = json.loads(data)
            for chapter in times["chapters"]:
                chapter |= {"seconds": 0, "cpu_seconds": 0}
            data = cache.dump(times)
        found[name] = data
    return found


def killed(root, seconds):
    """Start a build and kill it after so many seconds; whether it was still running."""
    line, env = command(root, site=True), os.environ | {"PYTHONPATH": str(PROJECT)}
    process = subprocess.Popen(
        line, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=root
    )
    try:
        process.wait(seconds)
        return False
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
        process.wait(10)
        return True


def test_a_build_killed_anywhere_and_finished_is_the_undisturbed_one(tmp_path):
    quiet = project(tmp_path / STRANGE)
    began = time.monotonic()
    done = build(quiet, site=True)
    took = time.monotonic() - began
    assert done.returncode == 0, done.stderr
    wanted, hit = made(quiet), 0
    assert any(name.endswith("two.html") for name in wanted)
    rng = random.Random(25)
    for i in range(MOMENTS):  # one moment in each part of the build
        if i % 3 == 0:  # 20 kills of one build would all come late
            root = tmp_path / f"plain-{i}"
            project(root)
        hit += killed(root, took * (i % 3 + rng.random()) / 3)
        if i % 3 == 2 or i == MOMENTS - 1:
            done = build(root, site=True)
            assert done.returncode == 0, done.stderr
            found = made(root)
            assert found.keys() == wanted.keys()
            assert [n for n in wanted if found[n] != wanted[n]] == []
    assert hit >= MOMENTS / 3
    assert str(tmp_path) not in str(wanted)
