"""The runner: what is whole is used again, what is not is executed, failures name their
place."""

import errno
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from jupyter_client.kernelspec import KernelSpecManager
from tiny_book import PROJECT, asked, build, cell, command, executed, notebook, tiny

from tools import build as runner
from tools import cache, chapters, pdf
from tools import execute as runner_of_chapters
from tools.errors import Failure, Refusal


def counting(root):
    """Source of a cell that leaves a trace of each execution."""
    return f"open({str(root / 'ran')!r}, 'a').write('x')"


def runs(root):
    path = root / "ran"
    return len(path.read_text()) if path.exists() else 0


def without_kernel(monkeypatch, during):
    """Notebooks are executed without a kernel: `during` happens while one runs, and gets
    what papermill is told."""

    def start(command, source, part, *more, log, **variables):
        during(source.stem, *more)
        book = json.loads(source.read_text())
        for one in chapters.code(book):
            one |= {"execution_count": 1, "outputs": []}
        part.write_text(json.dumps(book))

    monkeypatch.setattr(runner_of_chapters, "start", start)
    monkeypatch.setattr(runner_of_chapters, "finish", lambda process: (0, "0.1"))


@pytest.mark.parametrize(
    ("what", "named"),
    [
        ("a module", "room.py"),
        ("its data", "published.json"),
        ("the notebook", "one.ipynb"),
        ("prose", ""),
        ("another", ""),
    ],
)
def test_a_result_is_kept_only_if_what_it_depends_on_was_not_written_to(
    tmp_path,
    monkeypatch,
    what,
    named,
):
    root = tiny(tmp_path, one=["if 0:\n    from companion.a import room"])
    book = root / "book" / "one.ipynb"
    room = root / "companion" / "a" / "room.py"
    room.parent.mkdir()
    for name in ("__init__.py", "room.py", "published.json"):
        room.with_name(name).write_text("1")

    def written_and_put_back(path):
        text = path.read_text()
        path.write_text("2")
        path.write_text(text)

    def during(*told):
        if what in ("a module", "its data"):
            written_and_put_back(room.with_name(named))
        elif what == "another":
            (room.parent / "other.py").touch()
        else:
            old = "A chapter" if what == "prose" else "if 0"
            book.write_text(book.read_text().replace(old, "if 1"))

    without_kernel(monkeypatch, during)
    done = asked(root)
    assert done.returncode == bool(named)
    assert len(executed(root, "one")) == (not named)
    if named:
        assert "ran while this was written to, so its result is not kept" in done.stderr
        assert f"{named}. Say the same again." in done.stderr


def test_the_scoreboard_is_kept_only_if_its_records_were_not_written_to(
    tmp_path,
    monkeypatch,
):
    root = tiny(tmp_path, one=["1"], scoreboard=["records"])
    cell = 'records = ""  # where the claims are; text'
    notebook(root / "book" / "scoreboard.ipynb", "records", parameters=cell)
    records = root / "_build" / "results" / "claims.json"

    def during(*told):
        if records.exists():
            records.write_text(records.read_text())

    without_kernel(monkeypatch, during)
    done = asked(root)
    assert done.returncode == 1
    assert "scoreboard ran while this was written to" in done.stderr
    assert len(executed(root, "one")) == 1


