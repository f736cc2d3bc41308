"""Sphinx extension: what search.js needs to find a theorem by its number, a chapter by
its file.

Sphinx's search counts words on pages; "Theorem 3.2" then finds every page with a theorem
and a 3.2. This collects the boxes of theorems and the claims, with the places in papers
that they name, the chapters and the words of the glossary while their pages are written,
into `_static/places.js`, which the search page loads.
"""

import html
import json
import re
from pathlib import Path

KINDS = (
    "theorem",
    "corollary",
    "proposition",
    "lemma",
    "definition",
    "remark",
    "algorithm",
    "figure",
    "table",
    "section",
    "appendix",
    "claim",
)
NUMBER = r"[A-Z]{0,2}\.?\d[\w.]*"
PLURAL = {"corollaries": "corollary", "appendices": "appendix"}
NAMED = re.compile(
    rf"\b({'|'.join([*KINDS, *PLURAL])})s? ({NUMBER}(?:(?:, | and | to |–){NUMBER})*)",
    re.IGNORECASE,
)
BOX = re.compile(
    r'<div class="proof [^"]*" id="([^"]+)">\s*<p class="admonition-title">(.*?)</p>',
    re.DOTALL,
)
CLAIM = re.compile(r'<div class="claim" id="([^"]+)"><p>(.*?)</p>', re.DOTALL)
TERM = re.compile(r'<dt id="(term-[^"]+)">(.*?)<a class="headerlink"', re.DOTALL)
ERRATUM = re.compile(
    r'<a id="(\w+)" data-paper="([^"]*)"[^>]*></a>(.*?)</strong>', re.DOTALL
)
VERDICT = re.compile(r'<span class="verdict[^>]*>.*?</span>')


def named(text):
    """The places of a paper that a text names: "Theorems 3.5 and 3.8" gives two."""
    found = []
    for kind, numbers in NAMED.findall(text):
        kind = PLURAL.get(kind.lower(), kind.lower())
        found += [f"{kind} {n.rstrip('.').lower()}" for n in re.findall(NUMBER, numbers)]
    return list(dict.fromkeys(found))


def words(page):
    """The text of a piece of HTML in one line."""
    return " ".join(html.unescape(re.sub(r"<[^>]+>", "", page)).split())


def entries(body, url, source):
    """[[places named, what is shown, address, source]] of boxes and claims on a page."""
    boxes = [(anchor, words(said)) for anchor, said in BOX.findall(body)]
    # the book's own number comes first ("Theorem 1.3"); the paper's place is in the title
    found = [
        [named(re.sub(r"^\w+ [\w.]+ ", "", said)), said, anchor] for anchor, said in boxes
    ]
    for anchor, said in CLAIM.findall(body):
        found.append(
            [
                named(words(" ".join(re.findall(r"<small>(.*?)</small>", said)))),
                words(VERDICT.sub("", said)),
                anchor,
            ]
        )
    return [
        [keys, said, f"{url}#{anchor}", source] for keys, said, anchor in found if keys
    ]


def terms(body, url):
    """[[word], word, address, source] of the words that a page explains."""
    return [
        [
            [words(said).lower()],
            words(said),
            f"{url}#{anchor}",
            "Glossary: what the word means",
        ]
        for anchor, said in TERM.findall(body)
    ]


def errata(body, url):
    """[[number], number and place, address, source] of the errata on a page."""
    found = ERRATUM.findall(body)
    return [
        [[number], words(said), f"{url}#{number}", f"Errata: {paper}"]
        for number, paper, said in found
    ]


def _body(app, pagename, templatename, context, doctree):
    found = app.env.places
    if pagename == "search":
        target = Path(app.outdir) / "_static" / "places.js"
        target.parent.mkdir(exist_ok=True)
        every = [entry for page in sorted(found) for entry in found[page]]
        target.write_text(
            f"window.PLACES = {json.dumps(every, ensure_ascii=False)};\n",
            "utf8",
        )
        app.add_js_file("places.js")
        app.add_js_file("search.js")
    elif "body" in context and re.fullmatch(r"book/\w+", pagename):
        title = words(context["title"])
        url = f"{pagename}.html"
        body = context["body"]
        page = [[title.lower(), pagename.removeprefix("book/")], title, url, "Page"]
        others = [*terms(body, url), *errata(body, url)]
        found[pagename] = [page, *entries(body, url, title), *others]


def _start(app):
    app.env.places = {}


def setup(app):
    app.connect("builder-inited", _start)
    app.connect("html-page-context", _body)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": False}
