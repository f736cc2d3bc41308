"""The judge's parts: loading, checks, the child process, the report, the command, the template."""

import json
import subprocess
import sys
import time
from pathlib import Path

import judged
import numpy as np
import pytest

from companion import policies
from companion.baselines.linucb import linucb
from companion.judge import __main__ as command
from companion.judge import attack, checks, judge, judging, measuring, report, streams, template
from companion.judge.load import Refused, load, said

POLICY = linucb(3)
JIT = [("# @jit", "@jit"), ("# from companion.jit", "from companion.jit")]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return load(str(judged.written(tmp_path_factory.mktemp("template"), "whole")))


# --- loading --------------------------------------------------------------------------------------


def test_a_file_a_module_and_a_policy_are_found(tmp_path):
    path = judged.written(tmp_path, "found")
    assert (load(str(path)).name, load(str(path)).tuned) == ("private_greedy", "explore")
    assert load("companion.baselines.linucb").factory is load("linucb").factory
    assert load("jdp_linucb").factory is policies.factory("jdp_linucb")
    alone = load(policies.example("linucb"))
    assert (alone.factory, alone.takes, alone.policy.name) == (None, {}, "LinUCB")
    assert load(policies.example("linucb"), linucb).made(d=2).params.d == 2
    changes = [("def example():", "def an_example():"), ("(d, *, epsilon", "(d, width, *, epsilon")]
    with pytest.raises(Refused, match="private_greedy wants more than d, K, T"):
        load(str(judged.written(tmp_path, "wants_more", *changes)))
    with pytest.raises(Refused, match="TUNED = 'd'"):
        load(str(judged.written(tmp_path, "tunes_d", ('TUNED = "explore"', 'TUNED = "d"'))))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("import no_such_module_at_all", "does not import: ModuleNotFoundError"),
        ("raise SystemExit(3)", "does not import: SystemExit: 3"),
        ("x = (", "does not import: SyntaxError"),
        ("x = 1", "has no policy"),
    ],
)
def test_a_file_without_a_policy_is_refused_in_one_line(tmp_path, text, words):
    path = tmp_path / "wrong.py"
    path.write_text(text, "utf8")
    with pytest.raises(Refused, match=words) as refusal:
        load(str(path))
    assert "\n" not in str(refusal.value)
    assert len(said(ValueError("x" * 999))) == 200


# --- checks ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", checks.CHECKS)
def test_the_template_keeps_every_point(whole, name):
    found = checks.checked(whole, name)
    assert found["outcome"] == ("not applicable" if name == "one signature" else "holds"), found


@pytest.mark.parametrize("name", judged.BROKEN)
def test_a_fault_is_found_by_its_check(tmp_path, name):
    path = judged.written(tmp_path, "broken", *judged.BROKEN[name])
    found = checks.checked(load(str(path)), name.partition(":")[0])
    assert found["outcome"] == "broken"
    assert all(found["found"].split(" -> "))


def test_what_only_an_odd_loop_does_is_found():
    def far(p, s, X, R, rng, arms):
        arms[:] = X.shape[1]

    def beside(p, s, X, R, rng, arms):
        arms[:] = 0
        np.lib.stride_tricks.as_strided(arms, (len(arms) + 1,))[-1] = 0

    def still(p, s, X, R, rng, arms):
        arms[:] = 0

    for play, words in ((far, r"with 1 rows, round 0 has arm 1, outside 0\.\.0"),
                        (beside, "outside the array")):  # fmt: skip
        with pytest.raises(checks.CheckFailed, match=words):
            checks.rows(lambda K, play=play: POLICY._replace(play=play))
    first = POLICY._replace(play=still, select=lambda p, s, X, rng: 0)
    with pytest.raises(checks.CheckFailed, match="another state"):
        checks.live(lambda K: first)
    with pytest.raises(checks.NotApplicable):
        checks.told(lambda K: first)


def test_a_stream_has_the_policy_s_dimension_and_horizon_and_states_compare_to_the_bit():
    X, R, mu = streams.stream_for(linucb(5), 100, 3)
    assert X.shape == (100, 3, 5)
    assert R.shape == mu.shape == (100, 3)
    short = POLICY._replace(params=type("P", (), {"d": 3, "T": 40}))
    assert len(streams.stream_for(short)[0]) == 40
    X, R, _ = streams.stream_for(POLICY, 50)
    one, other = streams.run(POLICY, X, R)[1], streams.run(POLICY, X, 1.0 - R)[1]
    assert streams.same_state(one, one)
    assert not streams.same_state(one, other)


# --- what is promised -----------------------------------------------------------------------------


