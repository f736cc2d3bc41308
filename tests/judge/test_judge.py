"""The judge's parts: loading, checks, the child process, the report, the command, the template."""

import json

import judged
import numpy as np
import pytest

from companion import policies
from companion.baselines.linucb import linucb
from companion.judge import __main__ as command
from companion.judge import attack, checks, judge, judging, measuring
from companion.judge.load import Child, Refused, load, said

POLICY = linucb(3)
JIT = [("# @jit", "@jit"), ("# from companion.jit", "from companion.jit")]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return load(judged.written(tmp_path_factory.mktemp("template"), "whole"))


# --- loading --------------------------------------------------------------------------------------


def test_a_file_a_module_and_a_policy_are_found(tmp_path, whole):
    assert whole.name == "private_greedy"
    assert load("companion.baselines.linucb").factory is load("linucb").factory
    alone = load(policies.example("linucb"))
    assert (alone.factory, alone.takes, alone.policy.name) == (None, {}, "LinUCB")
    assert load(policies.example("linucb"), linucb).made(d=2).params.d == 2
    changes = [("def example():", "def an_example():"), ("(d, *, epsilon", "(d, width, *, epsilon")]
    with pytest.raises(Refused, match="private_greedy wants more than d, K, T"):
        load(judged.written(tmp_path, "wants_more", *changes))


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
        load(path)
    assert "\n" not in str(refusal.value)
    assert len(said(ValueError("x" * 999))) == 200


# --- checks ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", checks.CHECKS)
def test_the_template_keeps_every_point(whole, name):
    assert checks.checked(whole, name) == {"outcome": "holds", "found": ""}


@pytest.mark.parametrize("name", judged.BROKEN)
def test_a_fault_is_found_by_its_check(tmp_path, name):
    check, _, words = name.partition(": ")
    found = checks.checked(load(judged.written(tmp_path, "broken", *judged.BROKEN[name])), check)
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

    for play, words in ((far, r"with 4 rows it plays arm \[4\], outside 0\.\.3"),
                        (beside, "outside the array")):  # fmt: skip
        with pytest.raises(checks.CheckFailed, match=words):
            checks.rows(lambda K, play=play: POLICY._replace(play=play))
    first = POLICY._replace(play=still, select=lambda p, s, X, rng: 0)
    with pytest.raises(checks.CheckFailed, match="another state"):
        checks.live(lambda K: first)


def test_a_factory_that_wants_two_arms_keeps_the_contract():
    def make(K):
        if K < 2:
            raise ValueError("K must be at least 2")
        return POLICY

    checks.rows(make)


# --- what is promised -----------------------------------------------------------------------------


def test_a_guarantee_that_no_budget_changes_is_found(tmp_path, whole):
    assert measuring.asked(whole)["outcome"] == "holds"
    for typed, outcome in (("0.25", "refuted"), ("1.1 * epsilon", "broken")):
        change = ("2.0 * math.sqrt(d) / p.scale", typed)
        found = measuring.asked(load(judged.written(tmp_path, f"typed_{outcome}", change)))
        assert found["outcome"] == outcome


def test_a_leak_through_the_state_is_found_and_an_undeclared_policy_has_no_plan(tmp_path):
    public = ('private_fields=("x",)', "private_fields=()")
    found = measuring.measured(load(judged.written(tmp_path, "state", public)), {})
    assert found["outcome"] == "refuted"
    assert "public state depends" in found["found"]
    silent = ('own_attacks, shown=shown, private_fields=("x",)', "own_attacks")
    (why,) = measuring.plans(load(judged.written(tmp_path, "silent", silent)), True)
    assert why["outcome"] == "not measured"


def test_noise_that_is_left_out_now_and_then_has_another_law(tmp_path, whole):
    changes = [("laplace(rng, p.scale)", "laplace(rng, p.scale) * (rng.random() > 0.02)"),
               ('"message")', '"laplace", "message")')]  # fmt: skip
    leaky = load(judged.written(tmp_path, "leaky", *changes))
    sound, odd = (measuring.law_chance(measuring.instance(s)) for s in (whole, leaky))
    assert odd < 1e-7 < sound


# --- the child process ----------------------------------------------------------------------------

LOOP = ("    for t in range(X.shape[0]):\n", "    while True:\n        pass\n"
        "    for t in range(X.shape[0]):\n")  # fmt: skip
DIES = ("    for t in range(X.shape[0]):\n", "    import os\n    os.kill(os.getpid(), 9)\n"
        "    for t in range(X.shape[0]):\n")  # fmt: skip


@pytest.mark.parametrize(
    ("fault", "words"), [(LOOP, "does not return within 0.5 s"), (DIES, "its process ends")]
)
def test_what_hangs_or_crashes_is_said_and_the_next_task_is_done(tmp_path, fault, words):
    child = Child(judged.written(tmp_path, "stuck", fault), None, 20.0, 8.0)
    child.limit = 0.5 if fault is LOOP else 60.0
    assert child.ask(checks.checked, "rows") == [{"outcome": "failed", "found": words}]
    child.limit = 20.0
    assert child.ask(checks.checked, "complete") == [{"outcome": "holds", "found": ""}]
    child.stop()


