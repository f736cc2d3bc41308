"""The judge's parts: loading, checks, the child process, the report, the command, the
template."""

import hashlib
import json
import time
from pathlib import Path

import judged
import numpy as np
import pytest
import runs

import evidence.judge as house
from companion import policies
from companion.baselines.linucb import linucb
from evidence.judge import __main__ as command
from evidence.judge import attack, checks, judge, measuring
from evidence.judge.load import GUESSES, Child, given, load

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
    assert given(linucb, GUESSES | {"d": 2}).params.d == 2
    alone = load(POLICY)
    assert alone.policy is given(alone.factory, GUESSES) is POLICY
    assert not alone.takes
    assert not load(lambda width: POLICY).takes


def test_the_digest_is_that_of_the_source_that_was_imported(tmp_path, whole):
    path = Path(judged.written(tmp_path, "digest"))
    subject = load(str(path))
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    path.write_text("# another file\n")
    assert subject.digest == digest == whole.digest
    ours = Path(linucb.__code__.co_filename).read_bytes()
    assert load(linucb).digest == hashlib.sha256(ours).hexdigest()
    assert load(POLICY).digest == ""
    report = house.made([PROMISE | {"digest": digest}, FINE])
    assert report.digest == digest
    for name in ("one.json", "one.txt"):
        report.save(tmp_path / name)
        assert digest in (tmp_path / name).read_text()


# --- checks ----------------------------------------------------------------------------


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

    def still(p, s, X, R, rng, arms):
        arms[:] = 0

    def nothing(p, s, X, R, rng, arms):
        """Plays no arm."""

    for play, check, words in (
        (far, checks.rows, r"with 4 rows it plays arm \[4\]"),
        (nothing, checks.rows, r"with 4 rows it plays arm \[-1\]"),
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


# --- sentences that say what to write instead
# -----------------------------------------------------------------------------------

DECLARED = """Release(randomize, "message", "laplace")"""
CLIPPED = "    r, _ = clip_to_ball(x, r, clean)"
INSIDE = "    def inner(p):\n        return init(p)\n\n    return Policy(\n"
SENTENCES = {  # what is wrong: its check, words that follow, changes of the template
    "a State is returned": (
        "live equals play",
        ["update returns a State", "s.total[:] = ..., and return nothing"],
        [(judged.SENT, judged.SENT + "    return State(s.total, x, s.message)\n")],
    ),
    "an array of the caller is kept": (
        "live equals play",
        ["let play be the loop over"],
        [
            (
                judged.SENT,
                judged.SENT + "    s.total[0] += HELD[-1][0]\n    HELD.append(x)\n",
            ),
            ("    return State(t", "    HELD[:] = [np.zeros(p.d)]\n    return State(t"),
            ("def init(p):", "HELD = []\n\n\ndef init(p):"),
        ],
    ),
    "a private field is misspelt": (
        "complete",
        ["State.total, State.x, State.message", "got 'y'", "Policy(private=)"],
        [('private=("x",)', 'private=("y",)')],
    ),
    "the State is a dictionary": (
        "complete",
        ["init returns a dict", "class State(NamedTuple)"],
        [
            (judged.INIT, "dict(total=np.zeros(p.d))"),
            (judged.SENT, "        pass\n"),
            ("    randomize(p, x, r, rng, s.x, s.message)\n", ""),
            ("dot(X[k], s.total)", 'dot(X[k], s["total"])'),
        ],
    ),
    "a kernel stands in a function": (
        "complete",
        ["inner", "at the top of the module"],
        [("    return Policy(\n", INSIDE), ("init=init,\n", "init=inner,\n")],
    ),
    "one arm breaks it": (
        "rows",
        ["with 1 arms: IndexError", "line ", "best = X[1, 0]"],
        [("best = -np.inf", "best = X[1, 0] * 0.0 - np.inf")],
    ),
    "nothing is declared": (
        "measured",
        ["Policy(..., releases=(Release(kernel, 'argument', 'laplace'),)"],
        [(f"releases=({DECLARED},)", "releases=()")],
    ),
    "no law is declared": (
        "measured",
        ["logistic", "Release(randomize, "],
        [("laplace(rng, p.scale)", "rng.logistic(0.0, p.scale)"), (', "laplace")', ")")],
    ),
    "messages before the shuffler": (
        "measured",
        ["Release(kernel, argument, 'counts')"],
        [
            ('model="local"', 'model="shuffle"'),
            ("sensitivity / p.scale", "0.1 * sensitivity / p.scale"),
        ],
    ),
    "a promise far above": (
        "measured",
        ["does not confirm it"],
        [("sensitivity / p.scale", "5.0 * epsilon")],
    ),
    "no record is shown": (
        "measured",
        ["no record enters a release"],
        [("r * clean[i] + ", "")],
    ),
    "nothing is clipped": (
        "measured",
        ["clip the record before it is added"],
        [(CLIPPED, "    clean[:] = x")],
    ),
}


@pytest.mark.parametrize("name", SENTENCES)
def test_a_sentence_names_the_place_and_what_to_write(tmp_path, name):
    check, words, changes = SENTENCES[name]
    subject = load(judged.written(tmp_path, "wrong", *changes))
    if check == "measured":
        found = measuring.measured(subject, measuring.Plan("", rounds=3), True)
    else:
        found = checks.checked(subject, check)
    assert found["outcome"] != "holds"
    for word in words:
        assert word in found["found"], found


def test_an_attack_says_what_its_runs_could_show(whole, monkeypatch):
    monkeypatch.setattr(attack, "ROUNDS", {True: 6})
    said = attack.general(whole, True, 40, 1)["found"]
    assert "20 counted runs could show at most 0.7" in said
    assert "judge(trials=...)" in said


# --- the child process
# ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fault", "total", "words"),
    [
        ("while True:\n        pass", 60.0, "does not return within 0.5 s of CPU"),
        (
            "import time\n    time.sleep(60)",
            2.0,
            "does not return within 2 s on the clock",
        ),
        ("import os\n    os.kill(os.getpid(), 9)", 60.0, "its process ends"),
    ],
)
def test_what_hangs_or_crashes_is_said_and_the_next_task_is_done(
    tmp_path,
    monkeypatch,
    fault,
    total,
    words,
):
    monkeypatch.setattr("evidence.judge.load.PATIENCE", 120.0)
    loop = "    for t in range(X.shape[0]):\n"
    child = Child(
        judged.written(tmp_path, "stuck", (loop, f"    {fault}\n{loop}")),
        0.5,
        total,
    )
    assert child.ask(checks.checked, "rows") == [{"outcome": "failed", "found": words}]
    child.limit = 20.0
    child.total = 60.0
    assert child.ask(checks.checked, "complete") == [{"outcome": "holds", "found": ""}]