def test_a_guarantee_that_no_budget_changes_is_found(tmp_path, whole):
    for typed, words in (("0.25", "does not follow the budget"), ("1.0", "does not follow")):
        changes = ("2.0 * math.sqrt(d) / p.scale", typed)
        found = measuring.asked(load(str(judged.written(tmp_path, f"typed_{typed[0]}", changes))))
        assert found["outcome"] == "refuted"
        assert words in found["found"]
    assert measuring.asked(whole)["outcome"] == "holds"
    weak = judged.written(tmp_path, "weak", ("2.0 * math.sqrt(d) / p.scale", "1.1 * epsilon"))
    assert measuring.asked(load(str(weak)))["outcome"] == "broken"


def test_a_leak_through_the_state_is_found_and_an_undeclared_policy_has_no_plan(tmp_path):
    leak = load(
        str(judged.written(tmp_path, "state", ('private_fields=("x",)', "private_fields=()")))
    )
    found = measuring.measured(leak, {})
    assert found["outcome"] == "refuted"
    assert "public state depends" in found["found"]
    silent = (
        'AuditSpec(own_attacks, shown=shown, private_fields=("x",))',
        "AuditSpec(own_attacks)",
    )
    (why,) = measuring.plans(load(str(judged.written(tmp_path, "silent", silent))), True)
    assert why["outcome"] == "not measured"


# --- the child process ----------------------------------------------------------------------------

LOOP = ("    for t in range(X.shape[0]):\n", "    while True:\n        pass\n"
        "    for t in range(X.shape[0]):\n")  # fmt: skip
DIES = ("    for t in range(X.shape[0]):\n", "    import os\n    os.kill(os.getpid(), 9)\n"
        "    for t in range(X.shape[0]):\n")  # fmt: skip


@pytest.mark.parametrize(
    ("fault", "words"), [(LOOP, "does not return within 0.5 s"), (DIES, "signal 9")]
)
def test_what_hangs_or_crashes_is_said_and_the_next_task_is_done(tmp_path, fault, words):
    child = judging.Child(str(judged.written(tmp_path, "stuck", fault)), None, 0.5, 8.0)
    (row,) = child.ask("checked", "rows")
    assert row["outcome"] == "failed"
    assert words in row["found"]
    child.limit = 20.0
    assert child.ask("checked", "guarantee") == [{"outcome": "holds", "found": ""}]
    child.stop()


def test_what_does_not_load_is_refused(tmp_path):
    wrong = ("return private_greedy(3, epsilon=1.0)", "return 1 // 0")
    path = judged.written(tmp_path, "raising", wrong)
    with pytest.raises(Refused, match=r"ZeroDivisionError.*\(raising.py, line \d+: return 1 // 0"):
        judging.Child(str(path), None, 9.0, 8.0).ask("promised")


def test_a_child_ends_with_its_parent(tmp_path):
    code = f"""import os
from companion.judge.judging import Child
child = Child({str(judged.written(tmp_path, "left"))!r}, None, 20.0, 8.0)
child.ask("checked", "guarantee")
print(child.process.pid, flush=True)
os.kill(os.getpid(), 9)"""
    told = {"stdout": subprocess.PIPE, "text": True, "check": False}
    pid = int(subprocess.run([sys.executable, "-c", code], **told).stdout)
    deadline = time.monotonic() + 30.0
    while Path(f"/proc/{pid}").exists() and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not Path(f"/proc/{pid}").exists()


# --- the report -----------------------------------------------------------------------------------

PROMISE = {"said": "(1, 0)-local DP", "model": "local", "neighbours": "replace one record",
           "title": "Mine <b>", "factory": "mine", "universe": "ball"}  # fmt: skip
ATTACK = {"part": "attack", "what": "general attack", "outcome": "not refuted", "epsilon": 2.0,
          "trials": 200, "found": "epsilon is at least 2, 3 is promised",
          "played": "a pair; 200 trials, which can show 3.2"}  # fmt: skip
FINE = {"part": "measured", "what": "its example", "outcome": "measured", "found": "fine",
        "played": "3 rounds"}  # fmt: skip
ROWS = {"part": "contract", "what": "rows", "outcome": "holds", "found": ""}
BAD = ROWS | {"outcome": "broken", "found": "IndexError"}
LONG = FINE | {"what": measuring.OPTIONAL, "outcome": "failed", "found": "slow"}


