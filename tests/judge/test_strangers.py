"""No leak of a stranger's policy is MEASURED, and no sound one REFUTED."""

import pytest
import strangers
from test_third_party import written

from evidence.judge import attack, judge, measuring


@pytest.mark.slow
@pytest.mark.parametrize("name", strangers.WORDS)
def test_a_leak_is_never_measured_and_a_sound_policy_never_refuted(
    name, tmp_path, monkeypatch
):
    monkeypatch.setattr(attack, "ROUNDS", {True: 9})
    monkeypatch.setattr(measuring, "LONG", 60)
    kind, changes = strangers.WORDS[name]
    report = judge(written(tmp_path, changes), quick=True, trials=40)
    allowed = {
        "leak": ("REFUTED", "BOUNDED ONLY"),
        "sound": ("MEASURED", "BOUNDED ONLY"),
    }
    assert report.word in allowed[kind], report
