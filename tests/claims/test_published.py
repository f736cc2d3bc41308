"""The papers' numbers were read twice: each `published.json` against a reading made
without it.

`tests/<room>/transcription.json` holds numbers as the paper prints them, as text, and
says under `read_in` where each part was read. The reading of FLIPHAT's figures starts
from the same recovered record as `published.json`, since the paper prints no table: it
finds slips of copying only.
"""

import json
from pathlib import Path

import pytest

from evidence.claims.published import published

TESTS = Path(__file__).parents[1]
ROOMS = sorted(p.parent.name for p in TESTS.parent.glob("companion/*/published.json"))
assert len(ROOMS) == 5  # papers

# the paper prints two decimals only, and the test below compares those
NOT_PRINTED = {"private_glm": {f"kappa_digits.{i}" for i in range(3)}}


def leaves(value, path=""):
    if isinstance(value, dict | list):
        pairs = value.items() if isinstance(value, dict) else enumerate(value)
        return {
            p: leaf for key, v in pairs for p, leaf in leaves(v, f"{path}.{key}").items()
        }
    return {path[1:]: value}


def number(text):
    """A printed number; words (labels, links, the exponent "inf") stay words."""
    try:
        return text if text == "inf" else float(text)
    except (TypeError, ValueError):
        return text


@pytest.mark.parametrize("room", ROOMS)
def test_two_readings_agree_entry_by_entry(room):
    ours = published(room)
    theirs = json.loads((TESTS / room / "transcription.json").read_text("utf8"))
    ours.pop("source")
    assert theirs.pop("read_in").keys() == theirs.keys()
    a = leaves(ours)
    b = leaves(theirs)
    assert a.keys() == b.keys()
    read = [path for path in a if b[path] is not None and not path.endswith("sentence")]
    assert {path: number(a[path]) for path in read} == {
        path: number(b[path]) for path in read
    }
    assert {path for path in b if b[path] is None} == NOT_PRINTED.get(room, set())
