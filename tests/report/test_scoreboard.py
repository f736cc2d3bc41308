"""The scoreboard groups claims by theorem and figure, main ones first, and keeps findings apart."""

import json
import re

import pytest

from companion.report import markup, scoreboard
from companion.report.claims import MIME, Claims
from companion.report.scoreboard import NOTHING, Scoreboard

PLACES = {
    "Lemma H.6": "Lemma H.6",
    "Section 5, Figure 1 (a)": "Figure 1",
    "appendix F.3": "Appendix F.3",
    "Theorem 5.1, with B = R + x_max b_max": "Theorem 5.1",
    "Theorems 3.2 and 3.3": "Theorem 3.2",
    "Figure 1 (left)": "Figure 1",
    "abstract": "Elsewhere in the paper",
    "Lemma 3.5 at Δ = 0, with the constants of Theorem C.2": "Lemma 3.5",
}


@pytest.fixture
def records(tmp_path):
    """Path of the records of a chapter with one claim per place and a finding."""
    claims = Claims("fliphat")
    for i, place in enumerate(PLACES):
        claim = claims.claim(f"claim-{i}", "text", f"Sentence <{i}>.", place)
        claim.row("", 1.0, of="count", high=2.0, control=("three times as many", 3.0))
    claims.finding("ours", "A finding.").row("", 3.0, of="count", high=2.0)
    rows = claims._repr_mimebundle_()[MIME]
    (tmp_path / "claims.json").write_text(json.dumps(rows))
    times = {
        "scale": "smoke",
        "cores": 2,
        "python": "3.11",
        "chapters": [
            {"chapter": c, "title": c.upper(), "seconds": 1.0, "cpu_seconds": 2.0, "parameters": {}}
            for c in ("playing", "fliphat")
        ],
    }
    (tmp_path / "times.json").write_text(json.dumps(times))
    return tmp_path / "claims.json"


@pytest.mark.parametrize(("place", "name"), PLACES.items())
def test_a_claim_belongs_to_the_main_result_that_its_place_names(place, name):
    record = Claims("t").claim("a", "text", "s", place).record
    assert markup.group(record)[1] == name


def test_claims_are_grouped_and_main_results_come_first(records):
    page = Scoreboard(str(records)).by_paper()._repr_html_()
    heads = re.findall(r'scope="rowgroup">([^<]+)<', page)
    assert heads == ["Theorem 5.1", "Theorem 3.2", "Figure 1", "Lemma H.6", "Lemma 3.5",
                     "Appendix F.3", "Elsewhere in the paper"]  # fmt: skip
    assert page.count("#claim-") == len(PLACES)
    assert 'href="fliphat.html#claim-claim-1"' in page
    assert "A finding" not in page
    assert "<1>" not in page


def test_findings_stand_apart_and_are_counted_apart(records):
    board = Scoreboard(str(records))
    page = board.findings()._repr_html_()
    assert page.count("A finding.") == 1
    assert "Sentence" not in re.sub(r"<th.*?</th>", "", page)
    summary = board.summary()._repr_html_()
    assert f"{len(PLACES)} × " in summary
    assert "✗" not in summary
    assert "PLAYING" not in summary  # a chapter without claims


def test_every_sentence_is_listed_and_judged_ones_lead_to_their_claims(records):
    page = Scoreboard(str(records)).every_sentence()._repr_html_()
    assert "Theorem 3.4" in page
    assert page.count("<details>") == 5


def test_filters_find_paper_kind_and_verdict_in_every_row(records):
    board = Scoreboard(str(records))
    page = board.by_paper()._repr_html_()
    assert page.count('data-kind="text"') == len(PLACES) == page.count('class="verdict')
    assert board.findings()._repr_html_().count('data-kind="finding"') == 1
    assert "data-filters" in board.filters()._repr_html_()


def test_the_picture_counts_claims_and_no_findings(records):
    shown = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("companion.report.plots.show", lambda fig, **said: shown.append(said))
        Scoreboard(str(records)).picture()
    (said,) = shown
    assert said["data"] == [{"chapter": "FLIPHAT", "verdict": "reproduced", "claims": len(PLACES)}]
    assert f"{len(PLACES)} reproduced" in said["alt"]
    assert Scoreboard().picture() is None


def test_run_times_of_every_chapter(records):
    page = Scoreboard(str(records)).run_times()._repr_html_()
    assert "smoke scale, 2 cores, Python 3.11" in page
    assert page.count("as committed") == 2


def test_without_records_every_table_says_what_to_do():
    board = Scoreboard()
    for table in (
        board.summary(),
        board.filters(),
        board.by_paper(),
        board.findings(),
        board.run_times(),
    ):
        assert NOTHING in table._repr_html_()
        assert repr(table) == NOTHING


def test_the_message_counts_every_verdict_once(records):
    page = Scoreboard(str(records)).message()._repr_html_()
    assert f"We tested <b>{len(PLACES)}</b> sentences" in page
    assert f"<b>{len(PLACES)}</b> hold: {len(PLACES)} as printed, and 0 with changes" in page
    assert "<b>0</b> are wrong as printed" in page
    assert "at the scale of this build" not in page
    assert NOTHING in Scoreboard().message()._repr_html_()


def test_what_was_too_small_to_test_is_counted_apart(records):
    rows = json.loads(records.read_text())
    rows[0]["verdict"] = "not tested at this scale"
    records.write_text(json.dumps(rows))
    page = Scoreboard(str(records)).message()._repr_html_()
    assert f"We tested <b>{len(PLACES) - 1}</b> sentences" in page
    assert "1 could not be tested at the scale of this build" in page


def test_a_bar_has_the_title_of_its_chapter_in_short_lines():
    title = "Generalized linear bandits: further sentences"
    assert scoreboard._short({"title": title}) == "Generalized linear\nbandits"
