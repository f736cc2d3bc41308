"""The list of planted faults fits the project as it stands: `make mutants` plants them."""

import re

import mutants
import pytest
from mutants import MUTANTS, ROOT


@pytest.mark.parametrize("m", MUTANTS, ids=lambda m: f"{m.name} ({m.file})")
def test_a_fault_can_be_planted_and_its_tests_are_there(m):
    assert mutants.wrong(m) == ""
    assert m.old != m.new
    for test in mutants.tests(m):
        file, _, name = test.partition("::")
        assert not name or f"def {name.partition('[')[0]}(" in (ROOT / file).read_text("utf8")


def test_every_fault_has_a_name_of_its_own():
    assert len({(m.name, m.file) for m in MUTANTS}) == len(MUTANTS)


def test_every_paper_and_every_private_baseline_has_three_faults():
    rooms = "online_linucb", "private_glm", "fliphat", "streaming_sco", "lplr"
    parts = [f"companion/{r}/" for r in (*rooms, "accounting", "audits", "judge")]
    parts += [f"baselines/{b}" for b in ("private_linucb", "local_md", "noisy_sfw", "noisy_sgd")]
    parts += ["report/claims"]
    for part in parts:
        assert sum(bool(re.search(part, m.file)) for m in MUTANTS) >= 3, part


def test_a_row_that_does_not_fit_says_why():
    row = MUTANTS[0]
    assert "there is no companion/absent.py" in mutants.wrong(
        row._replace(file="companion/absent.py")
    )
    assert "there is no tests/absent.py" in mutants.wrong(row._replace(tests="absent.py::test_x"))
    assert "stands 0 times" in mutants.wrong(row._replace(old="no such text"))
    assert "stands " in mutants.wrong(row._replace(old="@jit\ndef "))
