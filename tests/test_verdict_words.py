"""A verdict in a chapter's prose is the one in the lock."""

import re

import pytest
from real_book import BOOK, ROOT

from tools import chapters, lock

CLAIMS = lock.read(ROOT)["claims"]
WORDS = {claim["verdict"] for claim in CLAIMS.values()}
LINK = re.compile(r'<a href="(?:(\w+)\.html)?#(?:claim|evidence)-([\w-]+)">([^<]+)</a>')


def typed(text, name):
    """[(claim, verdict)] of the links to claims whose text is a verdict."""
    found = []
    for page, claim, words in LINK.findall(text):
        if words.lower() in WORDS:
            found.append((f"{page or name}/{claim}", words.lower()))
    return found


@pytest.mark.parametrize("name", sorted(BOOK))
def test_a_typed_verdict_is_that_of_the_lock(name):
    for cell in BOOK[name].notebook["cells"]:
        for claim, verdict in typed(chapters.source(cell), name):
            assert (claim, CLAIMS[claim]["verdict"]) == (claim, verdict)


def test_links_are_read_with_their_page():
    text = '<a href="lplr.html#evidence-thm4">Holds</a>, <a href="#claim-a-b">here</a>'
    assert typed(text, "audits") == [("lplr/thm4", "holds")]
