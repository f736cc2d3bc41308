"""The loop that answers lines: killed with -9 between select and update, it goes on to the bit."""

import io
import json
import os
import signal
import subprocess
import sys

import numpy as np
import pytest

from companion.baselines.private_linucb import jdp_linucb
from companion.service import serve

LOOP = """import sys
from companion.baselines.private_linucb import jdp_linucb
from companion.service import serve
serve(jdp_linucb(3, 60, 2.0), sys.argv[1], seed=5)
"""
POLICY = jdp_linucb(3, 60, epsilon=2.0, delta=0.1)
X = np.random.default_rng(0).uniform(-0.5, 0.5, (40, 4, 3)).round(3)


def rounds():
    """What a caller does: in every four rounds, four questions, then the rewards from the last."""
    for start in range(0, 40, 4):
        for t in range(start, start + 4):
            yield {"select": X[t].tolist(), "ticket": f"user {t}"}
        for t in reversed(range(start, start + 4)):
            yield {"update": round(float(X[t, 0, 0]), 3), "arm": t % 4, "ticket": f"user {t}"}


def straight(path):
    out = io.StringIO()
    serve(POLICY, path, 5, [json.dumps(r) for r in rounds()], out)
    return [json.loads(line) for line in out.getvalue().splitlines()]


class Caller:
    """A loop in a process of its own; a line without an answer is sent to the next one."""

    def __init__(self, path):
        self.path, self.process = path, None
        self.start()

    def start(self):
        command = [sys.executable, "-c", LOOP, str(self.path)]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        self.process = subprocess.Popen(command, **pipes)

    def kill(self):
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.communicate()

    def ask(self, request):
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())


@pytest.mark.slow
def test_killed_between_select_and_update_it_gives_the_same_arms_to_the_bit(tmp_path):
    """Killed after an answer, with questions open, and once with an answer on its way."""
    expected, found = straight(tmp_path / "straight"), []
    caller = Caller(tmp_path / "killed")
    for i, request in enumerate(rounds()):
        found.append(caller.ask(request))
        if i == 18:  # two questions are open
            caller.kill()
            caller.start()
        if i == 45:  # the answer never arrived: the caller asks again
            caller.kill()
            caller.start()
            assert caller.ask(request) == found[-1]
    caller.process.communicate(timeout=60)
    assert found == expected
    runs = [np.load(tmp_path / name) for name in ("straight", "killed")]
    assert set(runs[0].files) == set(runs[1].files)
    assert all(np.array_equal(runs[0][n], runs[1][n]) for n in runs[0].files)


def test_the_same_line_twice_is_one_record(tmp_path):
    out, lines = io.StringIO(), [json.dumps(r) for r in rounds()]
    serve(POLICY, tmp_path / "twice", 5, [line for line in lines for _ in (1, 2)], out)
    answers = [json.loads(line) for line in out.getvalue().splitlines()]
    assert answers[::2] == answers[1::2] == straight(tmp_path / "once")
    with np.load(tmp_path / "twice") as a, np.load(tmp_path / "once") as b:
        assert all(np.array_equal(a[n], b[n]) for n in a.files)


def asked(path, *requests):
    out = io.StringIO()
    lines = [r if isinstance(r, str) else json.dumps(r) for r in requests]
    serve(POLICY, path, 5, lines, out)
    return [json.loads(line) for line in out.getvalue().splitlines()]


def test_a_report_and_a_dropped_question(tmp_path):
    ask, drop, report = (
        {"select": X[0].tolist(), "ticket": "a"},
        {"drop": True, "ticket": "a"},
        {"report": True},
    )
    said = asked(tmp_path / "run", ask, report, drop, drop, report)
    assert [s.get("open") for s in said] == [None, 1, None, None, 0]
    assert said[1]["guarantee"] == str(POLICY.guarantee)
    assert said[2] == said[3] == {"ticket": "a", "rounds": 0}


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        ("no json", "Expecting value"),
        ("[1]", "one of"),
        ("[" * 100_000, ""),
        ({"select": [[0, 0, 0]]}, "and a ticket"),
        ({"select": [[0, 0, 0]], "update": 1, "ticket": "b"}, "one of"),
        ({"select": [[0, 0]], "ticket": "b"}, "dimension d=3"),
        ({"select": "abc", "ticket": "b"}, "contexts X must be"),
        ({"select": X[1].tolist(), "ticket": "a"}, "open with other contexts"),
        ({"update": 0.5, "arm": 0, "ticket": "b"}, "open question"),
        ({"update": 0.5, "arm": 9, "ticket": "a"}, "arm must be"),
        ({"update": 0.5, "ticket": "a"}, "arm must be"),
        ({"update": None, "arm": 0, "ticket": "a"}, "r must be"),
        ({"drop": 3, "ticket": "a"}, "drop must be"),
    ],
)
def test_what_is_not_in_order_is_refused_and_changes_nothing(request_, words, tmp_path):
    first = {"select": X[0].tolist(), "ticket": "a"}
    asked(tmp_path / "run", first)
    before = (tmp_path / "run").read_bytes()
    (said,) = asked(tmp_path / "run", request_)
    assert list(said) == ["refused"]
    assert words in said["refused"]
    assert (tmp_path / "run").read_bytes() == before


def test_an_ended_ticket_opens_no_new_round(tmp_path):
    first, told = {"select": X[0].tolist(), "ticket": "a"}, {"update": 0, "arm": 0, "ticket": "a"}
    *_, said = asked(tmp_path / "run", first, told, first)
    assert "has ended" in said["refused"]
