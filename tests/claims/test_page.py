"""What a chapter says to its prose arrives as MyST-NB wants it."""

import numpy as np
import pytest

from companion.stats import Interval
from evidence.claims import markup
from evidence.claims.claims import UNTESTED
from evidence.claims.page import PREFIX, Page, point


@pytest.fixture
def outputs(monkeypatch):
    shown = []
    monkeypatch.setattr(
        "IPython.display.display",
        lambda data, **k: shown.append((data, k)),
    )
    return shown


def test_numbers_reach_the_prose_under_the_name_of_the_chapter(outputs):
    Page("chapter").say(
        share=0.12345,
        count=20_000,
        text="so it's",
        exponent=Interval(1.0, 0.5, 2),
    )
    names = [k["metadata"]["scrapbook"]["name"] for _, k in outputs]
    assert names == [f"chapter_{n}" for n in ("share", "count", "text", "exponent")]
    texts = [data[f"{PREFIX}text/plain"] for data, _ in outputs]
    assert texts == ["'0.123'", "'20,000'", '"so it\'s"', "'1 [0.5, 2]'"]
    assert all(
        k["raw"] and k["metadata"]["scrapbook"]["mime_prefix"] == PREFIX
        for _, k in outputs
    )


def test_a_point_says_when_it_is_not_seen():
    assert point("It falls.", True) == "It falls. "
    assert point("It falls.", np.nan < 1.0) == "Not in these runs: It falls. "


def test_provenance_counts_claims_and_no_findings(outputs, capsys, monkeypatch):
    page = Page("chapter")
    page.claim("a", "text", "s", "p").row("", 1.0, of="n", high=2.0, control=("x", 3.0))
    page.claim("b", finding="s")
    monkeypatch.setattr("evidence.claims.given", {"T": 20_000, "ds": [2, 4]})
    page.provenance(7, T=20_000)
    said = capsys.readouterr().out
    assert "seed 7; T = 20,000" in said
    again = 'readable book/chapter.ipynb out.ipynb -p seed 7 -p T 20000 -y "ds: [2, 4]"\n'
    assert again in said
    assert outputs[-1][0][f"{PREFIX}text/plain"] == "'1 reproduced (of 1 claims).'"


def test_sentences_come_from_the_room_with_words_filled_in():
    page = Page("elsewhere", room="fliphat")
    record = page.open("log-d-slopes", slopes="1, 2")
    assert record.kind == "figure"
    assert record.statement == "The slopes of regret/100 on log d are 1, 2."
    assert page.open("honest").finding
    with pytest.raises(KeyError):
        page.open("unheard-of")


@pytest.mark.parametrize(
    ("at_scale", "verdict"),
    [(True, "reproduced"), (False, UNTESTED)],
)
def test_a_smoke_run_tests_no_claim(at_scale, verdict):
    claim = Page("chapter", at_scale).claim("a", "text", "s", "p")
    claim.row("", 1.0, of="n", high=2.0, control=("x", 3.0))
    assert claim.verdict == verdict


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("1.3e+06", "1.3 × 10⁶"),
        ("2.51e+03 [1.2e+03, inf]", "2,510 [1,200, inf]"),
        ("(1, 1e-05)-joint DP", "(1, 10⁻⁵)-joint DP"),
        ("-4.5e-12", "-4.5 × 10⁻¹²"),
        ("12.5, e+06 and x1e+06", "12.5, e+06 and x1e+06"),
    ],
)
def test_powers_of_ten_are_written_as_people_write_them(text, written, outputs):
    assert markup.powers(text) == written
    Page("chapter").say(number=text)
    assert outputs[-1][0][f"{PREFIX}text/plain"] == repr(written)
    assert f">{written}<" in str(markup.table("", ["a"], [[text]]))
