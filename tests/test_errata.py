"""ERRATA.md: every entry is numbered, whole, and names evidence that exists."""

import re

import pytest
from real_book import ROOT, cells

from evidence.claims.published import sentences
from evidence.claims.scoreboard import PAPERS
from tools import errata

PARTS = ("Printed", "Evidence", "Consequence", "Repair")
WEIGHTS = set(errata.WEIGHTS)
TEXT = (ROOT / "ERRATA.md").read_text("utf8")
ENTRIES = errata.entries(TEXT)


def test_every_entry_is_found_and_numbered_in_order():
    assert len(ENTRIES) == len(
        re.findall(r"^\* ", TEXT.split("\n## ", 1)[1], re.MULTILINE)
    )
    seen = {}
    for match in ENTRIES.values():
        seen.setdefault(match[2], []).append(int(match[3]))
        assert match[1] == (match[2] + match[3]).lower()
    for found in seen.values():
        assert sorted(found) == list(range(1, len(found) + 1)), found


@pytest.mark.parametrize("number", ENTRIES)
def test_an_entry_is_whole_and_its_evidence_exists(number):
    match = ENTRIES[number]
    assert match[5] in WEIGHTS
    assert re.findall(r"^  \*(\w+):\*", match[6], re.MULTILINE) == list(PARTS)
    for file in re.findall(
        r"`((?:tests|companion|evidence|benchmarks)/[\w/]+\.py)(?:::\w+)?`",
        match[6],
    ):
        assert (ROOT / file).is_file(), file
    for file, test in re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", match[6]):
        assert f"def {test}(" in (ROOT / file).read_text("utf8"), test
    for chapter in re.findall(r"\((book/\w+\.ipynb)", match[6]):
        assert (ROOT / chapter).is_file(), chapter


def test_claims_name_errata_that_exist_and_errata_of_statements_are_shown():
    named = {
        e for r in PAPERS for c in sentences(r).values() for e in c.get("errata", ())
    }
    assert named <= set(ENTRIES)
    for number, match in ENTRIES.items():
        if match[5] in errata.WRONG - {"theorem unproved"}:
            shown = re.search(
                r"book/\w+\.ipynb#|`tests/|`companion/|`evidence/",
                match[6],
            )
            assert number in named or shown, number


# --- the check itself
# ---------------------------------------------------------------------------

SAMPLE = """
* <a id="xx1"></a>**XX1. Theorem 1** [theorem false].
  *Printed:* a.
  *Evidence:* [1.31](book/one.ipynb#evidence-c1 "row: c1 / all") and [2.5](book/one.ipynb "say: b").
"""
ROW = {"setting": "all", "measured": "1.308", "outcome": "fails"}
RECORD = {
    "chapter": "one",
    "id": "c1",
    "errata": ["XX1"],
    "finding": False,
    "verdict": "",
    "evidence": [ROW],
}
SPOKEN = {"one": {"one_b": "2.5 [1, 3]"}}


def found(row=(), spoken=SPOKEN, text=SAMPLE, **fields):
    record = RECORD | fields | {"evidence": [ROW | dict(row)]}
    return errata.problems(text, [record], spoken)


def test_numbers_and_evidence_that_are_there_pass():
    assert found() == []
    assert found(finding=True, verdict="holds") == []


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"row": {"measured": "1.32"}}, "shows 1.31 where one has 1.32"),
        ({"row": {"setting": "T"}}, "one has no row 'c1 / all'"),
        ({"spoken": {"one": {"one_b": "2.6"}}}, "shows 2.5 where one has 2.6"),
        ({"spoken": {}}, "one has no say 'b'"),
        ({"row": {"outcome": "holds"}}, "no row fails"),
        ({"row": {"outcome": "undecided"}}, "no row fails"),
        ({"errata": []}, "no row fails"),
        ({"finding": True, "verdict": "fails"}, "no row fails"),
        ({"finding": True, "verdict": "undecided"}, "no row fails"),
    ],
)
def test_what_is_not_in_the_results_is_said(options, words):
    (line,) = found(**options)
    assert words in line


