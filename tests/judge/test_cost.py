"""What a policy costs: bytes are exact, times are positive, sizes that do not fit are left out."""

import judged

from companion.judge import cost
from companion.judge.subject import load


def test_bytes_grow_with_the_dimension(tmp_path, monkeypatch):
    monkeypatch.setattr(cost, "ROUNDS", 20)
    found = cost.measured(load(str(judged.written(tmp_path, "costs"))))
    assert found["state"] == 3 * 3 * 8
    assert not found["compiled"]
    assert [(g["value"], g["state"]) for g in found["growth"] if g["of"] == "d"] == [
        (4, 96), (8, 192), (16, 384),
    ]  # fmt: skip
    assert all(g["ns"] > 0 for g in found["growth"])
