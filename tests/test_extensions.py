"""The extensions of the site: pictures as files, and places of papers for the search."""

import base64
import json

import pytest

from tools.ext import pictures, places

SVG = b'<svg width="90pt"></svg>'


def address(kind, data):
    return f"data:{kind};base64,{base64.b64encode(data).decode()}"


def test_pictures_and_tables_become_lazy_files():
    page = (
        f'<img alt="a" src="{address("image/svg+xml", SVG)}">'
        f'<a download="a.csv" href="{address("text/csv", b"x")}">Data</a>'
    )
    shown, files = pictures.outsourced(page, "../")
    assert "base64" not in shown
    assert sorted(files.values()) == sorted([SVG, b"x"])
    assert all(f'../_images/{name}"' in shown for name in files)
    assert shown.count('loading="lazy"') == 1


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Theorem 3.2 of the paper (privacy)", ["theorem 3.2"]),
        ("Theorems 3.5 and 3.8 with Lemma B.3", ["theorem 3.5", "theorem 3.8", "lemma b.3"]),
        ("Figure 1 (left), section 4.1.", ["figure 1", "section 4.1"]),
        ("Corollaries 3.6, 3.7", ["corollary 3.6", "corollary 3.7"]),
        ("What one user enters (ours)", []),
    ],
)
def test_places_that_a_text_names(text, found):
    assert places.named(text) == found


def test_boxes_and_claims_are_found_by_the_paper_s_number_not_by_ours():
    page = """<div class="proof theorem admonition" id="t">
        <p class="admonition-title"><span class="caption-number">Theorem 5.1 </span> (Theorem
        3.2 of the paper)</p></div>
        <div class="claim" id="evidence-a"><p><span class="verdict good">x</span> It is private.
        <small>Theorem 3.2, abstract</small></p></div>
        <div class="claim" id="evidence-b"><p>No place.</p></div>"""
    found = places.entries(page, "book/a.html", "A paper")
    assert [names for names, *_ in found] == [["theorem 3.2"]] * 2
    assert [url for _, _, url, _ in found] == ["book/a.html#t", "book/a.html#evidence-a"]
    assert found[1][1] == "It is private. Theorem 3.2, abstract"
    assert json.dumps(found)
