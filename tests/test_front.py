"""The front page counts and shows what the executed chapters claim and say."""

import pytest

from evidence.claims.claims import MIME
from tools import front, results
from tools.errors import Failure


def output(**data):
    """A cell with one output of these kinds of data."""
    return {
        "cell_type": "code",
        "outputs": [{"output_type": "display_data", "data": data}],
    }


def record(name, verdict, finding=False):
    """What the front page reads of a claim or a finding."""
    return {"id": name, "verdict": verdict, "finding": finding}


def claims(*records):
    """An executed chapter that shows these records."""
    return {"cells": [output(**{MIME: list(records)})]}


FIGURE = (
    '<figure class="a" id="fig-{name}"><img alt="a"><figcaption>Means of {name}. '
    '<a href="data:">numbers</a> Run again: python</figcaption></figure>'
)
BOOK = {
    "one": claims(
        record("a", "reproduced"),
        record("b", "not settled"),
        record("c", "reproduced"),
        record("d", "holds", finding=True),
        record("e", "reproduced", finding=True),
    ),
    "one_rows": claims(record("f", "reproduced"), record("g", "consistent")),
    "pictures": {
        "cells": [
            output(**{"text/html": FIGURE.format(name="first")}),
            output(**{"text/html": [FIGURE.format(name="second")]}),
        ]
    },
}


def test_verdicts_of_claims_are_counted_and_findings_are_not():
    expected = {"reproduced": 3, "consistent": 1, "not settled": 1}
    assert front.counted(BOOK) == expected
    assert list(front.counted(BOOK)) == list(expected)  # best first


def test_the_tally_tells_chapters_and_evidence_pages_apart():
    said = front.tally(BOOK)
    assert (
        "We tested <b>5</b> sentences of five papers, 3 in the chapters and 2 on" in said
    )
    assert "<b>3</b> reproduced, <b>1</b> consistent, <b>1</b> not settled" in said
    assert "none yet" in front.tally({})


def test_a_verdict_leads_to_the_first_claim_that_has_it():
    page = front.verdicts({"one": BOOK["one"], "one_rows": BOOK["one_rows"]})
    assert '<a href="one.html#claim-a">3 ×' in page
    assert '<a href="one_rows.html#claim-g">1 ×' in page
    assert page.count("<a href") == 3
    assert front.verdicts({}) == "No claims yet."


def test_a_figure_and_its_caption_stand_apart():
    notebook = BOOK["pictures"]
    for name in ("first", "second"):
        assert front.caption(notebook, name) == f"Means of {name}."
        assert f'id="fig-{name}"' in front.figure(notebook, name)
        assert "Means" not in front.figure(notebook, name)


@pytest.mark.parametrize(
    "line",
    ["% figure none first", "% figure pictures third", "% say one x"],
)
def test_what_no_chapter_shows_is_refused(line):
    with pytest.raises(Failure, match="the front page asks for"):
        front.fill(line, BOOK)


def test_lines_of_the_front_page_are_filled():
    text = (
        "A title\n\n% caption pictures second\n% verdicts one one_rows missing\nThe end"
    )
    page = front.fill(text, BOOK)
    assert "Means of second." in page
    assert '<p class="verdicts">' in page
    assert page.startswith("A title")
    assert page.endswith("The end")


def test_a_claim_that_is_shown_twice_is_a_failure():
    twice = {"cells": BOOK["one"]["cells"] * 2}
    assert len(results.claims("one", BOOK["one"])) == 5
    with pytest.raises(Failure, match="one shows a claim twice"):
        results.claims("one", twice)
