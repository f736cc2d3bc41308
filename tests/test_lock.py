"""The lock of results: what moves, fails; what is accepted, stays with its reason."""

import copy
import html
import json

import pytest
from tiny_book import CLAIM

from tools import accept, lock
from tools.errors import Failure, Refusal

KEPT = {"claims": {"one/c1": lock.entry(CLAIM)}, "history": []}


def changed(field=None, value=None, **fields):
    """The records of a build in which the claim, or its one row, differs."""
    record = copy.deepcopy(CLAIM | fields)
    if field:
        record["evidence"][0][field] = value
    return [record]


def said(records, **options):
    return lock.differences(KEPT, records, **options)


def test_equal_results_and_numbers_within_their_interval_pass():
    assert said([CLAIM]) == {}
    assert said(changed("measured", "1.4")) == {}
    assert said(changed("limits", [None, 2.0 + 1e-15])) == {}  # of another machine


@pytest.mark.parametrize(
    ("records", "words"),
    [
        ([], "has vanished"),
        ([CLAIM, CLAIM | {"id": "c2"}], "is new"),
        (changed("measured", "1.6"), "measured 1 [0.5, 1.5] -> 1.6"),
        (changed("rule", "above"), "rule below -> above"),
        (changed("limits", [None, 2.00001]), "limits [None, 2.0] -> [None, 2.00001]"),
        (changed("limits", [None, 3.0]), "limits [None, 2.0] -> [None, 3.0]"),
        (changed("outcome", "undecided"), "outcome holds -> undecided"),
        (changed("control", None), "control twice as much -> None"),
        (
            changed("control", CLAIM["evidence"][0]["control"] | {"outcome": "holds"}),
            "control outcome fails -> holds",
        ),
        (changed(statement="1 < 3"), "statement 1 < 2 -> 1 < 3"),
        (changed(bound=True), "bound False -> True"),
        (changed("setting", "T"), "row '' has vanished; row 'T' is new"),
        (changed(verdict="consistent"), "verdict reproduced -> consistent (worse)"),
        (changed(verdict="fails"), "verdict reproduced -> fails (worse)"),
    ],
)
def test_each_change_is_said(records, words):
    (found,) = said(records).values()
    assert words in "; ".join(found)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("not settled", "reproduced"),
        ("fails", "undecided"),
        ("undecided", "consistent"),
        ("wrong as printed", "not reproduced"),
        ("not reproduced", "not settled"),
        ("not settled", "consistent"),
        ("consistent", "reproduced with changes"),
        ("reproduced with changes", "reproduced"),
    ],
)
def test_a_verdict_that_got_better_is_said(old, new):
    kept = {"claims": {"one/c1": lock.entry(CLAIM | {"verdict": old})}}
    (found,) = lock.differences(kept, changed(verdict=new)).values()
    assert found == [f"verdict {old} -> {new} (better)"]


def test_other_scales_compare_ids_and_rules_without_numbers():
    assert said(changed("measured", "9"), numbers=False) == {}
    assert said(changed(verdict="not tested at this scale"), numbers=False) == {}
    assert said(changed("rule", "above"), numbers=False) == {
        "one/c1": ["has a new rule: above"]
    }
    assert said([], numbers=False) == {"one/c1": ["has vanished"]}


@pytest.fixture
def project(tmp_path):
    """A project with a lock, and with results that differ from it."""

    def results(records, scale="paper"):
        folder = tmp_path / "_build" / "results"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "claims.json").write_text(json.dumps(records))
        (folder / "times.json").write_text(json.dumps({"scale": scale}))

    lock.write(tmp_path, KEPT)
    results(changed("measured", "7"))
    return tmp_path, results


def test_a_change_fails_until_it_is_accepted_with_a_reason(project):
    root, _ = project
    records = changed("measured", "7")
    with pytest.raises(Failure, match="one/c1: row '': measured 1"):
        lock.check(root, records, numbers=True)
    with pytest.raises(Refusal, match="the reason must have 15"):
        accept.accept(root, ["one/c1"], "another stream", "2026-01-01")
    assert accept.main(["--root", str(root), "one/c1", "a longer stream"]) == 0
    lock.check(root, records, numbers=True)
    (change,) = lock.read(root)["history"]
    assert change["why"] == "a longer stream"
    page = "<p>a<!-- history of one/c1 --><!-- history of one/other --></p>"
    shown = lock.told(lock.read(root), page)
    assert 'href="changes.html#one-c1"' in shown
    assert "<!--" not in shown
    every = lock.changes(lock.read(root), {})
    assert 'id="one-c1"' in every
    assert "a longer stream" in every
    assert "measured 1 [0.5, 1.5]\N{NO-BREAK SPACE}→ 7" in every


def test_an_accepted_build_gives_its_numbers_to_the_claims_that_do_not_differ(project):
    root, results = project
    names = ("c1", "c2", "c3")
    claims = {f"one/{i}": lock.entry(CLAIM) for i in names}
    lock.write(root, {"claims": claims, "history": []})
    moved = [
        changed("measured", m, id=i)
        for i, m in zip(names, ("9", "1.2", "8"), strict=True)
    ]
    results([record for (record,) in moved])
    assert accept.accept(root, ["one/c1"], "a longer stream", "2026-01-01") == 1
    kept = lock.read(root)
    measured = [kept["claims"][i]["rows"][0]["measured"] for i in claims]
    assert measured == ["9", "1.2", "1"]
    assert [change["claim"] for change in kept["history"]] == ["one/c1"]