def test_what_does_not_load_is_refused(tmp_path):
    wrong = ("return private_greedy(3, epsilon=1.0)", "return 1 // 0")
    path = judged.written(tmp_path, "raising", wrong)
    with pytest.raises(Refused, match=r"ZeroDivisionError.*\(raising.py, line \d+: return 1 // 0"):
        Child(path, None, 9.0, 8.0).ask(measuring.promised)


# --- the report -----------------------------------------------------------------------------------

PROMISE = {"part": "promise", "what": "Mine <b>", "outcome": "promised", "found": "(1, 0)-local DP",
           "model": "local", "played": "replace one record; local model"}  # fmt: skip
ATTACK = {"part": "attack", "what": "general attack", "outcome": "not refuted", "epsilon": np.inf,
          "found": "epsilon is at least 2, 3 is promised", "played": "a pair"}  # fmt: skip
FINE = {"part": "measured", "what": "its example", "outcome": "measured", "found": "fine",
        "played": "3 rounds"}  # fmt: skip
BAD = {"part": "contract", "what": "rows", "outcome": "broken", "found": "IndexError"}
LONG = FINE | {"what": "a long run", "outcome": "failed", "found": "slow", "optional": True}


@pytest.mark.parametrize(
    ("rows", "word"),
    [
        ([FINE, ATTACK | {"outcome": "refuted"}], "REFUTED"),
        ([FINE, ATTACK], "MEASURED"),
        ([FINE, ATTACK, BAD], "CONTRACT BROKEN"),
        ([ATTACK], "BOUNDED ONLY"),
        ([FINE, ATTACK, LONG | {"optional": False}], "BOUNDED ONLY"),
        ([FINE, ATTACK, LONG], "MEASURED"),
        ([FINE | {"outcome": "not measured"}, ATTACK], "BOUNDED ONLY"),
        ([FINE, ATTACK, BAD | {"part": "budget", "outcome": "refuted"}], "REFUTED"),
        ([LONG, ATTACK | {"outcome": "failed"}], "NOTHING"),
    ],
)
def test_one_word_and_its_exit_code(rows, word):
    found = judging.made([PROMISE, *rows], {})
    assert found.word == word
    assert found.exit_code == judging.WORDS[word][0]
    assert str(found).endswith(found.lines[-1])
    assert found.lines[-1].startswith(f"{word}: ")
    assert found.lines[0].startswith("REFUTED: ") is (word == "REFUTED")
    assert json.loads(found.to_json())["word"] == word
    assert "Infinity" not in found.to_json()
    assert "Mine <b>" not in found._repr_html_()


def test_an_error_is_shown_once_and_what_was_played_is_said():
    found = judging.made([PROMISE, BAD, BAD | {"what": "copies"}, FINE, ATTACK], {})
    assert found.lines[0] == "The contract does not hold: rows; copies: IndexError."
    assert sum("IndexError" in line for line in found.lines) == 1
    for played in ("its example: 3 rounds", "Mine <b>: replace one record; local model",
                   "general attack: a pair"):  # fmt: skip
        assert f"  {played}\n" in str(found)
    nothing = {"part": "promise", "what": "the policy", "outcome": "failed", "found": "no file"}
    assert judging.made([nothing], {}).word == "NOTHING"


# --- a whole judgement ----------------------------------------------------------------------------


@pytest.fixture
def _few(monkeypatch, tmp_path):
    monkeypatch.setattr(judging, "QUICK", judging.QUICK._replace(worlds=()))
    monkeypatch.setattr(attack, "ROUNDS", {True: 6})
    monkeypatch.setattr(measuring, "LONG", 6)
    monkeypatch.setattr(measuring, "OTHER", {True: ()})
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("_few")
def test_the_command_writes_a_template_a_report_and_the_exit_code(tmp_path, capsys):
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


@pytest.mark.usefixtures("_few")
def test_what_a_changed_import_does_is_seen(tmp_path):
    """Nothing is kept from one judgement to the next."""
    own = ("clip_to_ball, laplace\n", "clip_to_ball\nfrom own_noise import laplace\n")
    judged.written(tmp_path, "importing", own)
    words = []
    for scale in (1.0, 0.5):
        text = f"def laplace(rng, scale):\n    return rng.laplace(0.0, {scale} * scale)\n"
        (tmp_path / "own_noise.py").write_text(text, "utf8")
        words.append(judge("importing.py", quick=True, trials=40).word)
    assert words == ["MEASURED", "REFUTED"]


def test_compiled_and_plain_templates_play_the_same_arms(tmp_path):
    plain, compiled = (
        load(judged.written(tmp_path, name, *changes)).policy
        for name, changes in (("plainly", []), ("compiled", JIT))
    )
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
    found = judge(name, worlds=["logistic clicks"], quick=True, trials=40)
    assert found.word == "BOUNDED ONLY", found
    assert found.rows("arena")
