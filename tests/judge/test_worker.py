"""A task that raises, crashes or never ends is answered for, and the next one is done."""

import subprocess
import sys
import time
from pathlib import Path

import judged
import pytest

from companion.judge.subject import Refused
from companion.judge.worker import Failed, Worker

LOOP = ("    for t in range(X.shape[0]):\n", "    while True:\n        pass\n"
        "    for t in range(X.shape[0]):\n")  # fmt: skip
DIES = ("    for t in range(X.shape[0]):\n", "    import os\n    os.kill(os.getpid(), 9)\n"
        "    for t in range(X.shape[0]):\n")  # fmt: skip


@pytest.mark.parametrize(
    ("fault", "words"), [(LOOP, "does not return within 0.5 s"), (DIES, "signal 9")]
)
def test_what_hangs_or_crashes_is_said_and_the_next_task_is_done(tmp_path, fault, words):
    worker = Worker(str(judged.written(tmp_path, "stuck", fault)))
    with pytest.raises(Failed, match=words):
        worker.ask("points:checked", 0.5, "rows")
    assert worker.ask("points:checked", 20.0, "guarantee") == {"holds": True, "said": ""}
    with pytest.raises(Failed, match="AttributeError"):
        worker.ask("points:no_such_task", 20.0)
    worker.stop()


def test_what_does_not_load_is_refused(tmp_path):
    path = tmp_path / "wrong.py"
    path.write_text("x = 1", "utf8")
    with pytest.raises(Refused, match="has no policy"):
        Worker(str(path)).ask("points:checked", 1.0, "rows")
    raising = judged.written(
        tmp_path, "raising", ("return private_greedy(3, epsilon=1.0)", "return 1 // 0")
    )
    with pytest.raises(Refused, match="example cannot be made: ZeroDivisionError"):
        Worker(str(raising)).ask("points:checked", 1.0, "rows")


def test_a_child_ends_with_its_parent(tmp_path):
    path = str(judged.written(tmp_path, "left"))
    code = f"""import os
from companion.judge.worker import Worker
worker = Worker({path!r})
worker.ask("points:checked", 20.0, "guarantee")
print(worker._child.pid, flush=True)
os.kill(os.getpid(), 9)"""
    found = subprocess.run(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, check=False
    )
    pid, deadline = int(found.stdout), time.monotonic() + 30.0
    while Path(f"/proc/{pid}").exists() and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not Path(f"/proc/{pid}").exists()
