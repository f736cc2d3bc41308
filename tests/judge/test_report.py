"""A report is a value: to JSON and back, refused when it is something else."""

import judged_report
import pytest

from companion.judge.report import Report, made

WHOLE = made(judged_report.PARTS)


def test_a_report_goes_to_json_and_back():
    assert Report.from_json(WHOLE.to_json()) == WHOLE
    assert WHOLE.refuted
    for text in ("", "[]", '{"format": 0}'):
        with pytest.raises(ValueError, match="must be a report"):
            Report.from_json(text)


def test_it_is_written_as_json_and_as_a_page(tmp_path):
    for kind in ("json", "html"):
        WHOLE.save(tmp_path / f"r.{kind}")
    assert Report.from_json((tmp_path / "r.json").read_text("utf8")) == WHOLE
    assert "REFUTED" in (tmp_path / "r.html").read_text("utf8")
    with pytest.raises(ValueError, match="ending of path"):
        WHOLE.save(tmp_path / "r.txt")
