"""ERRATA.md: every entry is numbered, whole, and names evidence that exists."""

import re
from pathlib import Path

import pytest

from companion.report.published import rooms, sentences

ROOT = Path(__file__).resolve().parent.parent
HEAD = r'^\* <a id="(\w+)"></a>\*\*([A-Z]+)(\d+)\. (.+?)\*\* \[(\w+)\]\.$'
ENTRY = re.compile(HEAD + r"(.*?)(?=^\* |^## |\Z)", re.MULTILINE | re.DOTALL)
PARTS = ("Printed", "Evidence", "Consequence", "Repair")
WEIGHTS = {"misprint", "constant", "proof", "statement"}
TEXT = (ROOT / "ERRATA.md").read_text("utf8")
ENTRIES = {match[2] + match[3]: match for match in ENTRY.finditer(TEXT)}


def test_every_entry_is_found_and_numbered_in_order():
    assert len(ENTRIES) == len(re.findall(r"^\* ", TEXT.split("\n## ", 1)[1], re.MULTILINE))
    seen = {}
    for match in ENTRIES.values():
        seen.setdefault(match[2], []).append(int(match[3]))
        assert match[1] == (match[2] + match[3]).lower()
    assert all(found == list(range(1, len(found) + 1)) for found in seen.values()), seen


@pytest.mark.parametrize("number", ENTRIES)
def test_an_entry_is_whole_and_its_evidence_exists(number):
    match = ENTRIES[number]
    assert match[5] in WEIGHTS
    assert re.findall(r"^  \*(\w+):\*", match[6], re.MULTILINE) == list(PARTS)
    for file in re.findall(r"`((?:tests|companion|benchmarks)/[\w/]+\.py)(?:::\w+)?`", match[6]):
        assert (ROOT / file).is_file(), file
    for file, test in re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", match[6]):
        assert f"def {test}(" in (ROOT / file).read_text("utf8"), test
    for chapter in re.findall(r"\((book/\w+\.ipynb)", match[6]):
        assert (ROOT / chapter).is_file(), chapter


def test_claims_name_errata_that_exist_and_errata_of_statements_are_shown():
    named = [
        e for r in rooms() for c in sentences(r).values() if "errata" in c for e in c["errata"]
    ]
    assert set(named) <= set(ENTRIES)
    for number, match in ENTRIES.items():
        if match[5] == "statement":
            assert number in named or re.search(
                r"book/\w+\.ipynb#|`tests/|`companion/", match[6]
            ), number
