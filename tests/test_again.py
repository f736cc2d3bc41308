"""Every chapter says how to run it again, and what it says is allowed."""

import shlex
from pathlib import Path

import pytest
import yaml

from tools import again
from tools.chapters import SCOREBOARD, load, overrides, scales
from tools.errors import Failure

ROOT = Path(__file__).resolve().parent.parent
CHAPTERS = {name: c for name, c in load(ROOT).items() if name != SCOREBOARD}
SMOKE = scales(ROOT)["smoke"]


@pytest.mark.parametrize("name", CHAPTERS)
def test_the_command_changes_one_parameter_to_a_value_that_is_allowed(name):
    words = shlex.split(again.command(CHAPTERS[name], SMOKE.get(name) or {}))
    assert words[:3] == ["papermill", f"book/{name}.ipynb", "again.ipynb"]
    assert (ROOT / words[1]).is_file()
    kind, *rest = words[3:]
    asked = yaml.safe_load(rest[0]) if kind == "-y" else {rest[0]: yaml.safe_load(rest[1])}
    assert len(overrides(CHAPTERS[name], asked, name)) == len(asked) == 1


@pytest.mark.parametrize("name", CHAPTERS)
def test_another_budget_comes_first(name):
    budgets = {"epsilon", "epsilons"} & CHAPTERS[name].parameters.keys()
    assert again.value(CHAPTERS[name], SMOKE.get(name) or {})[0] in (budgets or SMOKE[name])


def test_a_chapter_in_which_nothing_can_change_fails_the_build():
    chapter = CHAPTERS["audits"]
    with pytest.raises(Failure, match="audits: no parameter can be changed"):
        again.value(chapter, {"trials": -1})


def test_a_chapter_without_a_budget_or_a_lower_scale_has_no_line():
    assert again.lines({"audits": CHAPTERS["audits"]}, {"paper": {}}) == {}


def test_the_line_stands_below_all_parameters_and_nowhere_else():
    cells = [{"metadata": {"tags": tags}} for tags in
             ([], ["parameters"], ["injected-parameters"], ["hide-input"])]  # fmt: skip
    shown = again.added(cells, "a line")
    assert [c.get("source") for c in shown] == [None, None, None, "a line", None]
    assert again.added(cells, "") == cells
    assert again.added(cells[:1], "a line") == cells[:1]


def test_the_scoreboard_has_no_line():
    assert set(again.lines(load(ROOT), scales(ROOT))) == set(CHAPTERS)
