"""Verdicts follow from rows of evidence; what is shown carries the records."""

import json
from dataclasses import replace

import numpy as np
import pytest

from companion.stats import Interval
from evidence.claims.claims import MIME, Claim, Control, Evidence, outcome
from evidence.claims.page import Page

INSIDE = Interval(0.5, 0.4, 0.6)
ACROSS = Interval(1.0, 0.9, 1.1)
FAR = "twice the number", Interval(3.0, 2.5, 3.5)  # a control that limits up to 2 reject
REJECTED = Control("wrong", "3", None, "fails")


def begin(rows=(), **options):
    return Claim(
        "chapter",
        "a",
        "theorem",
        "grows",
        "Theorem 1",
        evidence=list(rows),
        **options,
    )


def rows(*outcomes, decisive=False, control=REJECTED):
    return [Evidence("", "", None, "", o, decisive, None, control) for o in outcomes]


@pytest.mark.parametrize(
    ("found", "options", "said"),
    [
        (["holds", "holds"], {}, "reproduced"),
        (["fails"], {"at_scale": False}, "not tested at this scale"),
        (["holds"], {"changes": "the width is tuned"}, "reproduced with changes"),
        (["holds"], {"bound": True}, "consistent"),
        (["holds", "undecided"], {}, "not settled"),
        ([], {}, "not settled"),
        (["holds", "fails", "undecided"], {"changes": "x"}, "not reproduced"),
        (["fails"], {"bound": True}, "not settled"),
        (["holds", "undecided"], {"finding": True}, "undecided"),
        (["holds", "undecided", "fails"], {"finding": True}, "fails"),
    ],
)
def test_the_verdict_follows_from_the_rows(found, options, said):
    assert begin(rows(*found), **options).verdict == said


def test_only_a_proof_or_an_audit_corrects_a_paper():
    decided = rows("fails", decisive=True)
    assert begin(decided + rows("holds")).verdict == "wrong as printed"
    assert begin(decided, bound=True).verdict == "wrong as printed"
    assert begin(rows("holds", decisive=True) + rows("fails")).verdict == "not reproduced"


@pytest.mark.parametrize("result", ["fails", "holds", "undecided", None])
def test_a_rule_that_rejects_no_control_makes_nothing_reproduced(result):
    held = rows("holds", control=result and replace(REJECTED, outcome=result))
    severe = result == "fails"
    assert begin(held).verdict == ("reproduced" if severe else "consistent")
    assert begin(rows("holds") + held).verdict == (
        "reproduced" if severe else "consistent"
    )
    assert begin(held, finding=True).verdict == ("holds" if severe else "consistent")


def test_rows_keep_limits_and_what_they_reject():
    claim = begin(left_open="the width: 3 instead of 1 turns the verdict")
    assert claim.row("T = 10", INSIDE, of="ratio", high=2.0, control=FAR) == "holds"
    planted = Control("twice the number", "3", (2.5, 3.5), "fails")
    assert claim.verdict == "reproduced"
    assert claim.evidence[0] == Evidence(
        "T = 10",
        "0.5",
        (0.4, 0.6),
        "ratio at most 2",
        "holds",
        False,
        (None, 2.0),
        planted,
    )
    assert claim.row("T = 20", INSIDE, of="ratio", high=4.0, control=FAR) == "holds"
    assert repr(claim) == "a: consistent (0.5; 0.5)"
    page = claim._repr_html_()
    for said in (
        'data-label="The rule rejects">twice the number: 3 <small>[2.5, 3.5]</small>',
        'data-label="Setting">T = 10<',
        'data-label="Measured">0.5 <small>[0.4, 0.6]<',
        'data-label="Rule">ratio at most 2<',
        "not twice the number",
        "Left open by the paper: the width",
    ):
        assert said in page


def test_exact_numbers_and_proofs_decide():
    claim = begin()
    planted = ("off by two", 6)
    assert claim.exact("by hand", 4.0, of="count", high=5, control=planted) == "holds"
    assert claim.verdict == "reproduced"
    for holds, said, verdict in (
        (True, "holds", "consistent"),
        (None, "undecided", "not settled"),
        (False, "fails", "wrong as printed"),
    ):
        text = "the terms telescope, see the section on rates"
        assert claim.proof("all T", text, holds) == said
        assert claim.verdict == verdict
    assert claim._repr_html_().count(">an argument</td>") == 3


