"""A chapter on paper: its words are all there, its folded code is not, and no page is empty."""

import io
import json
import shutil

import pypdf
import pytest
from tiny_book import tiny

from tools import pdf

BROWSER = next(filter(None, map(shutil.which, pdf.BROWSERS)), None)
CHAPTER, TALL = "sco_bandit", "audits"  # the latter has a figure taller than a page


@pytest.fixture(scope="module")
def papers(smoke_site):
    """{chapter: text of every page, without its number}."""
    found = {}
    for name, data in pdf.printed(smoke_site, [CHAPTER, TALL, "scoreboard"]):
        pages = [page.extract_text() for page in pypdf.PdfReader(io.BytesIO(data)).pages]
        found[name] = [text.strip().removesuffix(str(i)) for i, text in enumerate(pages, 1)]
    return found


@pytest.mark.slow
@pytest.mark.browser
@pytest.mark.xdist_group("site")
@pytest.mark.skipif(BROWSER is None, reason="there is no chromium: apt-get install chromium")
class TestPaper:
    def test_no_page_is_empty(self, papers):
        for name, pages in papers.items():
            assert [i for i, text in enumerate(pages, 1) if len(text.split()) < 5] == [], name

    def test_the_scoreboard_is_short(self, papers):
        assert 5 < len(papers["scoreboard"]) < 15

    def test_words_figures_and_evidence_are_there_and_folded_code_is_not(self, papers, smoke_site):
        text = " ".join(" ".join(papers[CHAPTER]).split())
        latest = max((smoke_site.parent / "executed" / CHAPTER).glob("*.ipynb"))
        cells = json.loads(latest.read_text("utf8"))["cells"]
        titles = [c["source"] for c in cells if c["cell_type"] == "markdown"]
        titles = [
            "".join(s).lstrip("# ").partition("\n")[0] for s in titles if s[0].startswith("#")
        ]
        assert len(titles) > 3
        assert [t for t in titles if t.split(" (")[0] not in text] == []
        assert "Figure 1." in text
        assert "The rule rejects" in text  # a column of the evidence of a claim
        lines = {
            tag: [line.strip() for c in cells if c["cell_type"] == "code"
                  if ("hide-input" in c["metadata"].get("tags", [])) == (tag == "folded")
                  for line in c["source"] if len(line.split()) > 4 and len(line) < 70]
            for tag in ("folded", "open")
        }  # fmt: skip
        lines["folded"] = [line for line in lines["folded"] if line not in lines["open"]]
        printed = {tag: [ln for ln in own if ln in text] for tag, own in lines.items()}
        assert lines["folded"]
        assert printed["folded"] == []
        assert printed["open"]


def test_what_cannot_be_printed_is_refused(tmp_path, capsys):
    tiny(tmp_path, one=["print(1)"])
    assert pdf.main(["--root", str(tmp_path)]) == 2
    assert "the site has no one: run `make book` first" in capsys.readouterr().err
    assert pdf.main(["--root", str(tmp_path), "on"]) == 2
    assert "unknown chapter 'on'; did you mean 'one'?" in capsys.readouterr().err