def test_chapters_get_what_was_asked_for_and_run_again_if_something_changed(
    tmp_path,
    monkeypatch,
):
    """The slowest one of the run before begins; the lock compares what is shown, below
    what the site says first."""
    cells = ["if 0:\n    from companion.a import room", "print(T, delta)"]
    root = tiny(tmp_path, one=cells, two=["1"], scoreboard=["1"])
    cell = 'records = ""  # where the claims are; text'
    notebook(root / "book" / "scoreboard.ipynb", "1", parameters=cell)
    (root / "book" / "scales.yml").write_text("smoke: {one: {T: 200, delta: 1.0e-6}}")
    package = root / "companion"
    for folder in ("a", "b"):
        (package / folder).mkdir()
        (package / folder / "__init__.py").touch()
        (package / folder / "room.py").write_text('"""A room."""\nx = 1\n')
    (package / "a" / "published.json").write_text("1")
    times = [{"chapter": "one", "seconds": 1.0}, {"chapter": "two", "seconds": 9.0}]
    path = root / "_build" / "results" / "times.json"
    cache.put(path, cache.dump({"chapters": times}))
    ran = []
    compared = []
    claim = {"id": 0}
    without_kernel(monkeypatch, lambda *told: ran.append(told))
    monkeypatch.setattr(runner.results, "claims", lambda name, book: [claim])
    monkeypatch.setattr(
        runner.lock, "check", lambda root, records, numbers: compared.append(numbers)
    )
    monkeypatch.setattr(runner.errata, "check", lambda *told: compared.append("errata"))

    def site(root, build, notebooks, note, url):
        compared.append(note.partition(":")[0])
        return root

    monkeypatch.setattr(runner.site, "build", site)
    given = ["--root", str(root), "--jobs", "1", "--cell-timeout", "9"]

    def after(*options):
        """{chapter: its parameters} of those that run, in their order."""
        ran.clear()
        compared.clear()
        assert runner.main([*given, *options]) == 0
        assert all(told[1:3] == ("--cwd", root / "book") for told in ran)
        assert all(told[7:9] == ("--execution-timeout", 9) for told in ran)
        return {told[0]: told[6].strip() for told in ran}

    def edited(file, text):
        (package / file).write_text(text)
        return sorted(after())

    board = {"scoreboard": "records: ../_build/results/claims.json"}
    found = after()
    assert found == {"two": "{}", "one": "{}"} | board
    assert list(found) == ["two", "one", "scoreboard"]
    assert compared == ["", True, "errata"]
    shown = json.loads(path.read_text())["chapters"][0]
    assert (shown["title"], shown["cpu_seconds"]) == ("A chapter", 0.1)
    assert after("--scale", "smoke") == {"one": "T: 200\ndelta: 1.0e-06"}
    assert compared == ["Built at smoke scale", False]
    changed = ("-p", "T", "200")
    assert after("--only", "two", *changed) == {"two": "T: 200"}
    assert compared == ["Built at paper scale with T = 200 in two"]
    assert after("--only", "one", *changed, "--no-site") == {"one": "T: 200"}
    assert compared == []
    assert after("-p", "T", "500") == {}  # the committed value: the same result
    assert compared == ["Built at paper scale with T = 500"]
    claim["id"] = 1
    assert after() == board
    room = "from companion import ground\n"
    assert edited("a/room.py", room) == ["one"]
    assert edited("a/room.py", f'"""A room, described."""\n# at length\n{room}') == []
    assert edited("b/room.py", "x = 2\n") == []
    assert edited("b/published.json", "2") == []
    assert edited("a/published.json", "2") == ["one"]
    assert edited("ground.py", "y = 1\n") == ["one"]
    assert edited("../requirements.txt", "numpy==2\n") == ["one", "scoreboard", "two"]
    assert len(after("--force")) == 3
    two = root / "book" / "two.ipynb"
    notebook(two, "1", title="Another title")
    assert after() == {}
    notebook(two, "2")
    assert after() == {"two": "{}"}


def test_kernels_are_this_python_without_the_settings_of_the_reader(
    tmp_path,
    monkeypatch,
):
    other = tmp_path / "other" / "kernels" / "python3"
    other.mkdir(parents=True)
    told = {"argv": ["/no/python"], "display_name": "", "language": "python"}
    (other / "kernel.json").write_text(json.dumps(told))
    theirs = {
        "JUPYTER_PATH": str(tmp_path / "other"),
        "JUPYTER_PREFER_ENV_PATH": "0",
        "IPYTHONDIR": str(tmp_path),
        "PYTHONPATH": str(tmp_path),
        "PYTHONSTARTUP": str(tmp_path / "start.py"),
        "PYTHONOPTIMIZE": "2",
        "MPLBACKEND": "agg",
        "MATPLOTLIBRC": str(tmp_path),
        "MPLCONFIGDIR": str(tmp_path),
    }
    for name, value in theirs.items():
        monkeypatch.setenv(name, value)
    assert KernelSpecManager().get_kernel_spec("python3").argv == ["/no/python"]
    variables = runner_of_chapters.surroundings() | runner_of_chapters.kernels(
        tmp_path / "build"
    )
    assert not theirs.items() & variables.items()
    assert Path(variables["MPLCONFIGDIR"]).parents[1] == tmp_path / "build"
    assert variables["PYTHONPATH"] == str(PROJECT)
    for name in theirs:
        monkeypatch.delenv(name)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert KernelSpecManager().get_kernel_spec("python3").argv[0] == sys.executable


