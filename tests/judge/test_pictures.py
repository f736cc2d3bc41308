"""The picture of a setting has a row for every policy, and the newcomer is marked."""

import base64

import judged_report

from companion.judge import pictures


def test_every_policy_has_its_row():
    address = pictures.standing(judged_report.SETTING["rows"], "d = 5")
    svg = base64.b64decode(address.split(",")[1]).decode()
    assert svg.count("mine (local)") >= 1
    assert svg.count("random (none)") >= 1
