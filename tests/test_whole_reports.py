"""Whole reports: the package's own private policies, and ten policies with a fault."""

import judged
import pytest

from companion import policies
from companion.arena import recipes
from companion.judge import judge, judging, standing

PRIVATE = [n for n in policies.TABLE if policies.example(n).guarantee.model != "none"]
WORLD, SMALL = "logistic clicks", {"T": 400, "n_reps": 4, "tune_reps": 2, "cases": 0}


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """One for all reports: what the others of the arena do is played once."""
    return tmp_path_factory.mktemp("reports") / "store.json"


@pytest.mark.slow
@pytest.mark.xdist_group("whole reports")
@pytest.mark.parametrize("name", PRIVATE)
def test_our_own_policies_go_through_the_same_judge(name, store, monkeypatch):
    """Quick and whole but for the instances, which `test_every_guarantee` measures, all of them.
    Their promises are not refuted, and who does not play a world is refused as in the arena."""
    monkeypatch.setattr(judging, "QUICK", judging.QUICK._replace(**SMALL))
    monkeypatch.setattr("companion.judge.attack.ROUNDS", 16)
    report = judge(name, worlds=[WORLD], quick=True, trials=40, store=store)
    assert not report.refuted, report
    assert report.lines[-1].startswith("The contract holds"), report
    silent = [line for line in report.lines if "gave nothing" in line]
    assert all("policy must have d=1" in line for line in silent), report  # LPLR's own attack
    assert len(silent) <= (name == "lplr")
    (place,) = report.data["arena"]
    why = recipes.refused(name, standing.WORLDS[WORLD](), 400)
    assert place.get("refused", "") == why
    if not why:
        mine = [r["policy"] for r in place["rows"] if r["verdict"] is None]
        assert mine == [name]


@pytest.mark.slow
@pytest.mark.parametrize("fault", judged.FAULTS)
def test_the_first_line_names_the_fault(fault, tmp_path, monkeypatch):
    monkeypatch.setattr("companion.judge.attack.ROUNDS", 9)
    changes, _, words = judged.FAULTS[fault]
    path = judged.written(tmp_path, fault.replace(" ", "_"), *changes)
    report = judge(str(path), worlds=[], quick=True)
    assert report.lines[0].startswith(("REFUTED: ", "The contract does not hold: ")), report
    assert any(words in line for line in report.lines[:2]), report
