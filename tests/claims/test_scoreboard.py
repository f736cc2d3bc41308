"""The scoreboard counts every verdict once, theorems first, and keeps findings apart."""

import json
from types import SimpleNamespace

import pytest
from real_book import ROOT

from companion.stats import Interval
from evidence.claims.claims import MIME, UNTESTED, grade
from evidence.claims.page import Page
from evidence.claims.scoreboard import NOTHING, Scoreboard, intervals

LOCK = ROOT / "book" / "results.lock"


@pytest.fixture
def board(tmp_path):
    """Of a chapter with three claims and a finding."""
    page = Page("fliphat")
    for kind in ("text", "figure", "theorem"):
        claim = page.claim(f"a-{kind}", kind, f"Sentence <{kind}>.", "Section 1")
        claim.row("", 1.0, of="count", high=2.0, control=("three times as many", 3.0))
    page.claim("ours", finding="A finding.")
    (tmp_path / "claims.json").write_text(json.dumps(page._repr_mimebundle_()[MIME]))
    return Scoreboard(str(tmp_path / "claims.json"))


def test_claims_link_to_their_places_and_main_results_come_first(board):
    page = board.sentences(finding=False)._repr_html_()
    assert page.startswith("<div data-filters></div>")
    order = [
        f'href="fliphat.html#claim-a-{kind}"' for kind in ("theorem", "figure", "text")
    ]
    assert sorted(order, key=page.index) == order
    assert page.count("data-kind=") == 3 == page.count('class="verdict')
    assert "Sentence &lt;text&gt;." in page
    assert "A finding" not in page
    assert page.count('data-label="Place">Section 1<') == 3
    assert page.count('data-label="Evidence"><details><summary>1 row<') == 3
    page = board.sentences(finding=True)._repr_html_()
    assert page.count("A finding.") == page.count('data-kind="finding"') == 1
    board.claims[0].chapter = "fliphat_rows"
    page = board.sentences(finding=False)._repr_html_()
    assert "FLIPHAT: 1 further sentences<" in page


def test_the_summary_counts_every_verdict_once_and_findings_apart(board):
    page = board.summary()._repr_html_()
    assert "1 findings of ours stand apart" in page
    assert '<a href="?Paper=FLIPHAT#claims-of-the-papers">FLIPHAT</a>' in page
    assert page.count('aria-label="3 reproduced"') == 2
    assert page.count("<small>3 sentences</small>") == 2


def test_without_records_it_says_what_to_do():
    board = Scoreboard()
    assert repr(board.summary()) == NOTHING
    for table in (board.every_sentence(), board.chance(), board.sentences(finding=True)):
        assert table._repr_html_() is not None


def kept(claim):
    """A claim as the scoreboard reads it."""
    return SimpleNamespace(**vars(claim), verdict=claim.verdict)


def record(*intervals, bound=False):
    """The record of a claim that each interval lies between 0 and 10."""
    claim = Page("fliphat").claim("c", "theorem", "Sentence.", "Section 1", bound=bound)
    for i, ends in enumerate(intervals):
        claim.row(f"row {i}", Interval(sum(ends) / 2, *ends), low=0.0, high=10.0)
    return kept(claim)


@pytest.mark.parametrize(
    ("ends", "bound", "moved"),
    [
        ([(4, 6)], False, ""),
        ([(7, 8.9)], False, ""),
        ([(7, 9.1)], False, "undecided"),  # 9.1 and half of 2.1 is above 10
        ([(0.9, 3)], False, "undecided"),
        ([(9, 10.8)], False, "holds"),  # more than half of it lies inside
        ([(9.2, 11)], False, "fails"),  # not quite: its middle is above 10
        ([(9.2, 11)], True, ""),  # a bound is not refuted by a row
        ([(11.1, 13)], False, ""),
        ([(10.9, 13)], False, "undecided"),
        ([(10.9, 13), (12, 13)], False, ""),  # the other row fails, too
        ([(10.9, 13)], True, ""),
    ],
)
def test_a_verdict_hangs_on_an_interval_within_half_its_width_of_a_limit(
    ends,
    bound,
    moved,
):
    found = intervals([record(*ends, bound=bound)])
    assert found["if it is moved"][0] == moved


def test_audits_and_exact_numbers_are_not_counted():
    claim = Page("fliphat").claim("d", "privacy", "Sentence.", "Section 1")
    claim.exact("", 3.0, of="count", high=2.0)
    claim.audited("", 0.5, 1.0, 1.0)
    found = intervals([record(*[(4, 6)] * 40), kept(claim)])
    assert found.record.tolist() == ["fliphat/c"] * 40


def test_the_verdicts_of_the_lock_follow_from_its_rows():
    """So what `intervals` says of them is about these verdicts."""
    good = {"reproduced", "reproduced with changes", "consistent", "holds"}
    expected = dict.fromkeys(["not settled", "undecided"], "undecided")
    expected |= dict.fromkeys(good, "holds")
    for name, entry in json.loads(LOCK.read_text("utf8"))["claims"].items():
        outcomes = [row["outcome"] for row in entry["rows"]]
        if entry["verdict"] == "wrong as printed":
            assert "fails" in outcomes, name
        else:
            graded = expected.get(entry["verdict"], "fails")
            assert grade(outcomes, entry["bound"]) == graded, name


def test_the_page_says_how_many_intervals_miss(board):
    assert "0 of the 4 records rest on intervals of 95 %" in board.chance()._repr_html_()
    board.claims = [record(*[(4, 6)] * 40), record((7, 9.1))]
    board.claims[1].verdict = UNTESTED
    said = "1 of the 1 records rest on intervals of 95 %, 40 in all. About 2 of these"
    assert said in board.chance()._repr_html_()
    board.claims = [record((7, 9.1), (7, 9.1))]
    page = board.chance()._repr_html_()
    for said in (
        "1 verdicts hang on one interval",  # by either row
        'data-label="row">row 0<',
        'data-label="interval">7 to 9.1<',
        'data-label="rule">95 % interval within [0, 10]<',
        'data-label="outcome">holds<',
    ):
        assert said in page
    board.claims[0].verdict = "wrong as printed"  # by a proof
    assert "0 verdicts hang on one interval" in board.chance()._repr_html_()
