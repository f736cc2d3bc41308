"""`python -m companion`: one policy per trust model, its bits as recorded."""

import companion.__main__ as selftest
from companion import policies


def test_arms_are_as_recorded_in_every_trust_model(capsys):
    assert selftest.main() == 0
    said = capsys.readouterr().out
    assert said.count("as recorded") == len(selftest.RECORDED)
    models = {policies.example(n).guarantee.model for n in selftest.RECORDED}
    assert models == {"none", "local", "shuffle", "joint"}


def test_another_bit_is_said_and_fails(capsys, monkeypatch):
    monkeypatch.setitem(selftest.RECORDED, "linucb", "0" * 12)
    assert selftest.main() == 1
    assert "NOT as recorded" in capsys.readouterr().out
