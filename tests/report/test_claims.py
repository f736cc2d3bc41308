"""Verdicts are computed from rules; what is shown carries the records."""

import json

import pytest

from companion.report.claims import MIME, VERDICTS, Claims, details
from companion.stats import Interval

CALL = {
    "statement": "grows like sqrt(T)",
    "paper": "Theorem 1",
    "measured": 0.52,
    "interval": (0.48, 0.56),
    "rule": "0.5 lies in the interval",
}


def test_a_verdict_follows_the_rule():
    claims = Claims("chapter")
    assert claims.check("a", **CALL, holds=True) == "reproduced"
    assert claims.check("b", **CALL, holds=False) == "not reproduced"
    assert claims.check("c", **CALL, holds=False, otherwise="corrected") == "corrected"
    changed = claims.check("d", **CALL, holds=True, when="reproduced with changes")
    assert changed == "reproduced with changes"
    assert [r.verdict for r in claims.records] == [VERDICTS[i] for i in (0, 2, 3, 1)]


def test_a_smoke_run_tests_nothing():
    claims = Claims("chapter", at_scale=False)
    for i, holds in enumerate((True, False)):
        assert claims.check(str(i), **CALL, holds=holds) == "not tested at this scale"


def test_an_interval_is_unpacked_and_infinity_survives_json():
    claims = Claims("chapter")
    keys = CALL | {"measured": Interval(0.5123456, 0.4, float("inf")), "interval": None}
    claims.check("a", **keys, holds=True)
    assert claims.records[0].interval == (0.4, None)
    assert claims.records[0].measured == "0.5123"
    bundle = claims._repr_mimebundle_()
    assert json.loads(json.dumps(bundle[MIME], allow_nan=False))[0]["interval"] == [0.4, None]
    assert "[0.4, ∞]" in bundle["text/html"]


def test_ids_are_unique_and_verdicts_known():
    claims = Claims("chapter")
    claims.check("a", **CALL, holds=True)
    with pytest.raises(ValueError, match="id="):
        claims.check("a", **CALL, holds=True)
    with pytest.raises(ValueError, match="otherwise"):
        claims.check("b", **CALL, holds=True, otherwise="maybe")
    assert len(claims.records) == 1


def test_text_is_escaped():
    claims = Claims("chapter")
    claims.check("a", **(CALL | {"statement": "<b>x < y</b>"}), holds=True)
    page = claims._repr_mimebundle_()["text/html"]
    assert "&lt;b&gt;x &lt; y" in page
    assert "<b>" not in page
    assert 'id="claim-a"' in page
    link = details("t", claims.records, "chapter.html")
    assert 'href="chapter.html#claim-a"' in link
    assert "<b>" not in link
