"""The judge's parts: loading, checks, the child process, the report, the command, the
template."""

import json
import subprocess
import sys
from functools import partial

import judged
import numpy as np
import pytest

from companion import policies
from companion.baselines.linucb import linucb
from evidence.judge import __main__ as command
from evidence.judge import attack, checks, judge, judging, measuring
from evidence.judge.load import Child, load

POLICY = linucb(3)
JIT = [("# @jit", "@jit"), ("# from companion.jit", "from companion.jit")]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return load(judged.written(tmp_path_factory.mktemp("template"), "whole"))


# --- loading
# --------------------------------------------------------------------------------------


def test_a_file_a_module_a_function_and_a_policy_are_found(whole):
    assert whole.name == "private_greedy"
    assert load("companion.baselines.linucb").factory is load("linucb").factory is linucb
    assert load(linucb).made(d=2).params.d == 2
    alone = load(POLICY)
    assert alone.policy is alone.made(d=2) is POLICY
    assert not alone.takes
    assert not load(lambda width: POLICY).takes


# --- checks ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", checks.CHECKS)
def test_the_template_keeps_every_point(whole, name):
    assert checks.checked(whole, name) == {"outcome": "holds", "found": ""}


@pytest.mark.parametrize("name", judged.BROKEN)
def test_a_fault_is_found_by_its_check(tmp_path, name):
    check, _, words = name.partition(": ")
    found = checks.checked(
        load(judged.written(tmp_path, "broken", *judged.BROKEN[name])),
        check,
    )
    assert found["outcome"] == "broken"
    assert words in found["found"].split(" -> ")[0]


def test_what_only_an_odd_loop_does_is_found():
    def far(p, s, X, R, rng, arms):
        arms[:] = X.shape[1]

    def beside(p, s, X, R, rng, arms):
        arms[:] = 0
        np.lib.stride_tricks.as_strided(arms, (len(arms) + 1,))[-1] = 0

    def still(p, s, X, R, rng, arms):
        arms[:] = 0

    for play, check, words in (
        (far, checks.rows, r"with 4 rows it plays arm \[4\]"),
        (beside, checks.rows, "outside the array"),
        (still, checks.live_equals_play, "another state"),
    ):
        odd = POLICY._replace(play=play, select=lambda p, s, X, rng: 0)
        with pytest.raises(checks.CheckFailed, match=words):
            check(lambda K, odd=odd: odd)


def test_a_factory_that_wants_two_arms_keeps_the_contract():
    def make(K):
        if K < 2:
            raise ValueError("K must be at least 2")
        return POLICY

    checks.rows(make)


# --- what is promised
# -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("typed", "outcome"),
    [
        ("2.0 * math.sqrt(d) / p.scale", "holds"),
        ("0.25", "refuted"),
        ("1.1 * epsilon", "broken"),
    ],
)
def test_a_guarantee_that_no_budget_changes_is_found(tmp_path, typed, outcome):
    change = ("2.0 * math.sqrt(d) / p.scale", typed)
    found = measuring.asked(load(judged.written(tmp_path, "typed", change)))
    assert found["outcome"] == outcome


def test_noise_that_is_left_out_now_and_then_has_another_law(tmp_path, whole):
    changes = [
        ("laplace(rng, p.scale)", "laplace(rng, p.scale) * (rng.random() > 0.02)"),
    ]
    leaky = load(judged.written(tmp_path, "leaky", *changes))
    sound, odd = (measuring.law_chance(measuring.instance(s)) for s in (whole, leaky))
    assert odd < 1e-7 < sound


# --- the child process
# ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fault", "limit", "words"),
    [
        (
            "while True:\n        pass",
            0.5,
            "does not return within 0.5 s of CPU, or 2 s on the clock",
        ),
        (
            "import time\n    time.sleep(60)",
            0.5,
            "does not return within 0.5 s of CPU, or 2 s on the clock",
        ),
        ("import os\n    os.kill(os.getpid(), 9)", 60.0, "its process ends"),
    ],
)
def test_what_hangs_or_crashes_is_said_and_the_next_task_is_done(
    tmp_path,
    fault,
    limit,
    words,
):
    loop = "    for t in range(X.shape[0]):\n"
    child = Child(
        judged.written(tmp_path, "stuck", (loop, f"    {fault}\n{loop}")),
        limit,
    )
    assert child.ask(checks.checked, "rows") == [{"outcome": "failed", "found": words}]
    child.limit = 20.0
    assert child.ask(checks.checked, "complete") == [{"outcome": "holds", "found": ""}]


def test_the_line_that_raises_is_named(tmp_path):
    wrong = ("return private_greedy(3, epsilon=1.0)", "return 1 // 0")
    (row,) = Child(judged.written(tmp_path, "raising", wrong), 9.0).ask(
        measuring.promised
    )
    assert row["outcome"] == "failed"
    assert row["found"].startswith("ZeroDivisionError")
    assert row["found"].endswith(": return 1 // 0)")


def test_a_file_that_is_written_to_meanwhile_is_not_judged(tmp_path):
    path = judged.written(tmp_path, "edited")
    child = Child(path, 60.0)
    assert child.ask(measuring.promised)[0]["outcome"] != "failed"
    with open(path, "a") as file:
        file.write("# another line\n")
    with pytest.raises(ValueError, match="was written to while it was judged"):
        child.ask(measuring.promised)


# --- the report
# -----------------------------------------------------------------------------------

