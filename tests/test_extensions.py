"""The extensions of the site: pictures as files, and places of papers for the search."""

import base64
import json

from tools.ext import docstrings, pictures, places

SVG = b'<svg width="90pt"></svg>'


def test_pictures_and_tables_become_lazy_files():
    svg, csv = (base64.b64encode(data).decode() for data in (SVG, b"x"))
    page = f"""<img alt="a" src="data:image/svg+xml;base64,{svg}">
        <a download="a.csv" href="data:text/csv;base64,{csv}">Data</a>"""
    shown, files = pictures.outsourced(page, "../")
    assert "base64" not in shown
    assert sorted(files.values()) == sorted([SVG, b"x"])
    assert all(f'../_images/{name}"' in shown for name in files)
    assert shown.count('loading="lazy"') == 1


def test_boxes_and_claims_are_found_by_the_paper_s_number_not_by_ours():
    page = """<div class="proof theorem admonition" id="t">
        <p class="admonition-title"><span class="caption-number">Theorem 5.1 </span> (Theorem
        3.2 of the paper)</p></div>
        <div class="claim" id="evidence-a"><p><span class="verdict good">x</span> It is private.
        <small>Theorem 3.2, abstract</small></p></div>
        <div class="claim" id="evidence-b"><p>No place.</p></div>"""
    found = places.entries(page, "book/a.html", "A paper")
    assert [names for names, *_ in found] == [["theorem 3.2"]] * 2
    several = places.named("Theorems 3.5 and 3.8 with Lemma B.3")
    assert several == ["theorem 3.5", "theorem 3.8", "lemma b.3"]
    assert [url for _, _, url, _ in found] == ["book/a.html#t", "book/a.html#evidence-a"]
    assert found[1][1] == "It is private. Theorem 3.2, abstract"
    assert json.dumps(found)


def test_captions_have_the_number_of_their_chapter():
    page = "<h1>{}Title</h1><picture></picture>\n<figcaption>It falls.</figcaption>"
    chapter = '<span class="section-number">4.12. </span>'
    body = page.format(chapter) + "<picture></picture><figcaption>It rises."
    shown = pictures.numbered(body)
    assert "<b>Figure 4.12.1.</b> It falls." in shown
    assert "<b>Figure 4.12.2.</b> It rises." in shown
    assert "<b>Figure 1.</b> It falls." in pictures.numbered(page.format(""))


def test_an_erratum_is_found_by_its_number():
    page = (
        '<a id="gl1" data-paper="GLM" data-weight="misprint"></a><strong>GL1. Line 8 '
        "(privacy)</strong>"
    )
    found = places.errata(page, "errata.html")
    assert found == [[["gl1"], "GL1. Line 8 (privacy)", "errata.html#gl1", "Errata: GLM"]]


def shown(docstring, what="function"):
    """The reST of a docstring, as napoleon gets it."""
    lines = docstring.split("\n")
    docstrings._parameters(None, what, "", None, None, lines)
    return "\n".join(lines)


def test_names_with_descriptions_stand_one_below_the_other():
    docstring = "alpha: how far\n    it goes.\nbeta(x) -> y, how fast.\ngamma: why."
    lines = [
        "| alpha: how far",
        "  it goes.",
        "| beta(x) -> y, how fast.",
        "| gamma: why.",
    ]
    assert shown(docstring) == "\n".join(lines)


def test_an_algorithm_in_a_docstring_keeps_its_lines():
    docstring = "Algorithm 1:\n    3     x <- |y|\n    4, 5  stop\nIt ends."
    code = ".. code-block:: text\n\n    3     x <- |y|\n    4, 5  stop"
    assert shown(docstring) == f"Algorithm 1:\n\n{code}\n\nIt ends."


def test_bars_and_asterisks_are_no_markup_and_names_are_code():
    assert shown("|x| of *other* users, 2*3, `Pair`s of `f`\nmore") == (
        "\\|x\\| of *other* users, 2\\*3, ``Pair``\\ s of ``f``\nmore"
    )
    assert not docstrings.complaints(shown("||x|| <= a* and `f`(1)").split("\n"))


def test_a_property_has_no_type_before_a_colon():
    assert shown("What it plays: `play`.", "property").startswith("\\ \n")


def test_functions_that_are_defaults_have_their_names():
    words = (None, "class", "", None, None, "(a=<function _nothing>, b=<f at 0x1>)", "")
    assert docstrings._signature(*words) == ("(a=_nothing, b=<f at 0x1>)", "")


def test_outcomes_are_sentences_and_indented_formulas_are_code():
    assert shown("Raises\n------\nValueError\n    On anything else.") == (
        "Raises ValueError on anything else."
    )
    assert shown("Returns\n-------\nA `Policy`.") == "Returns a ``Policy``."
    assert shown("Returns\n-------\nPolicy") == "Returns a Policy"
    assert shown("    x <= y (z).") == ".. code-block:: text\n\n    x <= y (z)."
