"""Every sentence of every paper stands once, with a verdict or a reason; no claim is
missing."""

import re

import pytest
from real_book import ROOT

from evidence.claims import scoreboard
from evidence.claims.page import Page
from evidence.claims.published import sentences

ROOMS = sorted(p.parent.name for p in ROOT.glob("companion/*/claims.toml"))
assert set(ROOMS) == set(scoreboard.PAPERS)
LABEL = re.compile(
    r"(?!Section|Appendix|Contribution)([A-Z][a-z]+)s? ((?:[A-Z]+|\d+)\.)?(\d+)\b"
)


def numbers(told):
    """{counter: sorted numbers}: "Lemma 3.2" counts under "3" where all kinds of a
    section share a counter, else under "Lemma 3"; "Table 2" counts under "Table"."""
    found = {}
    for place in [s["place"] for s in told["sentences"]] + told["assumed"]:
        if match := LABEL.match(place):
            kind = match[1]
            section = (match[2] or "").rstrip(".")
            number = int(match[3])
            key = section if section in told["counters"] else f"{kind} {section}".strip()
            found.setdefault(key, []).append(number)
    return {key: sorted(n) for key, n in found.items() if key in told["counters"]}


@pytest.mark.parametrize("room", ROOMS)
def test_every_sentence_has_a_verdict_or_a_reason_and_every_claim_appears(room):
    told = scoreboard.paper(room)
    for sentence in told["sentences"]:
        assert set(sentence) <= {"place", "says", "claims", "shown", "why"}, sentence
        assert all(sentence.values()), sentence
        assert "claims" in sentence or len(sentence.get("why", "")) > 10, sentence
    known = {name for name, claim in sentences(room).items() if "says" in claim}
    assert {i for s in told["sentences"] for i in s.get("claims", ())} == known


@pytest.mark.parametrize("room", ROOMS)
def test_no_number_of_the_paper_is_missing_or_stands_twice(room):
    told = scoreboard.paper(room)
    ends = {key: list(range(1, last + 1)) for key, last in told["counters"].items()}
    assert numbers(told) == ends


def test_a_table_links_verdicts_and_says_what_is_not_judged(monkeypatch):
    listed = [
        {
            "place": "Lemma 1",
            "says": "a < b",
            "claims": ["one", "two"],
            "why": "it <is> easy",
        },
        {"place": "Lemma 2", "says": "b", "shown": ["x#y"], "why": "an identity"},
        {"place": "Remark 1", "says": "c", "why": "opinion"},
    ]
    told = {"paper": "P", "chapters": ["x"], "sentences": listed}
    monkeypatch.setattr(scoreboard, "paper", lambda room: told)
    monkeypatch.setattr(scoreboard, "PAPERS", {"lplr": "P"})
    claims = Page("x")
    claims.claim("one", "theorem", "s", "Lemma 1").exact("", 1.0, of="n", high=2.0)
    board = scoreboard.Scoreboard()
    board.claims = claims.records
    page = board.every_sentence()._repr_html_()
    for said in (
        'href="x.html#claim-one"',
        "two: not built",
        'href="x.html#y">shown',
        'data-label="Sentence">a &lt; b<',
        'data-label="Remark">it &lt;is&gt; easy<',
        "P: 3 sentences, 1 judged",
        'data-label="Verdict">not judged<',
    ):
        assert said in page