@pytest.mark.parametrize(
    ("rows", "word"),
    [
        ([FINE, ATTACK | {"outcome": "refuted"}], "REFUTED"),
        ([FINE, ATTACK], "MEASURED"),
        ([FINE, ATTACK, BAD], "CONTRACT BROKEN"),
        ([ATTACK], "BOUNDED ONLY"),
        ([FINE, ATTACK, LONG | {"what": "d = 5"}], "BOUNDED ONLY"),
        ([FINE, ATTACK, LONG], "MEASURED"),
        ([FINE | {"outcome": "not measured"}, ATTACK], "BOUNDED ONLY"),
        ([FINE, ATTACK, BAD | {"part": "budget", "outcome": "refuted"}], "REFUTED"),
        ([LONG, ATTACK | {"outcome": "failed"}], "NOTHING"),
    ],
)
def test_one_word_and_its_exit_code(rows, word):
    found = report.made(PROMISE, [ROWS, *rows], {}, 1.0)
    assert found.word == word
    assert found.exit_code == report.CODES[word]
    assert found.lines[-1].startswith(f"{word}: ")
    assert str(found).endswith(found.lines[-1])
    assert found.lines[0].startswith("REFUTED: ") is (word == "REFUTED")
    assert json.loads(found.to_json())["word"] == word
    assert "Mine <b>" not in found._repr_html_()


def test_an_error_is_shown_once_and_what_was_played_is_said():
    found = report.made(PROMISE, [BAD, BAD | {"what": "copies"}, FINE, ATTACK], {}, 1.0)
    assert found.lines[0] == "The contract does not hold: rows; copies: IndexError."
    assert sum("IndexError" in line for line in found.lines) == 1
    for played in ("its example: 3 rounds", "relation: replace one record; local model",
                   "general attack: a pair; 200 trials, which can show 3.2"):  # fmt: skip
        assert f"  {played}\n" in str(found)
    assert report.made({"found": "no file"}, [], {}, 1.0).word == "NOTHING"


# --- a whole judgement ----------------------------------------------------------------------------


@pytest.fixture
def _few(monkeypatch, tmp_path):
    monkeypatch.setattr(judging, "QUICK", judging.QUICK._replace(worlds=()))
    monkeypatch.setattr(attack, "ROUNDS", {True: 6})
    monkeypatch.setattr(measuring, "LONG", 6)
    monkeypatch.setattr(measuring, "OTHER", {True: ()})
    monkeypatch.setattr(attack, "PLAIN", {True: attack.Effort(10, 30, 400)})
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("_few")
def test_the_command_writes_a_template_a_report_and_the_exit_code(tmp_path, capsys):
    assert command.main(["--new", "mine.py"]) == 0
    assert command.main(["--new", "mine.py"]) == 2
    assert "there is mine.py already" in capsys.readouterr().err
    leak = ("s.total[i] += s.message[i]", "s.total[i] += s.message[i] + 100.0 * r * x[i]")
    judged.written(tmp_path, "leaks", leak)
    assert command.main(["leaks.py", "--quick"]) == 1
    assert "\nREFUTED: " in capsys.readouterr().out
    assert {p.name for p in tmp_path.glob("leaks.judged*")} == {
        "leaks.judged.html", "leaks.judged.json",
    }  # fmt: skip
    assert command.main(["absent.py", "--quick"]) == 2
    assert "there is no file absent.py" in capsys.readouterr().out


@pytest.mark.usefixtures("_few")
def test_what_a_changed_import_does_is_seen(tmp_path):
    """Nothing is kept from one judgement to the next."""
    own = (
        "from companion.kernels.mechanisms import clip_to_ball, laplace",
        "from companion.kernels.mechanisms import clip_to_ball\nfrom own_noise import laplace",
    )
    judged.written(tmp_path, "importing", own)
    words = []
    for scale in (1.0, 0.5):
        text = f"def laplace(rng, scale):\n    return rng.laplace(0.0, {scale} * scale)\n"
        (tmp_path / "own_noise.py").write_text(text, "utf8")
        found = judge("importing.py", quick=True, trials=40)
        words.append(found.word)
        assert "took" not in found.reproducible
    assert words == ["MEASURED", "REFUTED"]


def test_compiled_and_plain_templates_play_the_same_arms(tmp_path):
    plain, compiled = (
        load(str(judged.written(tmp_path, name, *changes))).policy
        for name, changes in (("plainly", []), ("compiled", JIT))
    )
    assert not hasattr(plain.play, "py_func")
    assert hasattr(compiled.play, "py_func")
    X, R, _ = streams.stream_for(plain, 100)
    assert np.array_equal(streams.run(plain, X, R)[0], streams.run(compiled, X, R)[0])
    with pytest.raises(ValueError, match=r"end with \.py"):
        template.write(tmp_path / "mine.txt")


@pytest.mark.slow
@pytest.mark.parametrize("name", policies.TABLE)
def test_our_own_policies_are_not_refuted(name, monkeypatch):
    """Without instances, which `test_every_guarantee` measures."""
    monkeypatch.setattr(attack, "ROUNDS", {True: 16})
    monkeypatch.setitem(judging.TASKS, "plans", lambda subject, quick: [])
    found = judge(name, worlds=["logistic clicks"], quick=True, trials=40)
    assert found.word == "BOUNDED ONLY", found
    assert found.rows("arena")
