"""The runner: what is whole is used again, what is not is executed, failures name their place."""

import json
import os
import signal
import subprocess
import time

import pytest
from tiny_book import CLAIM, PROJECT, asked, build, command, executed, notebook, show, tiny

from tools import cache, chapters, results
from tools.errors import Failure


def counting(root):
    """Source of a cell that leaves a trace of each execution."""
    return f"open({str(root / 'ran')!r}, 'a').write('x')"


def runs(root):
    path = root / "ran"
    return len(path.read_text()) if path.exists() else 0


@pytest.mark.slow
def test_second_run_executes_nothing_and_each_cause_does(tmp_path):
    root = tiny(tmp_path, one=[counting(tmp_path), "print(T, delta)"])
    (root / "book" / "scales.yml").write_text("smoke: {one: {T: 200, delta: 1e-6}}")
    first = asked(root)
    assert first.returncode == 0, first.stderr
    assert asked(root).returncode == 0
    assert runs(root) == 1
    assert asked(root, "-p", "T", "500").returncode == 0  # the committed value: the same result
    assert runs(root) == 1
    assert asked(root, "--scale", "smoke").returncode == 0
    assert runs(root) == 2
    shown = executed(root, "one")[-1].read_text()
    assert "200 1e-06" in shown
    assert "papermill" not in shown
    assert asked(root).returncode == 0  # back at the first parameters: still in the cache
    assert runs(root) == 2
    assert asked(root, "--force").returncode == 0
    assert runs(root) == 3


@pytest.mark.slow
def test_an_edit_executes_what_it_touches(tmp_path):
    root = tiny(tmp_path, one=["if 0:\n    from companion.a import room", counting(tmp_path)])
    package = root / "companion"
    for folder in ("a", "b"):
        (package / folder).mkdir()
        (package / folder / "__init__.py").touch()
        (package / folder / "room.py").write_text('"""A room."""\nx = 1\n')
    (package / "a" / "published.json").write_text("1")

    def after(path, text):
        path.write_text(text)
        done = asked(root)
        assert done.returncode == 0, done.stderr
        return runs(root)

    room = package / "a" / "room.py"
    assert after(room, '"""A room."""\nfrom companion import ground\n') == 1
    assert after(room, '"""A room, described."""\n# at length\nfrom companion import ground\n') == 1
    assert after(package / "b" / "room.py", "x = 2\n") == 1
    assert after(package / "a" / "published.json", "2") == 2
    assert after(package / "ground.py", "y = 1\n") == 3
    path = root / "book" / "one.ipynb"
    book = json.loads(path.read_text())
    book["cells"][0]["source"] = "# Another title"
    assert after(path, json.dumps(book)) == 3
    assert json.loads((root / "_build/results/times.json").read_text())["chapters"][0]["title"] == (
        "Another title"
    )
    book["cells"][-1]["source"] += "\nprint(1)"
    assert after(path, json.dumps(book)) == 4


def test_prose_comes_from_the_source_and_outputs_from_the_execution(tmp_path):
    root = tiny(tmp_path, one=["print(T)"])
    (root / "book" / "scales.yml").write_text("smoke: {one: {T: 200}}")
    assert build(root, "--scale", "smoke").returncode == 0
    ran = json.loads(executed(root, "one")[0].read_bytes())
    book = json.loads((root / "book" / "one.ipynb").read_text())
    book["cells"][0]["source"] = "# Another title"
    book["cells"].insert(2, {"cell_type": "markdown", "id": "new", "metadata": {}, "source": "New"})
    book["cells"][-1]["metadata"]["tags"] = ["hide-input"]
    merged = cache.refreshed(ran, chapters.Chapter("one", root, book, {}))["cells"]
    assert [c["id"] for c in merged] == [
        "title",
        "parameters",
        "injected-parameters",
        "new",
        "code-0",
    ]
    assert merged[0]["source"] == "# Another title"
    assert merged[-1]["metadata"]["tags"] == ["hide-input"]
    assert merged[-1]["outputs"][0]["text"] == ["200\n"]


