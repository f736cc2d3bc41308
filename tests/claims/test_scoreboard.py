"""The scoreboard counts every verdict once, theorems first, and keeps findings apart."""

import json

import pytest

from evidence.claims.claims import MIME
from evidence.claims.page import Page
from evidence.claims.scoreboard import NOTHING, Scoreboard


@pytest.fixture
def board(tmp_path):
    """Of a chapter with three claims and a finding, and of one without claims."""
    page = Page("fliphat")
    for kind in ("text", "figure", "theorem"):
        claim = page.claim(f"a-{kind}", kind, f"Sentence <{kind}>.", "Section 1")
        claim.row("", 1.0, of="count", high=2.0, control=("three times as many", 3.0))
    page.finding("ours", "A finding.").row("", 3.0, of="count", high=2.0)
    (tmp_path / "claims.json").write_text(json.dumps(page._repr_mimebundle_()[MIME]))
    chapters = [{"chapter": c, "title": c.upper()} for c in ("playing", "fliphat")]
    times = {"scale": "smoke", "chapters": chapters}
    (tmp_path / "times.json").write_text(json.dumps(times))
    return Scoreboard(str(tmp_path / "claims.json"))


def test_claims_link_to_their_places_and_main_results_come_first(board):
    page = board.by_paper()._repr_html_()
    order = [f'href="fliphat.html#claim-a-{kind}"' for kind in ("theorem", "figure", "text")]
    assert sorted(order, key=page.index) == order
    assert page.count("data-kind=") == 3 == page.count('class="verdict')
    assert "Sentence &lt;text&gt;." in page
    assert "A finding" not in page
    page = board.findings()._repr_html_()
    assert page.count("A finding.") == page.count('data-kind="finding"') == 1


def test_the_summary_counts_every_verdict_once_and_findings_apart(board):
    head, *rows = (line.split() for line in repr(board.summary()).splitlines())
    assert head == ["chapter", "reproduced", "findings", "of", "ours"]
    assert [row[-2:] for row in rows] == [["3", "1"], ["3", "1"]]
    assert '<a href="fliphat.html">FLIPHAT</a>' in board.summary()._repr_html_()


def test_without_records_it_says_what_to_do():
    board = Scoreboard()
    assert repr(board.summary()) == NOTHING
    for table in (board.by_paper, board.findings, board.every_sentence):
        assert table()._repr_html_() is not None
