"""Every point of the contract: the template keeps it, and a planted fault breaks it by name."""

import judged
import pytest

from companion.judge import points
from companion.judge.contract import POINTS
from companion.judge.subject import load


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    return load(str(judged.written(tmp_path_factory.mktemp("template"), "whole")))


@pytest.mark.parametrize("name", POINTS)
def test_the_template_keeps_every_point(template, name):
    found = points.checked(template, name)
    assert found["holds"] is (None if name == "one signature" else True), found


@pytest.mark.parametrize("name", judged.BROKEN)
def test_a_fault_is_found_by_its_point(tmp_path, name):
    path = judged.written(tmp_path, f"broken_{name.replace(' ', '_')}", *judged.BROKEN[name])
    broken = load(str(path))
    found = points.checked(broken, name)
    assert found["holds"] is False
    assert found["said"]
    assert POINTS[name].change