@pytest.mark.slow
def test_failure_names_chapter_and_cell_and_keeps_the_others(tmp_path):
    root = tiny(tmp_path, one=[counting(tmp_path)], two=["y = 2", "# the reason\n1 / 0"])
    done = build(root)
    assert done.returncode == 1
    assert "two failed at cell 4 of 4 (id code-1): # the reason" in done.stderr
    assert "ZeroDivisionError: division by zero" in done.stderr
    assert "\x1b" not in done.stderr
    assert executed(root, "two") == []
    build(root)
    assert runs(root) == 1


@pytest.mark.slow
def test_cell_over_its_time_is_named(tmp_path):
    root = tiny(tmp_path, one=["import time\ntime.sleep(60)"])
    done = build(root, "--cell-timeout", "2")
    assert done.returncode == 1
    assert "one failed at cell 3 of 3 (id code-0): import time" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("stop", [signal.SIGKILL, signal.SIGINT])
def test_interrupted_run_resumes_at_the_first_chapter_that_is_not_whole(tmp_path, stop):
    slow = f"import os, time\nos.path.exists({str(tmp_path / 'go')!r}) or time.sleep(120)"
    root = tiny(tmp_path, one=[counting(tmp_path)], two=["z = 3", slow])
    env = os.environ | {"PYTHONPATH": str(PROJECT)}
    process = subprocess.Popen(
        command(root, "--jobs", "1"),
        env=env,
        stderr=subprocess.DEVNULL,
        # Shells start what runs in the background with Ctrl-C ignored, and children inherit it.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    deadline = time.monotonic() + 60
    log = root / "_build" / "executed" / "two" / "last.log"
    while not (log.exists() and "Executing Cell 4" in log.read_text()):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    process.send_signal(stop)
    assert process.wait(30) == (-stop if stop == signal.SIGKILL else 130)
    assert executed(root, "two") == []
    (root / "go").touch()
    done = build(root)
    assert done.returncode == 0, done.stderr
    assert "already whole: one" in done.stdout
    assert runs(root) == 1
    assert len(executed(root, "two")) == 1
    assert list(root.rglob("*.part")) == []


@pytest.mark.slow
def test_child_ends_with_the_runner(tmp_path):
    root = tiny(tmp_path, one=[f"import os\nopen({str(tmp_path / 'pid')!r}, 'w').write("
                               "str(os.getpid()))", "import time\ntime.sleep(120)"])  # fmt: skip
    env = os.environ | {"PYTHONPATH": str(PROJECT)}
    process = subprocess.Popen(command(root), env=env, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    pid = tmp_path / "pid"
    while not (pid.exists() and pid.read_text()):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    process.kill()
    process.wait(10)
    while time.monotonic() < deadline:
        try:
            os.kill(int(pid.read_text()), 0)
        except ProcessLookupError:
            return
        time.sleep(0.2)
    pytest.fail("the kernel outlives the runner")


def damage(kind, data):
    """Bytes of an executed notebook as a crash, a full disk or a meddler may leave them."""
    book = json.loads(data)
    code = [c for c in book["cells"] if c["cell_type"] == "code"][-1]
    match kind:
        case "empty":
            return b""
        case "cut":
            return data[: len(data) // 2]
        case "not executed":
            code["execution_count"] = None
        case "error":
            error = {"output_type": "error", "ename": "E", "evalue": "", "traceback": []}
            code["outputs"].append(error)
        case "edited":
            code["outputs"] = []
        case "no seal":
            del book["metadata"][cache.RUN]
        case "no notebook":
            book = [1]
    return json.dumps(book).encode()


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A project executed once; its root, and the bytes and key of its one chapter."""
    root = tiny(tmp_path_factory.mktemp("whole"), one=["print(1)"])
    assert build(root).returncode == 0
    data = executed(root, "one")[0].read_bytes()
    return root, data, json.loads(data)["metadata"][cache.RUN]["key"]


@pytest.mark.parametrize(
    "kind", ["empty", "cut", "not executed", "error", "edited", "no seal", "no notebook"]
)
def test_what_is_not_whole_is_not_taken_for_a_result(whole, kind):
    root, data, key = whole
    path = cache.place(root / "_build", "one", key)
    path.write_bytes(data)
    assert cache.get(root / "_build", "one", key) is not None
    assert cache.get(root / "_build", "one", "0" * 64) is None
    path.write_bytes(damage(kind, data))
    assert cache.get(root / "_build", "one", key) is None


@pytest.mark.slow
def test_a_damaged_result_is_executed_again_to_the_same_bytes_but_for_its_time(whole):
    root, data, key = whole
    path = cache.place(root / "_build", "one", key)
    path.write_bytes(data[:-40])
    assert build(root).returncode == 0
    old, new = json.loads(data), json.loads(path.read_bytes())
    old["metadata"].pop(cache.RUN)
    new["metadata"].pop(cache.RUN)
    assert old == new


def test_put_leaves_the_old_file_when_writing_fails(tmp_path, monkeypatch):
    path = tmp_path / "x"
    cache.put(path, b"old")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="No space left"):
        cache.put(path, b"new")
    assert path.read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["x"]


@pytest.mark.slow
def test_two_runs_at_once_are_refused(tmp_path):
    root = tiny(tmp_path, one=["import time\ntime.sleep(20)"])
    env = os.environ | {"PYTHONPATH": str(PROJECT)}
    process = subprocess.Popen(command(root), env=env, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while not (root / "_build" / "executed" / "one" / "last.log").exists():
        assert time.monotonic() < deadline
        time.sleep(0.1)
    second = build(root)
    process.kill()
    process.wait(10)
    assert second.returncode == 2
    assert "another run is working" in second.stderr


@pytest.mark.slow
def test_claims_and_times_reach_the_scoreboard(tmp_path):
    board = "import pathlib\nprint('seen', pathlib.Path(records).read_text())"
    root = tiny(tmp_path, one=[show([CLAIM])], scoreboard=[board])
    path = root / "book" / "scoreboard.ipynb"
    book = json.loads(path.read_text())
    book["cells"][1]["source"] = 'records = ""  # claims; text'
    path.write_text(json.dumps(book))
    done = build(root)
    assert done.returncode == 0, done.stderr
    folder = root / "_build" / "results"
    assert json.loads((folder / "claims.json").read_text()) == [CLAIM]
    times = json.loads((folder / "times.json").read_text())
    assert times["chapters"][0]["chapter"] == "one"
    assert times["chapters"][0]["title"] == "A chapter"
    assert times["chapters"][0]["seconds"] > 0
    assert times["chapters"][0]["cpu_seconds"] > 0
    shown = executed(root, "scoreboard")[0].read_text()
    assert "1 < 2" in shown
    assert str(root) not in shown  # a path of this machine would be published


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"verdict": "fine"}, "has the verdict 'fine'"),
        ({"chapter": "two"}, "says it is of 'two'"),
        ({"extra": 1}, "exactly the fields"),
    ],
)
def test_malformed_claims_are_named(change, words):
    output = {"output_type": "display_data", "data": {results.MIME: [CLAIM | change]}}
    book = {"cells": [{"cell_type": "code", "outputs": [output]}]}
    with pytest.raises(Failure, match=words):
        results.claims("one", book)


def test_a_claim_shown_twice_is_named():
    output = {"output_type": "display_data", "data": {results.MIME: [CLAIM]}}
    book = {"cells": [{"cell_type": "code", "outputs": [output, output]}]}
    with pytest.raises(Failure, match="more than one claim is named c1"):
        results.claims("one", book)


def test_what_a_chapter_reads_is_part_of_its_key(tmp_path):
    book = json.loads(notebook(tmp_path / "one.ipynb", "print(T)").read_text())
    chapter = chapters.Chapter("one", tmp_path, book, {})
    told = ({"T": 1}, "code", ""), ({"T": 2}, "code", ""), ({"T": 1}, "other code", "")
    told += ({"T": 1}, "code", "claims"), ({"T": 1}, "code", "other claims")
    assert len({cache.key(chapter, *one) for one in told}) == 5


@pytest.mark.parametrize("kind", ["stream", "error"])
def test_an_execution_with_an_error_is_not_whole_even_if_it_is_sealed(kind):
    cell = {"cell_type": "code", "source": "1 / 0", "execution_count": 1, "metadata": {},
            "outputs": [{"output_type": kind}]}  # fmt: skip
    sealed = cache.seal({"metadata": {}, "cells": [cell]}, "key", 1.0, 1.0, {})
    assert cache.whole(sealed, "key") is (kind == "stream")
