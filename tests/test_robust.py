"""A build that is killed, has no room, may not write or stands in a strange folder."""

import json
import os
import random
import shutil
import signal
import subprocess
import time
from contextlib import contextmanager

import pytest
from tiny_book import PROJECT, build, command, tiny, with_site

from tools import cache

pytestmark = pytest.mark.slow
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


def site(root):
    """{name: bytes} of the site."""
    folder = root / "_build" / "html"
    paths = [p for p in folder.rglob("*") if p.is_file()]
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in paths}


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


@contextmanager
def mounted(folder, *options):
    """A file system mounted at a folder; without the right to mount, the test is skipped."""
    done = subprocess.run(["mount", *options, str(folder)], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"mounting is not allowed here: {done.stderr.strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def fill(folder, left):
    """Leave so many bytes of room on the file system of a folder."""
    with (folder / "filler").open("wb") as stream:
        room = shutil.disk_usage(folder).free - left
        while room > 0:
            room -= stream.write(bytes(min(room, 2**20)))


def said_in_a_line(done, words):
    lines = done.stderr.strip().splitlines()
    assert done.returncode in (1, 2), done.stderr
    assert len(lines) == 1, done.stderr
    assert words in lines[0]
    assert "Traceback" not in done.stderr + done.stdout


def test_a_full_disk_is_named_in_a_line_and_leaves_the_old_site(tmp_path):
    root = project(tmp_path / "p")
    (root / "_build").mkdir()
    with mounted(root / "_build", "-t", "tmpfs", "-o", "size=64m", "tmpfs"):
        assert build(root, site=True).returncode == 0
        old = site(root)
        path = root / "book" / "one.ipynb"
        path.write_text(path.read_text().replace("sum(range(T))", "T ** 2"))
        for left in (0, 2**20):  # no room for a chapter, for the site
            fill(root / "_build", left)
            said_in_a_line(build(root, site=True), "No space left on device")
            assert site(root) == old
            (root / "_build" / "filler").unlink()
        assert build(root, site=True).returncode == 0
        assert "250000" in site(root)["book/one.html"].decode()


def test_a_checkout_that_may_not_be_written_says_so(tmp_path):
    root = project(tmp_path / "p")
    with mounted(root, "--bind", str(root)):
        done = subprocess.run(["mount", "-o", "remount,ro,bind", str(root)], capture_output=True)
        assert done.returncode == 0
        said_in_a_line(build(root, site=True), "Read-only file system")
        assert not (root / "_build").exists()
