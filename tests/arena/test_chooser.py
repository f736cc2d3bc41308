"""`choose`: the decision of the page for a setting of any size."""

import io
import sys

import pytest

from companion.arena import choose, decision, worlds
from companion.arena.chooser import _with_bar
from companion.arena.kinds import world_of

SMALL = {"d": 2, "K": 3, "T": 400, "epsilon": 50.0, "n_reps": 6}


@pytest.mark.parametrize("trust", decision.TRUSTED)
def test_the_answer_is_private_enough_and_its_code_runs_as_it_is(trust, capsys):
    one = choose(trust, **SMALL)
    models = list(decision.TRUSTED)
    guarantee = one.call.policy().guarantee
    assert models.index(guarantee.model) <= models.index(trust)
    assert guarantee.epsilon <= 50.0 * (1 + 1e-9)
    assert capsys.readouterr().err == ""  # a bar is for terminals
    assert one.code if one.learns else one.words.startswith(decision.NOTHING)
    code = decision.snippet(one.call, one.K)
    exec(compile(code, "copied", "exec"), {"__name__": "copied"})
    assert str(guarantee) in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "value"),
    [("trust", "nobody"), ("d", 1), ("K", 1), ("T", 99), ("epsilon", 0.0), ("world", "flat"),
     ("n_reps", 3), ("epsilon", float("nan"))],
)  # fmt: skip
def test_bad_input_is_refused_by_name(name, value):
    with pytest.raises(ValueError, match=f"{name}.*{value}"):
        choose(**{"trust": "local", **SMALL, name: value})


def test_a_bar_on_a_terminal_only(monkeypatch):
    calls = worlds.lineup(world_of("dense", 2, 3), 400, 1.0)[0][:2]
    terminal = io.StringIO()
    terminal.isatty = lambda: True
    monkeypatch.setattr(sys, "stderr", terminal)
    assert list(_with_bar(calls)) == calls
    assert calls[1].factory in terminal.getvalue()