def test_what_cannot_be_accepted_is_refused(project):
    root, results = project
    why = "a reason that is long enough"
    with pytest.raises(Refusal, match="one/c9 does not differ"):
        accept.accept(root, ["one/c9"], why, "2026-01-01")
    results([CLAIM], scale="smoke")
    with pytest.raises(Refusal, match="smoke scale"):
        accept.accept(root, None, why, "2026-01-01")
    assert accept.main(["--root", str(root), why]) == 2
    assert lock.read(root) == KEPT


def one_row(**fields):
    """The lock of the claim with other fields of its one row."""
    (row,) = CLAIM["evidence"]
    return {"claims": {"one/c1": lock.entry(CLAIM | {"evidence": [row | fields]})}}


@pytest.mark.parametrize(
    ("number", "measured", "moved"),
    [
        ("1", "1.0005", False),
        ("1", "1.002", True),
        ("-1", "-1.0005", False),
        ("-1", "-1.002", True),
        ("1e-4", "2e-4", True),
        ("1e4", "10005", False),
        ("a proof", "another proof", True),
        ("a proof", "2", True),
    ],
)
def test_an_exact_number_may_move_by_a_thousandth(number, measured, moved):
    kept = one_row(interval=None, measured=number)
    assert bool(lock.differences(kept, changed("measured", measured))) is moved


@pytest.mark.parametrize(
    ("measured", "moved"),
    [("0.5", False), ("1.5", False), ("0.499", True), ("1.501", True)],
)
def test_a_number_at_the_end_of_its_interval_is_within(measured, moved):
    assert bool(said(changed("measured", measured))) is moved


@pytest.mark.parametrize(
    ("ends", "outside", "beyond"),
    [((None, 1.5), "1.6", "-9"), ((0.5, None), "0.4", "99")],
)
def test_an_interval_with_one_end_is_left_there_alone(ends, outside, beyond):
    kept = one_row(interval=ends)
    assert lock.differences(kept, changed("measured", beyond)) == {}
    assert lock.differences(kept, changed("measured", outside)) != {}


def dated(changes):
    """What a page with the place of one claim shows of these changes."""
    return lock.told({"claims": {}, "history": changes}, "<!-- history of one/c1 -->")


def test_a_claim_shows_its_own_last_change_of_verdict_alone():
    """Of two claims that changed, a page with the place of one shows one."""
    whats = (
        "verdict consistent -> not settled (worse); row 'a' is new",
        "verdict not settled -> reproduced (better)",
        "row 'a': rule 1 -> 2",
        "row 'a': rule 2 -> 3",
    )
    changes = [
        {"claim": f"one/c{i}", "when": f"day {day}", "what": what, "why": f"of {i}{day}."}
        for i in (1, 2)
        for day, what in enumerate(whats)
    ]
    page = dated(changes)
    assert "Changed on day 1: not settled to reproduced. Reason: of 11. <a" in page
    assert page.count("Reason") == 1
    assert "Rule changed on day 3. <a" in dated(changes[2:4])


def test_changes_are_listed_below_their_papers_with_limits_in_words():
    what = "row 'a': limits [None, 2.123456] -> [0.5, None]; rule 'b'"
    changes = [
        {"claim": claim, "when": "day 1", "what": what, "why": "it must."}
        for claim in ("lplr/c", "arena/d")
    ]
    page = lock.changes({"claims": {"lplr/c": {}}, "history": changes}, {"lplr": "LPLR"})
    first, second = page.split("\n## LPLR\n")
    assert first.startswith("<div data-filters></div>\n\n## arena\n")
    assert 'data-paper="Other pages"><dt id="arena-d">arena: d (gone)</dt>' in first
    link = '<a href="lplr.html#claim-c">now</a>'
    assert f'data-paper="LPLR"><dt id="lplr-c">lplr: c ({link})</dt>' in second
    said = "day 1: row &#x27;a&#x27;: limits at most 2.123\N{NO-BREAK SPACE}→ at least 0.5; rule"
    assert said in second
    assert "<i>Reason:</i> it must.</dd>" in second


def test_rows_with_one_change_are_listed_together_below_the_sentence_of_their_claim():
    what = "verdict a -> b; row 'x': rule 1; 2 -> 3; row 'y, z': rule 1; 2 -> 3; row 'w' is new"
    change = {"claim": "lplr/c", "when": "day 1", "what": what, "why": "it must."}
    kept = {"claims": {"lplr/c": {"statement": "It is < 1."}}, "history": [change]}
    page = html.unescape(lock.changes(kept, {}))
    assert "It is < 1. (<a" in page
    arrow = "\N{NO-BREAK SPACE}→"
    rows = f"2 rows ('x', 'y, z'): rule 1; 2{arrow} 3; row 'w' is new. <i>"
    assert f"verdict a{arrow} b; {rows}" in page
