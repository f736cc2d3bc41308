"""The front page is filled from what the chapters have shown, and from nothing else."""

import pytest

from companion.report.claims import MIME, Claims
from tools import front
from tools.errors import Failure

FIGURE = (
    '<figure class="plot" id="fig-cost"><img alt="a" src="data:,"><figcaption>b</figcaption>'
    "</figure>"
)


def notebook():
    claims = Claims("one")
    claims.claim("a", "text", "s", "p").judged("", "", "holds", "r")
    claims.claim("b", "text", "s", "p").judged("", "", "fails", "r")
    claims.finding("c", "s").judged("", "", "holds", "r")
    data = claims._repr_mimebundle_()
    rows = [dict(r) for r in data[MIME]]
    outputs = [{"data": {"text/html": FIGURE}}, {"data": {MIME: rows}}]
    return {"cells": [{"outputs": outputs}, {}]}


def test_verdicts_are_counted_without_findings():
    text = front.fill("A\n\n% verdicts one\n\nB\n", {"one": notebook()})
    assert text.startswith("A\n\n```{raw} html\n")
    assert text.endswith("```\n\nB\n")
    assert "1 × " in text
    assert "reproduced" in text
    assert text.count("×") == 2


def test_a_figure_comes_without_its_caption():
    text = front.fill("% figure one cost", {"one": notebook()})
    assert '<img alt="a"' in text
    assert "figcaption" not in text


@pytest.mark.parametrize("line", ["% figure one speed", "% figure two cost", "% verdicts two"])
def test_what_is_not_there_fails_the_build(line):
    with pytest.raises(Failure, match="the front page asks for"):
        front.fill(line, {"one": notebook()})


def test_other_text_stays():
    text = "% a comment\n50 % verdicts one\n"
    assert front.fill(text, {}) == text