@pytest.mark.parametrize("tool", [runner, pdf])
def test_help_needs_no_docstrings(tool, monkeypatch, capsys):
    monkeypatch.setattr(tool, "__doc__", None)  # as under `python -OO`
    with pytest.raises(SystemExit) as ended:
        tool.main(["--help"])
    assert ended.value.code == 0
    assert "usage" in capsys.readouterr().out


@pytest.mark.slow
def test_failure_names_chapter_and_cell_and_keeps_the_others(tmp_path):
    root = tiny(tmp_path, one=[counting(tmp_path)], two=["y = 2", "# the reason\n1 / 0"])
    done = build(root)
    assert done.returncode == 1
    assert 'two failed. Exception encountered at "In [3]":' in done.stderr
    assert "ZeroDivisionError: division by zero" in done.stderr
    assert "\x1b" not in done.stderr
    assert executed(root, "two") == []
    build(root)
    assert runs(root) == 1


def wait_for(condition):
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.slow
@pytest.mark.parametrize("stop", [signal.SIGKILL, signal.SIGINT])
def test_interrupted_run_ends_its_kernels_and_resumes_where_it_stopped(tmp_path, stop):
    slow = (
        f"import os, time\nopen({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid()))\n"
        f"os.path.exists({str(tmp_path / 'go')!r}) or time.sleep(120)"
    )
    root = tiny(tmp_path, one=[counting(tmp_path)], two=["z = 3", slow])
    pid = tmp_path / "pid"
    process = subprocess.Popen(
        command(root, "--jobs", "1"),
        env=os.environ | {"PYTHONPATH": str(PROJECT)},
        stderr=subprocess.DEVNULL,
        # Shells start what runs in the background with Ctrl-C ignored, and children
        # inherit it.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    wait_for(lambda: pid.exists() and pid.read_text())
    second = build(root)
    assert second.returncode == 2
    assert "another run is working" in second.stderr
    process.send_signal(stop)
    assert process.wait(30) == (-stop if stop == signal.SIGKILL else 130)
    wait_for(lambda: not alive(int(pid.read_text())))
    assert executed(root, "two") == []
    (root / "go").touch()
    done = build(root)
    assert done.returncode == 0, done.stderr
    assert "already whole: one" in done.stdout
    assert runs(root) == 1
    assert len(executed(root, "two")) == 1
    assert list(root.rglob("*.part")) == []


def no_locks(*told):
    raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))


def test_a_second_run_is_kept_out_under_any_path_and_no_locks_are_said(
    tmp_path, monkeypatch, capsys
):
    build = tmp_path / "_build"
    link = tmp_path / "link"
    link.symlink_to(build)
    refused = pytest.raises(Refusal, match="another run is working")
    with runner.alone(build), refused, runner.alone(link):
        pass
    monkeypatch.setattr(runner.fcntl, "flock", no_locks)
    with runner.alone(build):
        pass
    assert "has no locks" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (OSError(errno.ENOSPC, "no room"), "no room"),
        (Failure("a log with: No space left on device"), "make room and say the same"),
        (PermissionError(errno.EACCES, "denied", "_build"), "_build cannot be written"),
        (OSError(errno.EROFS, "read-only", "_build"), "_build cannot be written"),
    ],
)
def test_a_machine_that_cannot_write_is_said_in_one_line(error, said):
    assert said in runner.plainly(error)
    assert "\n" not in runner.plainly(error)


@pytest.mark.parametrize("kind", ["cut", "not executed", "error", "no key"])
def test_what_is_not_whole_is_not_taken_for_a_result(tmp_path, kind):
    one = cell(1, "stream")
    cells = [cell(2, "display_data"), one, cell(3)]
    book = cache.seal({"metadata": {}, "cells": cells}, "a key", 1.0, 1.0)
    path = cache.place(tmp_path, "one", "a key")
    cache.put(path, cache.dump(book))
    assert cache.get(tmp_path, "one", "a key") == book
    assert cache.get(tmp_path, "one", "another") is None
    if kind == "not executed":
        one["execution_count"] = None
    if kind == "error":
        one["outputs"].append({"output_type": "error"})
    if kind == "no key":
        del book["metadata"][cache.RUN]
    data = json.dumps(book).encode()
    path.write_bytes(data[: len(data) // 2 if kind == "cut" else None])
    assert cache.get(tmp_path, "one", "a key") is None
