"""The scoreboard counts every verdict once, main results first, and keeps findings apart."""

import json

import pytest

from companion.report.claims import MIME, Claims
from companion.report.scoreboard import NOTHING, Scoreboard

PLACES = ["abstract", "appendix F.3", "Section 5, Figure 1 (a)", "Theorems 3.2 and 3.3",
          "Lemma 3.5 at Δ = 0, with the constants of Theorem C.2"]  # fmt: skip


@pytest.fixture
def records(tmp_path):
    """Path of the records of a chapter with one claim per place and a finding."""
    claims = Claims("fliphat")
    for i, place in enumerate(PLACES):
        claim = claims.claim(f"claim-{i}", "text", f"Sentence <{i}>.", place)
        claim.row("", 1.0, of="count", high=2.0, control=("three times as many", 3.0))
    claims.finding("ours", "A finding.").row("", 3.0, of="count", high=2.0)
    (tmp_path / "claims.json").write_text(json.dumps(claims._repr_mimebundle_()[MIME]))
    chapters = [
        {"chapter": c, "title": c.upper(), "seconds": 1.0, "cpu_seconds": 2.0, "parameters": {}}
        for c in ("playing", "fliphat")
    ]
    times = {"scale": "smoke", "cores": 2, "python": "3.11", "chapters": chapters}
    (tmp_path / "times.json").write_text(json.dumps(times))
    return tmp_path / "claims.json"


def test_claims_link_to_their_places_and_main_results_come_first(records):
    page = Scoreboard(str(records)).by_paper()._repr_html_()
    order = [f'href="fliphat.html#claim-claim-{i}"' for i in (3, 2, 4, 1, 0)]
    assert sorted(order, key=page.index) == order
    assert page.count('data-kind="text"') == len(PLACES) == page.count('class="verdict')
    assert "A finding" not in page
    assert "<1>" not in page


def test_findings_stand_apart_and_are_counted_apart(records):
    board = Scoreboard(str(records))
    page = board.findings()._repr_html_()
    assert page.count("A finding.") == page.count('data-kind="finding"') == 1
    summary = board.summary()._repr_html_()
    assert f"{len(PLACES)} × " in summary
    assert "✗" not in summary
    assert "PLAYING" not in summary  # a chapter without claims
    assert board.run_times()._repr_html_().count("as committed") == 2


def test_the_message_counts_every_verdict_once(records):
    rows = json.loads(records.read_text())
    rows[0]["verdict"] = "not tested at this scale"
    records.write_text(json.dumps(rows))
    board, held = Scoreboard(str(records)), len(PLACES) - 1
    page = board.message()._repr_html_()
    assert f"We tested <b>{held}</b> sentences" in page
    assert f"<b>{held}</b> hold: {held} as printed, and 0 with changes" in page
    assert "1 could not be tested at the scale of this build" in page


def test_without_records_every_table_says_what_to_do():
    board = Scoreboard()
    for table in (board.message, board.summary, board.by_paper, board.findings, board.run_times):
        assert NOTHING in table()._repr_html_()
        assert repr(table()) == NOTHING
