"""What is promised beside what is measured; ten faults, each found by the part that is named."""

import judged
import numpy as np
import pytest

from companion.audits.measures import Measured, unbounded
from companion.judge import attack, guarantee, points
from companion.judge.subject import load

FINDS = {
    "general": lambda s: attack.general(s, True, None, 1),
    "far": lambda s: attack.general(s, True, None, 1, True),
    "measured": lambda s: guarantee.measured(s, 0),
    "asked": guarantee.asked,
    "rows": lambda s: points.checked(s, "rows"),
}
VERDICT = {"general": "refuted", "far": "refuted", "measured": "holds", "asked": "follows",
           "rows": "holds"}  # fmt: skip


@pytest.fixture(autouse=True)
def _short(monkeypatch):
    """Attacks of a few rounds, which are enough here."""
    monkeypatch.setattr(attack, "ROUNDS", 9)


def found(tmp_path, name, changes, part):
    """(whether something is wrong, the words) that a part says of the template with changes."""
    subject = load(str(judged.written(tmp_path, name.replace(" ", "_"), *changes)))
    told = FINDS[part](subject)
    wrong = told[VERDICT[part]] is (part in ("general", "far"))
    return wrong, told["said"]


@pytest.mark.parametrize("name", judged.FAULTS)
def test_each_fault_is_found_by_the_part_that_is_named(tmp_path, name):
    changes, part, words = judged.FAULTS[name]
    wrong, said = found(tmp_path, name, changes, part)
    assert wrong, said
    assert words in said


@pytest.mark.parametrize("part", FINDS)
def test_no_part_finds_a_fault_in_the_template(tmp_path, part):
    assert not found(tmp_path, f"sound_{part}", [], part)[0]


@pytest.mark.slow
def test_batches_that_are_cleared_are_as_private_as_they_say(tmp_path):
    wrong, said = found(tmp_path, "cleared", judged.BATCHES, "measured")
    assert not wrong
    assert "lies in the measured" in said


def test_without_instances_half_the_noise_is_not_measured(tmp_path):
    """What the judge cannot see: it says so, and the attacks may miss it."""
    changes = [
        *judged.FAULTS["half the noise"][0],
        ("AuditSpec(own_attacks, measured=audit_instances)", "AuditSpec(own_attacks)"),
    ]
    subject = load(str(judged.written(tmp_path, "undeclared", *changes)))
    assert guarantee.declared(subject) == ()
    assert guarantee.promised(subject)["disclosures"] == 0


def test_a_verdict_needs_bounds_the_law_and_the_interval():
    right = Measured(1.0, 1, 1.0, 0.9, 1.1, True, 0.5)
    assert guarantee.verdict(1.0, right)[0] is True
    assert guarantee.verdict(0.5, right)[0] is False
    assert guarantee.verdict(2.0, right)[0] is None
    assert guarantee.verdict(1.0, right._replace(chance=1e-9))[0] is False
    assert guarantee.verdict(1.0, unbounded())[0] is False
    assert guarantee.verdict(np.inf, unbounded())[0] is True
    assert guarantee.verdict(np.inf, right)[0] is None


def test_a_guarantee_that_no_budget_changes_is_found(tmp_path):
    typed = [("2.0 * math.sqrt(d) / p.scale", "0.25")]
    wrong, said = found(tmp_path, "typed", typed, "asked")
    assert wrong
    assert "does not follow the budget" in said
