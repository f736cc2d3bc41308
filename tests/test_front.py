"""The front page counts and shows what the executed chapters claim and say."""

import io
import re
import tarfile

import pytest
from real_book import ROOT

from evidence import readable
from evidence.claims.claims import MIME
from evidence.claims.scoreboard import PAPERS
from tools import cache, errata, front, lock, results, site
from tools.errors import Failure


def output(**data):
    """A cell with one output of these kinds of data."""
    return {
        "cell_type": "code",
        "source": "",
        "outputs": [{"output_type": "display_data", "data": data}],
    }


def record(name, verdict, finding=False, kind="theorem"):
    """What the front page reads of a claim or a finding."""
    return {"id": name, "verdict": verdict, "finding": finding, "kind": kind}


def claims(*records):
    """An executed chapter that shows these records."""
    return {"cells": [output(**{MIME: list(records)})]}


BOOK = {
    "lplr": claims(
        record("a", "reproduced"),
        record("b", "not settled"),
        record("c", "reproduced"),
        record("d", "holds", finding=True),
        record("e", "reproduced", finding=True),
    ),
    "lplr_rows": claims(record("f", "reproduced"), record("g", "consistent")),
}
SAYS = ("front_shuffle", "front_local", "front_where")


def says(**values):
    """A cell that hands these texts to the prose."""
    cells = []
    for name, value in values.items():
        cell = output(**{readable.PREFIX: repr(value)})
        cell["outputs"][0]["metadata"] = {"scrapbook": {"name": f"arena_{name}"}}
        cells.append(cell)
    return {"cells": cells}


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


def test_a_verdict_leads_to_the_scoreboard_with_its_rows_alone():
    page = front.verdicts("lplr", BOOK)
    address = "scoreboard.html?Paper=LPLR&amp;Verdict=reproduced#claims-of-the-papers"
    assert f'<a href="{address}">3 ×' in page
    assert page.count("<a href") == 3
    assert "No claims yet." in front.verdicts("fliphat", BOOK)


@pytest.mark.parametrize(
    ("verdict", "kind", "shown"),
    [
        ("wrong as printed", "privacy", "1 of 5"),
        ("wrong as printed", "theorem", "not tested"),
        ("reproduced", "privacy", "0 of 5"),
        ("not tested at this scale", "privacy", "not tested"),
    ],
)
def test_papers_count_whose_privacy_is_wrong_as_printed(verdict, kind, shown):
    book = BOOK | {"fliphat": claims(record("p", verdict, kind=kind))}
    book["arena"] = says(front_shuffle="11%", front_local="<76%", front_where="at 1")
    page = front.numbers(book)
    assert f"<b>{shown}</b>" in page
    assert "<b>11%</b> <span>of random play's regret behind a shuffler, at 1" in page
    assert "<b>&lt;76%</b> <span>if nobody is trusted, at 1" in page


def test_what_no_chapter_says_is_refused():
    with pytest.raises(Failure, match="arena_front_local, which no chapter says"):
        front.numbers({"arena": says(front_shuffle="1", front_where="2")})
    with pytest.raises(Failure, match="asks for none, which is no paper"):
        front.fill("% verdicts none", BOOK)


def test_lines_of_the_front_page_are_filled():
    page = front.fill("A title\n\n% verdicts lplr\n% tally\nThe end", BOOK)
    assert '<p class="verdicts">' in page
    assert 'class="tally"' in page
    assert page.startswith("A title")
    assert page.endswith("The end")


def test_words_of_the_front_page_have_the_verdicts_of_the_lock():
    """A link with a title says what is judged there: its title is the verdict."""
    kept = lock.read(ROOT)["claims"]
    link = r'<a href="(\w+)\.html#claim-([\w-]+)" title="([^"]+)"'
    found = re.findall(link, (ROOT / "book" / "index.md").read_text("utf8"))
    assert len(found) > 15
    for chapter, claim, verdict in found:
        assert kept[f"{chapter}/{claim}"]["verdict"] == verdict, (chapter, claim)


def test_papers_have_one_name_on_all_pages():
    assert set(errata.PAPERS.values()) == set(PAPERS.values())
    text = (ROOT / "ERRATA.md").read_text("utf8")
    assert {match[2] for match in errata.entries(text).values()} == set(errata.PAPERS)


def test_a_claim_that_is_shown_twice_is_a_failure():
    twice = {"cells": BOOK["lplr"]["cells"] * 2}
    assert len(results.claims("lplr", BOOK["lplr"])) == 5
    with pytest.raises(Failure, match="lplr shows a claim twice"):
        results.claims("lplr", twice)


def test_the_site_carries_the_sources_and_nothing_that_a_run_left():
    packed = site.sources(ROOT)
    assert packed == site.sources(ROOT)
    with tarfile.open(fileobj=io.BytesIO(packed)) as tar:
        names = {name.removeprefix("private_bandits/") for name in tar.getnames()}
    there = {"pyproject.toml", "LICENSE", "companion/core.py", "book/index.md"}
    assert there <= names
    assert {n for n in names if n.startswith(("_build", ".venv")) or "__py" in n} == set()


def test_every_line_that_a_program_fills_is_filled_and_readers_get_no_records():
    arena = says(**dict.fromkeys(SAYS, "1"))
    place = {"text/html": "<!-- history of arena/honest-price -->"}
    heading = {"cell_type": "markdown", "source": "# Every policy\n\nText."}
    arena["cells"] = [heading, *arena["cells"], output(**place)]
    executed = {}
    for name, notebook in {"lplr": BOOK["lplr"], "arena": arena}.items():
        notebook["metadata"] = {cache.RUN: {}}
        executed[ROOT / "book" / f"{name}.ipynb"] = notebook
    stage = site.mirror(ROOT, executed, b"")
    pages = {name: data.decode() for name, data in stage.items() if name.endswith(".md")}
    assert [name for name, page in pages.items() if re.search("^% ", page, re.M)] == []
    module, *_ = re.findall("automodule:: (.*)", pages["book/api/fliphat.md"])
    assert module == "companion.fliphat.fliphat"
    assert "\n## Every policy\n" in pages["book/changes.md"]
    assert b"changes.html#arena-honest-price" in stage["book/arena.ipynb"]
    for word in (MIME, cache.RUN):
        assert word.encode() not in stage["book/lplr.ipynb"]
