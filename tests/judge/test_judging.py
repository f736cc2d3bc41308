"""A whole judgement: goes on where it stopped, answers for what hangs, is quick to the bit."""

import time

import judged
import pytest

from companion.judge import effort, judge, judging
from companion.judge.store import Store
from companion.judge.worker import Worker


@pytest.fixture(autouse=True)
def _few(monkeypatch):
    monkeypatch.setattr(judging, "QUICK", judging.QUICK._replace(worlds=()))
    monkeypatch.setattr("companion.judge.attack.ROUNDS", 6)
    few = {True: effort.Effort(10, 30, 400)}
    monkeypatch.setattr(effort, "PLAIN", few)


def test_an_interrupted_judgement_goes_on_where_it_stopped(tmp_path, monkeypatch):
    path, store = str(judged.written(tmp_path, "mine")), tmp_path / "store.json"
    asked, real = [], Worker.ask

    def interrupted(self, task, *args):
        asked.append((task, args))
        if len(asked) == 6:
            raise KeyboardInterrupt
        return real(self, task, *args)

    monkeypatch.setattr(Worker, "ask", interrupted)
    with pytest.raises(KeyboardInterrupt):
        judge(path, quick=True, store=store)
    report = judge(path, quick=True, store=store)
    assert not {str(a) for a in asked[:5]} & {str(a) for a in asked[6:]}
    assert not report.refuted
    assert report.lines[-1].startswith("The contract holds")
    before = len(asked)
    again = judge(path, quick=True, store=store)
    assert len(asked) == before
    assert again.data | {"took": 0} == report.data | {"took": 0}


@pytest.mark.slow
def test_the_clock_changes_nothing_but_the_cost(tmp_path, monkeypatch):
    """Numbers of runs are fixed: a machine that is slower gives the same report, to the bit."""
    path = str(judged.written(tmp_path, "timed"))
    fast = judge(path, quick=True, trials=40, limit=60.0)
    for clock in ("perf_counter", "thread_time", "process_time"):
        real = getattr(time, clock)
        monkeypatch.setattr(time, clock, lambda real=real: 1_000.0 * real())
    slow = judge(path, quick=True, trials=40, limit=60.0)
    assert slow.data["cost"]["found"]["ns"] > 20 * fast.data["cost"]["found"]["ns"]
    assert slow.reproducible == fast.reproducible
    assert {a["found"]["trials"] for a in fast.data["attack"]} == {20, 20 * effort.DRAWN}
    assert judge(path, quick=True, trials=44, limit=60.0).reproducible != fast.reproducible


def test_a_policy_that_never_returns_is_answered_for(tmp_path):
    loop = ("    for t in range(X.shape[0]):\n", "    while True:\n        pass\n"
            "    for t in range(X.shape[0]):\n")  # fmt: skip
    report = judge(str(judged.written(tmp_path, "endless", loop)), quick=True, limit=1.0)
    found = report.data["contract"]
    assert found["rows"] == {"failed": "does not return within 1 s"}
    assert found["blocks"] == {"failed": judging.UNPLAYED}
    assert found["guarantee"]["found"]["holds"] is True


def test_what_is_no_policy_gives_a_report_of_one_line(tmp_path):
    report = judge(str(tmp_path / "absent.py"), quick=True)
    assert report.lines == (f"Nothing could be judged: there is no file {tmp_path / 'absent.py'}.",)
    with pytest.raises(ValueError, match="limit"):
        judge("companion.baselines.linucb", limit=-1)


def test_what_another_package_found_is_asked_again(tmp_path, monkeypatch):
    path, asked = str(judged.written(tmp_path, "kept")), []
    monkeypatch.setattr(Worker, "ask", lambda self, task, *args: asked.append(task))
    for digest in ("one", "one", "two"):
        monkeypatch.setattr(judging, "digest_of_package", lambda digest=digest: digest)
        store = Store(tmp_path / "store.json")
        judging.Session(path, 1, 1.0, store, False).ask("points:checked", "rows")
    assert len(asked) == 2
