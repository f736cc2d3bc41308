"""A chapter on paper: its words are all there, its folded code is not, and no page is
empty."""

import io
import json
import shutil

import pypdf
import pytest
from tiny_book import tiny

from tools import pdf

BROWSER = next(filter(None, map(shutil.which, pdf.BROWSERS)), None)
# the latter has a figure taller than a page
CHAPTER = "sco_bandit"
TALL = "audits"


@pytest.fixture(scope="module")
def papers(smoke_site):
    """{chapter: text of every page, without its number}."""
    found = {}
    for name, data in pdf.printed(smoke_site, [CHAPTER, TALL]):
        pages = [page.extract_text() for page in pypdf.PdfReader(io.BytesIO(data)).pages]
        found[name] = [
            text.strip().removesuffix(str(i)) for i, text in enumerate(pages, 1)
        ]
    return found


@pytest.mark.slow
@pytest.mark.browser
@pytest.mark.xdist_group("site")
@pytest.mark.skipif(
    BROWSER is None,
    reason="there is no chromium: apt-get install chromium",
)
def test_no_page_is_empty_and_words_figures_and_evidence_are_there(papers, smoke_site):
    for name, pages in papers.items():
        assert [i for i, text in enumerate(pages, 1) if len(text.split()) < 5] == [], name
    text = " ".join(" ".join(papers[CHAPTER]).split())
    latest = max((smoke_site.parent / "executed" / CHAPTER).glob("*.ipynb"))
    cells = json.loads(latest.read_text("utf8"))["cells"]
    titles = [c["source"][0] for c in cells if c["cell_type"] == "markdown"]
    titles = [t.strip("# \n").split(" (")[0] for t in titles if t.startswith("#")]
    assert len(titles) > 3
    assert [t for t in titles if t not in text] == []
    assert "random play leaves the picture" in text  # the caption of a figure
    assert "Claims of the paper (" in text  # the table of verdicts
    assert "long = simulate(" in text  # code in the open
    assert "page = Page(" not in text  # folded code


def test_what_cannot_be_printed_is_refused(tmp_path, capsys):
    tiny(tmp_path, one=["print(1)"])
    assert pdf.main(["--root", str(tmp_path)]) == 2
    assert "the site has no one: run `make book` first" in capsys.readouterr().err
    assert pdf.main(["--root", str(tmp_path), "on"]) == 2
    assert "unknown chapter 'on'; did you mean 'one'?" in capsys.readouterr().err