def test_a_proof_is_evidence():
    proof = SAMPLE.replace("Evidence:* ", "Evidence:* a proof in the chapter, ")
    assert found({"outcome": "holds"}, text=proof) == []


@pytest.mark.parametrize(
    ("shown", "found", "same"),
    [
        ("1.3", "1.34", True),
        ("1.3", "1.36", False),
        ("1.3", "1.26", True),
        ("1.3", "1.24", False),
        ("-1.3", "1.3", False),
        ("20,000", "20000.4", True),
        ("20,000", "20001", False),
        ("never", "always", False),
    ],
)
def test_a_number_agrees_to_the_digits_that_are_shown(shown, found, same):
    assert errata.agrees(shown, found) is same


def test_the_number_of_a_row_is_that_of_its_own_setting_and_claim():
    rows = [
        ROW | {"setting": "T", "measured": "1"},
        ROW | {"setting": "all", "measured": "2"},
    ]
    records = [RECORD | {"id": "c0", "evidence": [ROW]}, RECORD | {"evidence": rows}]
    assert errata.source_of("one", "row", "c1 / all", records, {}) == "2"
    assert errata.source_of("one", "row", "c1 / T", records, {}) == "1"
    assert errata.source_of("one", "row", "c0 / all", records, {}) == "1.308"
    assert errata.source_of("two", "row", "c1 / all", records, {}) is None


@pytest.mark.parametrize(
    ("weight", "needs"),
    [
        ("privacy broken", True),
        ("theorem false", True),
        ("theorem unproved", True),
        ("figure or number", True),
        ("program only", True),
        ("constant", False),
        ("misprint", False),
    ],
)
def test_what_is_wrong_needs_evidence_and_a_constant_or_misprint_does_not(weight, needs):
    lines = found(
        text=SAMPLE.replace("[theorem false]", f"[{weight}]"),
        row={"outcome": "holds"},
    )
    assert (lines != []) is needs


def test_the_overview_begins_with_what_is_worst():
    entry = """* <a id="{id}"></a>**{number}. Place {number}** [{weight}].
  *Printed:* a.
  *Evidence:* [1](book/one.ipynb "row: c-1 / all").
  *Consequence:* c follows.
  *Repair:* d.
"""
    weights = {"XX1": "misprint", "XX2": "privacy broken", "XX3": "constant"}
    text = "Head\n\n## Paper\n\n"
    for number, weight in weights.items():
        text += entry.format(id=number.lower(), number=number, weight=weight)
    table, _, rest = errata.overview(text).partition("\n## Paper")
    assert rest.count("  * *Consequence:* c follows.") == 3
    assert 'id="xx2" data-paper="XX" data-weight="privacy broken"' in rest
    assert re.findall(r"#(xx\d)", table) == ["xx2", "xx3", "xx1"]
    assert ">XX2</a> | XX: Place XX2 | privacy broken | C follows. |" in table
    link = '<a href="one.html#claim-c-1" title="row: c-1 / all">1</a>'
    assert rest.count(link) == 3
    told = "It fails at $a. B$ and [2](x.html). "
    long = text.replace("c follows.", f"none. {told}{'Long. ' * 50}End.")
    table, _, rest = errata.overview(long).partition("\n## Paper")
    assert rest.count("Long. End.") == 3
    assert f"| None. {told}Long. " in table
    assert table.count('Long. <a href="#xx2">More</a> |') == 1
    assert "End." not in table


QUOTED = {n[1::2] for n in errata.NUMBER.findall(TEXT) if n[2] == "say"}


@pytest.mark.parametrize(("chapter", "name"), sorted(QUOTED))
def test_a_number_that_is_quoted_is_said_in_a_cell(chapter, name):
    """A name such as "fall_25" may be made from a setting: "fall_" and a number."""
    code = "\n".join(cells(chapter))
    assert re.search(rf"\b{name}\b|\b{name.rpartition('_')[0]}_\{{", code)