PROMISE = {
    "part": "promise",
    "what": "Mine <b>",
    "outcome": "promised",
    "found": "(1, 0)-local DP",
    "model": "local",
    "played": "replace one record; local model",
}
ATTACK = {
    "part": "attack",
    "what": "general attack",
    "outcome": "not refuted",
    "epsilon": np.inf,
    "found": "epsilon is at least 2, 3 is promised",
    "played": "a pair",
}
FINE = {
    "part": "measured",
    "what": "its example",
    "outcome": "measured",
    "found": "fine",
    "played": "3 rounds",
}
BAD = {"part": "contract", "what": "rows", "outcome": "broken", "found": "IndexError"}
LONG = FINE | {
    "what": "a long run",
    "outcome": "failed",
    "found": "slow",
}
WIDE = FINE | {"what": "a cut", "outcome": "bounded", "found": "[0.1, 9]"}
SPOKEN = BAD | {"part": "speech", "what": "a run", "found": "a run says: prints '1'"}


@pytest.mark.parametrize(
    ("rows", "word"),
    [
        ([FINE, ATTACK | {"outcome": "refuted"}], "REFUTED"),
        ([FINE, ATTACK], "MEASURED"),
        ([FINE, ATTACK, BAD], "CONTRACT BROKEN"),
        ([ATTACK], "BOUNDED ONLY"),
        ([FINE, ATTACK, LONG], "BOUNDED ONLY"),
        ([FINE, ATTACK, WIDE], "BOUNDED ONLY"),
        ([FINE, ATTACK, WIDE | {"cut": True}], "MEASURED"),
        ([FINE | {"outcome": "not measured"}, ATTACK], "BOUNDED ONLY"),
        ([FINE, ATTACK, BAD | {"part": "budget", "outcome": "refuted"}], "REFUTED"),
        ([FINE, ATTACK | {"outcome": "refuted"}, BAD], "CONTRACT BROKEN"),
        ([FINE, ATTACK | {"outcome": "refuted"}, SPOKEN], "CONTRACT BROKEN"),
        ([LONG, ATTACK | {"outcome": "failed"}], "NOTHING"),
    ],
)
def test_one_word_and_its_exit_code(rows, word, tmp_path):
    found = judging.made([PROMISE, *rows])
    assert found.word == word
    assert str(found).splitlines()[-1].startswith(f"{word}: ")
    assert (
        found.lines[0].startswith("Refuted: ")
        is (found.exit_code == 1)
        is (word == "REFUTED")
    )
    for kind in (".json", ".html"):
        found.save(tmp_path / f"found{kind}")
    data = json.loads((tmp_path / "found.json").read_text())
    assert data["word"] == word
    assert data["found"][0] == PROMISE
    assert "Mine <b>" not in (tmp_path / "found.html").read_text()


def test_an_error_is_shown_once_and_what_was_played_is_said():
    found = judging.made([PROMISE, BAD, BAD | {"what": "copies"}, FINE, ATTACK])
    assert found.lines[0] == "Broken: rows; copies: IndexError."
    for played in (
        "its example: 3 rounds",
        "Mine <b>: replace one record; local model",
        "general attack: a pair",
    ):
        assert f"  {played}\n" in str(found)


# --- a whole judgement
# ----------------------------------------------------------------------------


def test_the_command_writes_a_template_a_report_and_the_exit_code(
    tmp_path,
    capsys,
    monkeypatch,
):
    monkeypatch.setattr(command, "judge", partial(judge, worlds={}))
    monkeypatch.setattr(attack, "ROUNDS", {True: 6})
    monkeypatch.setattr(measuring, "LONG", 6)
    monkeypatch.setattr(measuring, "OTHER", {True: ()})
    monkeypatch.chdir(tmp_path)
    assert command.main(["--new", "mine.py"]) == 0
    assert command.main(["--new", "mine.py"]) == 2
    assert "File exists: 'mine.py'" in capsys.readouterr().err
    leak = ("s.total[i] += s.message[i]", "s.total[i] += s.message[i] + 100.0 * r * x[i]")
    judged.written(tmp_path, "leaks", leak)
    assert command.main(["leaks.py", "--quick"]) == 1
    assert "\nREFUTED: " in capsys.readouterr().out
    assert len(list(tmp_path.glob("leaks.judged.*"))) == 2
    assert command.main(["absent.py", "--quick"]) == 2
    assert "absent.py does not import: FileNotFoundError" in capsys.readouterr().out


def test_compiled_and_plain_templates_play_the_same_arms(tmp_path, whole):
    plain = whole.policy
    compiled = load(judged.written(tmp_path, "compiled", *JIT)).policy
    assert not hasattr(plain.play, "py_func")
    assert hasattr(compiled.play, "py_func")
    X, R, _ = checks.stream_for(plain, 100)
    assert np.array_equal(checks.run(plain, X, R)[0], checks.run(compiled, X, R)[0])


@pytest.mark.slow
@pytest.mark.parametrize("name", policies.TABLE)
def test_our_own_policies_are_not_refuted(name, monkeypatch):
    """Without instances, which `test_every_guarantee` measures."""
    monkeypatch.setattr(attack, "ROUNDS", {True: 16})
    monkeypatch.setattr(measuring, "shown", lambda policy: ({}, (), ()))
    assert judge(name, worlds={}, quick=True, trials=40).word == "BOUNDED ONLY"


NO_LIMITS = """
import runpy, sys
sys.modules["resource"] = None  # as on Windows
sys.argv = ["judge", "linucb"]
runpy.run_module("evidence.judge", run_name="__main__")
"""


def test_a_platform_that_cannot_limit_a_process_is_named_in_one_line(tmp_path):
    told = [sys.executable, "-c", NO_LIMITS]
    found = subprocess.run(told, capture_output=True, text=True, cwd=tmp_path)
    assert found.returncode == 2
    assert found.stdout == ""
    assert len(found.stderr.splitlines()) == 1
    assert "the judge does not run here" in found.stderr
    assert list(tmp_path.iterdir()) == []
