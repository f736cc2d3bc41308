"""The front page is filled from what the chapters have shown, and from nothing else."""

import pytest

from companion.report.claims import MIME, Claims
from companion.stats import Interval
from tools import front
from tools.cache import RUN
from tools.errors import Failure

FIGURE = (
    '<figure class="plot" id="fig-cost"><img alt="a" src="data:,"><figcaption>b</figcaption>'
    "</figure>"
)


def notebook():
    claims = Claims("one")
    for id, number in (("a", 1.0), ("b", 3.0)):
        claim = claims.claim(id, "text", "s", "p")
        claim.row("", number, of="count", high=2.0, control=("three times as many", 3.0))
    claims.finding("c", "s").row("", 1.0, of="count", high=2.0)
    data = claims._repr_mimebundle_()
    rows = [dict(r) for r in data[MIME]]
    outputs = [{"data": {"text/html": FIGURE}}, {"data": {MIME: rows}}]
    ran = {RUN: {"cells": {"draw": 2.0, "read": 0.5}}}
    return {"cells": [{"outputs": outputs}, {}], "metadata": ran}


def test_verdicts_are_counted_without_findings():
    text = front.fill("A\n\n% verdicts one\n\nB\n", {"one": notebook()})
    assert text.startswith("A\n\n```{raw} html\n")
    assert text.endswith("```\n\nB\n")
    assert "1 × " in text
    assert "reproduced" in text
    assert text.count("×") == 2
    assert text.count('<a href="one.html#claim-') == 2  # of claim a and of claim b


def test_a_figure_comes_without_its_caption():
    text = front.fill("% figure one cost", {"one": notebook()})
    assert '<img alt="a"' in text
    assert "figcaption" not in text


def test_the_words_of_a_caption_stand_without_its_number_and_its_data():
    numbered = FIGURE.replace(
        "<figcaption>b", '<figcaption><b>Figure 2.</b> At ε = 1. <a href="d">CSV</a>'
    )
    cell = {"outputs": [{"data": {"text/html": numbered}}]}
    text = front.fill("% caption one cost", {"one": {"cells": [cell]}})
    assert "<em>At ε = 1.</em>" in text


@pytest.mark.parametrize(
    "line", ["% figure one speed", "% caption one speed", "% figure two cost", "% verdicts two"]
)
def test_what_is_not_there_fails_the_build(line):
    with pytest.raises(Failure, match="the front page asks for"):
        front.fill(line, {"one": notebook()})


def test_the_tally_counts_claims_of_all_chapters_and_no_findings():
    text = front.fill("% tally", {"one": notebook()})
    assert "We tested <b>2</b> sentences" in text
    assert "<b>1</b> reproduced, <b>1</b> not reproduced." in text
    assert text.count("<span") == 2
    nothing = front.fill("% tally", {"one": {"cells": []}})
    assert "We tested <b>0</b> sentences of five papers: none yet." in nothing


def test_seconds_are_shown_dearest_first():
    text = front.fill("% seconds", {"one": notebook()})
    assert ">2.5<" in text
    assert text.index("draw") < text.index("read")


def test_room_counts_rows_that_repetitions_decide_and_names_the_nearest():
    near, far = Interval(1.0, 0.8, 1.2), Interval(5.0, 4.9, 5.1)
    found = Claims("one")
    for id, high, control in (("wide", 2.0, far), ("tight", 1.3, far), ("weak", 4.85, far)):
        claim = found.claim(id, "text", "s", "p")
        claim.row("ε = 1", near, of="count", high=high, control=("planted", control))
    claim.exact("exact", 1.0, of="count", high=2.0)
    rows = found._repr_mimebundle_()[MIME]
    text = front.fill("% room", {"one": {"cells": [{"outputs": [{"data": {MIME: rows}}]}]}})
    assert "1 of 3" in text  # (1.3 - 1.2) / 0.2 and (4.9 - 4.85) / 0.1 are less than 2
    nearest = [text.index(f"#claim-{id}") for id in ("tight", "weak", "wide")]
    assert nearest == sorted(nearest)
    assert "tight, ε = 1</a>: 0.5" in text
    assert "wide, ε = 1</a>: 4.0" in text


def test_other_text_stays():
    text = "% a comment\n50 % verdicts one\n"
    assert front.fill(text, {}) == text