def test_records_survive_json_and_findings_stand_last():
    page = Page("chapter")
    page.claim("b", finding="the honest variant wins")
    claim = page.claim("a", "theorem", "a < b", "p", errata=["XX1"])
    claim.row("", Interval(0.5123456, 0.4, np.inf), low=0.3, control=("too small", 0.1))
    bundle = page._repr_mimebundle_()
    record, ours = json.loads(json.dumps(bundle[MIME], allow_nan=False))
    assert record["evidence"][0]["interval"] == [0.4, None]
    assert record["evidence"][0]["measured"] == "0.5123"
    assert record["evidence"][0]["control"]["outcome"] == "fails"
    assert (record["verdict"], record["errata"]) == ("reproduced", ["XX1"])
    assert (record["finding"], ours["finding"]) == (False, True)
    for said in (
        "[0.4, ∞]",
        "a &lt; b",
        ">Claims of the paper (1): 1 reproduced<",
        ">Findings of our own (1): 1 undecided<",
    ):
        assert said in bundle["text/html"]
    assert '<a href="errata.html#xx1">XX1</a>' in claim._repr_html_()


def test_ids_are_unique():
    page = Page("chapter")
    page.claim("a", "text", "once", "p")
    with pytest.raises(ValueError, match="id="):
        page.claim("a", "text", "again", "p")


def test_many_settings_are_judged_in_one_call():
    claim = begin().each({0.5: INSIDE, "all": ACROSS}, of="ratio", high=1.0, control=FAR)
    assert [(r.setting, r.outcome) for r in claim.evidence] == [
        ("ε = 0.5", "holds"),
        ("all", "undecided"),
    ]
    own = {0.5: FAR[1], "all": INSIDE}
    claim.each(
        {0.5: INSIDE, "all": ACROSS},
        of="ratio",
        high=1.0,
        control=("each its own", own),
    )
    assert [r.control.outcome for r in claim.evidence[2:]] == ["fails", "holds"]


@pytest.mark.parametrize(
    ("interval", "ends", "result"),
    [
        (INSIDE, {"low": 0.4, "high": 0.6}, "holds"),
        (INSIDE, {"low": 0.45, "high": 0.55}, "undecided"),
        (Interval(np.nan, np.nan, np.nan), {"high": 1.0}, "undecided"),
        (INSIDE, {"low": 0.4}, "holds"),  # from 0.4 to 0.6: its ends touch the limits
        (INSIDE, {"high": 0.6}, "holds"),
        (INSIDE, {"low": 0.6}, "undecided"),
        (INSIDE, {"high": 0.4}, "undecided"),
        (INSIDE, {"low": 0.61}, "fails"),
        (INSIDE, {"high": 0.39}, "fails"),
    ],
)
def test_an_outcome_is_decided_by_the_whole_interval(interval, ends, result):
    assert outcome(interval, **ends) == result


def test_words_of_a_rule_are_made_from_its_limits():
    claim = begin()
    for limits in ({"low": 0.5}, {"high": 2}, {"low": 0.25, "high": 0.75}):
        claim.row("", 1.0, of="slope", **limits)
    said = [row.rule for row in claim.evidence]
    assert said == ["slope at least 0.5", "slope at most 2", "slope within [0.25, 0.75]"]
    for limits in ({}, {"low": 2.0, "high": 1.0}):
        with pytest.raises(ValueError, match="needs low <= high"):
            claim.row("", INSIDE, **limits)


@pytest.mark.parametrize(
    ("lower", "proven", "result"),
    [
        (0.9, 1.0, "holds"),
        (0.9, 1.001, "undecided"),
        (0.9, np.inf, "undecided"),  # no proof
        (1.001, 1.2, "fails"),
        (1.0, 1.0, "holds"),
    ],
)
def test_an_audit_is_compared_with_the_claim_itself(lower, proven, result):
    claim = begin()
    assert claim.audited("claimed 1", lower, proven, 1.0) == result
    assert claim.evidence[0].decisive  # so it corrects a paper


@pytest.mark.parametrize(("found", "result"), [(1.2, "fails"), (0.9, "undecided")])
def test_a_planted_fault_is_rejected_where_the_audit_counts_more_than_was_claimed(
    found,
    result,
):
    claim = begin()
    claim.audited("claimed 1", 0.5, 1.0, 1.0, control=("half of the noise", found))
    assert claim.evidence[0].control == Control(
        "half of the noise",
        f"{found}",
        (found, None),
        result,
    )


@pytest.mark.parametrize(
    ("how", "verdict"), [("exact", "wrong as printed"), ("row", "not reproduced")]
)
def test_exact_arithmetic_that_fails_corrects_a_paper(how, verdict):
    claim = begin()
    assert getattr(claim, how)("T = 10", 4.0, of="count", high=3.0) == "fails"
    assert claim.verdict == verdict