def test_a_policy_that_sleeps_ends_in_the_time_that_is_promised(tmp_path, monkeypatch):
    monkeypatch.setattr(house, "TOTAL", {True: 4.0})
    nap = "    import time\n    time.sleep(0.002)\n"
    path = judged.written(tmp_path, "naps", (CLIPPED, nap + CLIPPED))
    began = time.perf_counter()
    report = judge(path, quick=True)
    assert time.perf_counter() - began < 12.0
    assert report.word in ("BOUNDED ONLY", "NOTHING", "CONTRACT BROKEN")
    ends = ("does not return within", "the 4 s of a report are over")
    assert any(end in line for line in report.lines for end in ends)


def test_what_is_asked_for_when_the_time_is_over_is_not_begun(tmp_path):
    child = Child(judged.written(tmp_path, "late"), 9.0, 20.0)
    child.spent = 21.0
    (row,) = child.ask(measuring.promised)
    assert row["outcome"] == "not begun"
    assert "the 20 s of a report are over" in row["found"]


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
        ([FINE, ATTACK, LONG | {"cut": True}], "BOUNDED ONLY"),
        ([FINE, ATTACK, FINE | {"outcome": "not begun"}], "BOUNDED ONLY"),
        ([FINE, ATTACK | {"outcome": "refuted"}, BAD], "CONTRACT BROKEN"),
        ([FINE, ATTACK | {"outcome": "refuted"}, SPOKEN], "CONTRACT BROKEN"),
        ([LONG, ATTACK | {"outcome": "failed"}], "NOTHING"),
    ],
)
def test_one_word_and_its_exit_code(rows, word, tmp_path):
    found = house.made([PROMISE, *rows])
    assert found.word == word
    assert str(found).splitlines()[-1].startswith(f"{word}: ")
    assert (
        found.lines[0].startswith("Refuted: ")
        is (found.exit_code == 1)
        is (word == "REFUTED")
    )
    found.save(tmp_path / "found.json")
    data = json.loads((tmp_path / "found.json").read_text())
    assert data["word"] == word
    assert data["found"][0] == PROMISE


def test_the_last_line_names_the_part_that_was_not_measured():
    report = house.made([PROMISE, FINE, ATTACK, LONG])
    assert report.lines[-1].endswith("but a long run: not measured.")


def test_a_wrong_law_alone_is_not_called_less_private():
    row = FINE | {"outcome": "refuted", "found": "no law, as its Release declares"}
    report = house.made([PROMISE, row])
    assert report.lines[-1] == "REFUTED: its noise has not the law that is declared."
    report = house.made([PROMISE, row, FINE | {"outcome": "refuted"}])
    assert report.lines[-1] == "REFUTED: less private than promised."


def test_an_error_is_shown_once_and_what_was_played_is_said():
    found = house.made([PROMISE, BAD, BAD | {"what": "copies"}, FINE, ATTACK])
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
    X, R = checks.stream_for(plain, 100)
    assert np.array_equal(checks.run(plain, X, R)[0], checks.run(compiled, X, R)[0])


def no_plans(subject, quick):
    """Nothing is measured."""
    return []


@pytest.mark.slow
@pytest.mark.parametrize("name", policies.TABLE)
def test_our_own_policies_are_not_refuted(name, monkeypatch):
    """Without instances, which `test_every_guarantee` measures."""
    monkeypatch.setattr(attack, "ROUNDS", {True: 16})
    monkeypatch.setattr(measuring, "plans", no_plans)
    assert judge(name, quick=True, trials=40).word == "BOUNDED ONLY"


NO_LIMITS = """
import runpy, sys
sys.modules["resource"] = None  # as on Windows
sys.argv = ["judge", "linucb"]
runpy.run_module("evidence.judge", run_name="__main__")
"""


def test_a_platform_that_cannot_limit_a_process_is_named_in_one_line(tmp_path):
    found = runs.python(NO_LIMITS, cwd=tmp_path)
    assert found.returncode == 2
    assert found.stdout == ""
    assert len(found.stderr.splitlines()) == 1
    assert "the judge does not run here" in found.stderr
    assert list(tmp_path.iterdir()) == []
