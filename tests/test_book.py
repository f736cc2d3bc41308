"""The whole book at smoke scale, warnings fatal, and the site it makes, read without a
browser."""

import json
import re
from html.parser import HTMLParser
from urllib.parse import unquote, urlsplit

import pytest
from real_book import BOOK

from tools.chapters import code

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("site")]

# What a page or a style sheet would fetch from somewhere else.
LOAD = re.compile(
    r"""<(?:script|img|iframe|source|video|audio|embed)\b[^>]*?"""
    r"""\b(?:src|srcset|data)\s*=\s*["']?(?:https?:)?//"""
    r"""|<link\b(?=[^>]*\brel=["']?(?:stylesheet|preload|modulepreload|icon|shortcut))"""
    r"""[^>]*?\bhref\s*=\s*["']?(?:https?:)?//""",
    re.IGNORECASE,
)
CSS = re.compile(r"""(?:@import\s+|url\()\s*["']?(?:https?:)?//""", re.IGNORECASE)


class Page(HTMLParser):
    """Ids, links and images of one page."""

    def __init__(self, text):
        super().__init__()
        self.ids = set()
        self.links = []
        self.images = []
        self.icons = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.ids |= {attrs[k] for k in ("id", "name") if attrs.get(k)}
        if tag == "a" and attrs.get("href"):
            self.links.append(attrs["href"])
        if tag in ("script", "img") and attrs.get("src"):
            self.links.append(attrs["src"])
        if tag == "link" and attrs.get("rel") in ("stylesheet", "icon"):
            self.links.append(attrs["href"])
        if tag == "link" and attrs.get("rel") == "icon":
            self.icons.append(attrs["href"])
        if tag == "img":
            self.images.append(attrs)


@pytest.fixture(scope="module")
def read_pages(smoke_site):
    """path -> Page for every page of the site."""
    found = {p: Page(p.read_text("utf8")) for p in smoke_site.rglob("*.html")}
    return {p: page for p, page in found.items() if "_static" not in p.parts}


def test_every_notebook_has_its_page_with_outputs(smoke_site):
    for name in BOOK:
        page = (smoke_site / "book" / f"{name}.html").read_text("utf8")
        assert "cell_output" in page, name
        download = json.loads(
            (smoke_site / "_sources" / "book" / f"{name}.ipynb").read_text()
        )
        assert all(c["execution_count"] for c in code(download)), name
        texts = ["".join(cell["source"]) for cell in download["cells"]]
        assert "{glue:text}" not in "".join(texts), name  # numbers stand there


def test_the_site_asks_nobody_for_anything(smoke_site):
    pages = [p for p in smoke_site.rglob("*.html") if LOAD.search(p.read_text("utf8"))]
    styles = [p for p in smoke_site.rglob("*.css") if CSS.search(p.read_text("utf8"))]
    assert pages + styles == []


def test_every_internal_link_resolves(smoke_site, read_pages):
    broken = []
    for path, page in read_pages.items():
        for link in page.links:
            url = urlsplit(link)
            if url.scheme or url.netloc or path.name == "404.html":
                continue
            target = (path.parent / unquote(url.path)).resolve() if url.path else path
            fragment = unquote(url.fragment)
            known = read_pages[target].ids if target in read_pages else {fragment}
            if not target.is_file() or (fragment and fragment not in known):
                broken.append(f"{path.relative_to(smoke_site)}: {link}")
    assert broken == []


def test_every_page_names_its_icon(read_pages):
    """Browsers ask for `favicon.ico` otherwise, and say that it is missing."""
    assert [path for path, page in read_pages.items() if not page.icons] == []


def test_every_image_says_what_it_shows(smoke_site, read_pages):
    silent = [
        f"{path.relative_to(smoke_site)}: {str(image.get('src'))[:80]}"
        for path, page in read_pages.items()
        for image in page.images
        if not (image.get("alt") or "").strip()
    ]
    assert silent == []


def test_pages_name_no_path_of_the_machine(smoke_site):
    said = [
        p
        for p in smoke_site.rglob("*")
        if p.suffix in (".html", ".ipynb")
        and str(smoke_site.parents[1]) in p.read_text("utf8")
    ]
    assert said == []


def test_claims_of_the_smoke_build_are_on_the_scoreboard(smoke_site):
    records = json.loads(
        (smoke_site.parent / "results" / "claims.json").read_text("utf8")
    )
    board = (smoke_site / "book" / "scoreboard.html").read_text("utf8")
    assert board.count('class="verdict ') >= len(records)
