"""The command: a template, a judgement, exit codes, files."""

import judged
import pytest

from companion.judge import __main__ as command
from companion.judge import effort, judging


@pytest.fixture(autouse=True)
def _few(monkeypatch, tmp_path):
    monkeypatch.setattr(judging, "QUICK", judging.QUICK._replace(worlds=()))
    monkeypatch.setattr("companion.judge.attack.ROUNDS", 6)
    few = {True: effort.Effort(10, 30, 400)}
    monkeypatch.setattr(effort, "PLAIN", few)
    monkeypatch.chdir(tmp_path)


def test_a_template_is_written_once(capsys):
    assert command.main(["--new", "mine.py"]) == 0
    assert command.main(["--new", "mine.py"]) == 2
    assert "there is mine.py already" in capsys.readouterr().err


def test_a_leak_is_the_first_line_and_the_exit_code(tmp_path, capsys):
    changes, _, _ = judged.FAULTS["a leak through the arm"]
    judged.written(tmp_path, "leaks", *changes)
    assert command.main(["leaks.py", "--quick"]) == 1
    assert capsys.readouterr().out.strip().startswith("REFUTED: ")
    assert {p.name for p in tmp_path.glob("leaks.judged*")} == {
        "leaks.judged.html", "leaks.judged.json", "leaks.judged.store.json",
    }  # fmt: skip


def test_nothing_to_judge_is_code_2(capsys):
    assert command.main(["absent.py", "--quick"]) == 2
    assert "there is no file absent.py" in capsys.readouterr().out
