"""What can be judged is found in a file, a module or a policy; what cannot is refused in a line."""

import judged
import pytest

from companion import policies
from companion.judge.subject import Refused, digest, load, said


def test_a_file_a_module_and_a_policy_are_found(tmp_path):
    path = judged.written(tmp_path, "found")
    assert load(str(path)).name == "private_greedy"
    assert load(str(path)).tuned == "explore"
    module, example = "companion.baselines.linucb", policies.example("linucb")
    assert load(module).factory is load("linucb").factory is policies.factory("linucb")
    assert load("jdp_linucb").factory is policies.factory("jdp_linucb")
    alone = load(example)
    assert (alone.factory, alone.module, alone.policy.name) == (None, None, "LinUCB")
    assert digest(example) is None
    assert digest(str(path)) != digest(module)
    assert digest("jdp_linucb") != digest("ldp_linucb")  # which share a file


def test_a_factory_without_an_example_is_made_from_what_the_judge_knows(tmp_path):
    path = judged.written(tmp_path, "no_example", ("def example():", "def an_example():"))
    assert load(str(path)).policy.params.d == 3
    changes = [("def example():", "def an_example():"), ("(d, *, epsilon", "(d, width, *, epsilon")]
    with pytest.raises(Refused, match="private_greedy wants width"):
        load(str(judged.written(tmp_path, "wants_more", *changes)))


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


def test_other_mistakes_are_refused_by_name(tmp_path):
    with pytest.raises(Refused, match="there is no file"):
        load(str(tmp_path / "absent.py"))
    with pytest.raises(Refused, match="TUNED = 'd'"):
        load(str(judged.written(tmp_path, "tunes_d", ('TUNED = "explore"', 'TUNED = "d"'))))
    assert len(said(ValueError("x" * 999))) == 200
