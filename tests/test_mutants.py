"""The list of planted faults fits the project as it stands: `make mutants` plants
them."""

import mutants
import pytest
from mutants import MUTANTS


@pytest.mark.parametrize("m", MUTANTS, ids=lambda m: f"{m.name} ({m.file})")
def test_a_fault_can_be_planted_and_its_tests_are_there(m):
    assert mutants.wrong(m) == ""


def test_a_row_that_does_not_fit_says_why():
    row = MUTANTS[0]
    for other, words in (
        ({"file": "companion/absent.py"}, "there is no companion/absent.py"),
        ({"tests": "absent.py::test_x"}, "there is no tests/absent.py"),
        ({"tests": "test_mutants.py::test_absent"}, "test_absent"),
        ({"old": "no such text"}, "stands 0 times"),
        ({"old": "@jit\ndef "}, "stands "),
        ({"new": row.old}, "or is the new one"),
    ):
        assert words in mutants.wrong(row._replace(**other))
