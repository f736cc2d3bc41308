"""Verdicts follow from rows of evidence; what is shown carries the records."""

import json

import numpy as np
import pytest

from companion.report import markup
from companion.report.claims import MIME, Claims, Evidence, from_json, outcome, verdict
from companion.stats import Interval

INSIDE, ACROSS, OUTSIDE = Interval(0.5, 0.4, 0.6), Interval(1.0, 0.9, 1.1), Interval(2.0, 1.8, 2.2)


def begin(at_scale=True, **options):
    claims = Claims("chapter", at_scale)
    return claims, claims.claim("a", "theorem", "grows like sqrt(T)", "Theorem 1", **options)


def rows(*outcomes, decisive=False):
    return [Evidence("", "", None, "", o, decisive) for o in outcomes]


@pytest.mark.parametrize(
    ("interval", "ends", "result"),
    [
        (INSIDE, {"high": 1.0}, "holds"),
        (ACROSS, {"high": 1.0}, "undecided"),
        (OUTSIDE, {"high": 1.0}, "fails"),
        (INSIDE, {"low": 1.0}, "fails"),
        (INSIDE, {"low": 0.4, "high": 0.6}, "holds"),
        (INSIDE, {"low": 0.45, "high": 0.55}, "undecided"),
        (INSIDE, {"low": 0.0, "high": 0.3}, "fails"),
        (Interval(0.5, -np.inf, np.inf), {"high": 1.0}, "undecided"),
        (Interval(np.nan, np.nan, np.nan), {"high": 1.0}, "undecided"),
    ],
)
def test_an_outcome_is_decided_by_the_whole_interval(interval, ends, result):
    assert outcome(interval, **ends) == result


@pytest.mark.parametrize(
    ("found", "options", "said"),
    [
        (["holds", "holds"], {}, "reproduced"),
        (["holds"], {"changes": "the width is tuned"}, "reproduced with changes"),
        (["holds"], {"bound": True}, "consistent"),
        (["holds", "undecided"], {}, "not settled"),
        ([], {}, "not settled"),
        (["holds", "fails", "undecided"], {}, "not reproduced"),
        (["fails"], {"changes": "x"}, "not reproduced"),
        (["fails"], {"bound": True}, "not settled"),
    ],
)
def test_the_verdict_follows_from_the_rows(found, options, said):
    assert verdict(rows(*found), **options) == said


def test_only_a_proof_or_an_audit_corrects_a_paper():
    assert verdict(rows("fails", decisive=True) + rows("holds")) == "corrected"
    assert verdict(rows("fails", decisive=True), bound=True) == "corrected"
    assert verdict(rows("holds", decisive=True) + rows("fails")) == "not reproduced"
    _, claim = begin()
    assert claim.audited("claimed 1", 1.2, 1.5, 1.0) == "fails"
    assert claim.verdict == "corrected"


def test_an_audit_below_the_claim_proves_nothing():
    _, claim = begin()
    assert claim.audited("no proof", 0.8, np.inf, 1.0) == "undecided"
    assert claim.audited("proof needs no more", 0.8, 1.0, 1.0) == "holds"
    assert claim.audited("proof needs more", 0.8, 1.3, 1.0) == "undecided"
    assert claim.proved("formula", "4 > 2", False, "sensitivity at most 2") == "fails"


def test_rows_are_kept_as_they_were_judged():
    claims, claim = begin(left_open="the width: 3 instead of 1 turns the verdict")
    assert claim.row("T = 10", INSIDE, high=1.0) == "holds"
    assert claim.judged("T = 20", "3 of 5", "undecided", "most of them") == "undecided"
    (record,) = claims.records
    assert record.verdict == claim.verdict == "not settled"
    assert record.evidence[0] == Evidence(
        "T = 10", "0.5", (0.4, 0.6), "95 % interval below 1", "holds", False
    )
    assert record.left_open.startswith("the width")


def test_an_outcome_may_be_said_as_whether_it_holds():
    claim = Claims("c").claim("a", "text", "s", "p")
    assert claim.judged("x", 1.0, np.bool_(True), "r") == "holds"
    assert claim.judged("y", 1.0, False, "r") == "fails"
    with pytest.raises(ValueError, match="result"):
        claim.judged("z", 1.0, "yes", "r")


def test_a_smoke_run_tests_nothing():
    _, claim = begin(at_scale=False)
    claim.row("", OUTSIDE, high=1.0)
    assert claim.verdict == "not tested at this scale"


def test_findings_stand_apart_and_claim_nothing():
    claims, _ = begin()
    ours = claims.finding("b", "the honest variant wins")
    assert ours.verdict == "undecided"
    ours.row("epsilon = 1", INSIDE, high=1.0)
    assert ours.verdict == "holds"
    ours.row("epsilon = 2", OUTSIDE, high=1.0)
    assert ours.verdict == "fails"
    assert [r.finding for r in claims.records] == [False, True]


def test_claims_stand_in_parts_behind_a_count_of_their_verdicts():
    claims = Claims("chapter")
    for id, place in (
        ("a", "Theorem 1"),
        ("b", "Figure 2"),
        ("c", "Corollary 3"),
        ("d", "abstract"),
    ):
        claims.claim(id, "text", f"sentence {id}", place).judged("", "", id != "c", "r")
    page = claims._repr_mimebundle_()["text/html"]
    counts = [
        "in theorems and corollaries: 1 reproduced, 1 not reproduced.",
        "in figures and tables: 1 reproduced.",
        "in lemmas, definitions and text: 1 reproduced.",
    ]
    assert all(page.count(text) == 1 for text in counts)
    order = [
        counts[0],
        "sentence a",
        "sentence c",
        counts[1],
        "sentence b",
        counts[2],
        "sentence d",
    ]
    assert sorted(order, key=page.index) == order


def test_records_survive_json_and_infinity_does():
    claims, claim = begin()
    claim.row("", Interval(0.5123456, 0.4, np.inf), low=0.3)
    bundle = claims._repr_mimebundle_()
    (again,) = json.loads(json.dumps(bundle[MIME], allow_nan=False))
    assert again["evidence"][0]["interval"] == [0.4, None]
    assert again["evidence"][0]["measured"] == "0.5123"
    assert from_json(again).verdict == "reproduced"
    assert "[0.4, ∞]" in bundle["text/html"]


def test_ids_are_unique_and_kinds_known():
    claims, _ = begin()
    with pytest.raises(ValueError, match="id="):
        claims.finding("a", "again")
    with pytest.raises(ValueError, match="kind"):
        claims.claim("b", "rumour", "s", "p")
    with pytest.raises(ValueError, match="result"):
        claims.finding("c", "s").judged("", "", "maybe", "rule")


def test_text_is_escaped():
    claims = Claims("chapter")
    claims.claim("a", "text", "<b>x < y</b>", "p").judged("<i>", "<u>", "holds", "r")
    page = claims._repr_mimebundle_()["text/html"] + claims._open[0]._repr_html_()
    assert "&lt;b&gt;x &lt; y" in page
    assert not any(f"<{tag}>" in page for tag in "biu")
    assert 'id="claim-a"' in page
    link = markup.claims("t", claims.records, "chapter.html")
    assert 'href="chapter.html#claim-a"' in link


def test_many_settings_are_judged_in_one_call():
    _, claim = begin()
    found = {0.5: INSIDE, "all": ACROSS}
    assert claim.each(found, high=1.0, rule="below 1") is claim
    seen = [(r.setting, r.outcome, r.rule) for r in claim.rows]
    assert seen == [("ε = 0.5", "holds", "below 1"), ("all", "undecided", "below 1")]
