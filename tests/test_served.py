"""The rows that repetitions serve are found from the names that cells take."""

import math

import pytest

from companion.report.claims import MIME, Claims
from companion.report.evidence import Rule, row
from companion.stats import Interval
from tools import front, served

CELLS = {
    "given": "n_reps = 20  # repetitions; integer in [2, 100]\nT = 9  # rounds; integer in [2, 99]",
    "imports": "seeds, at_scale = repetitions(1, n_reps), n_reps >= 20",
    "run": "curves = run(seeds, T)",
    "ends": "finals = [c[-1] for c in curves]",
    "figure": 'print(f"{n_reps} runs", curves)\nclaim = page.open("near")',
    "other": 'second = run(n_reps)\npage.finding("far", finals)',
    "exact": 'page.open("proved", T, at_scale)',
}


def notebook(injected=""):
    """A chapter of `CELLS` as it was executed: one row has little room, one has much."""
    found = Claims("one")
    for id, low in (("near", 0.7), ("far", -3.0), ("proved", 0.0)):
        claim = found.claim(id, "text", "s", "p")
        if id == "proved":
            claim.proof("", "an argument of some length", True)
        else:
            claim.row("d = 2", Interval(1.0, 0.8, 1.2), of="slope", low=low)
    cells = [{"cell_type": "code", "id": id, "source": code} for id, code in CELLS.items()]
    cells[0]["metadata"] = {"tags": ["parameters"]}
    if injected:
        more = {"cell_type": "code", "id": "new", "source": injected}
        cells.insert(1, more | {"metadata": {"tags": ["injected-parameters"]}})
    cells[-1]["outputs"] = [{"data": {MIME: found._repr_mimebundle_()[MIME]}}]
    return {"cells": [{"metadata": {}} | c for c in cells]}


def test_a_cell_serves_the_claims_that_take_its_names():
    """By way of `ends`, and of the seeds; what is said of a number is no repetition."""
    run, other = served.served("one", notebook())
    assert (run.cell, run.counts) == ("run", {"n_reps": 20})
    assert (other.cell, other.counts) == ("other", {"n_reps": 20})
    assert [id for _, _, id, _ in run.rows] == ["near"]
    assert [id for _, _, id, _ in other.rows] == ["far"]
    assert run.rows[0][:2] == pytest.approx((0.5, 0.2))
    (through,) = [s for s in served.served("one", named("second = 1")) if s.cell == "run"]
    assert [id for _, _, id, _ in through.rows] == ["near", "far"]


def named(line):
    """`notebook`, of which the cell "other" repeats nothing, and begins with a line instead."""
    made = notebook()
    (cell,) = [c for c in made["cells"] if c["id"] == "other"]
    cell["source"] = cell["source"].replace("second = run(n_reps)", line)
    return made


def test_the_number_of_repetitions_is_that_of_the_build():
    assert served.counts(notebook("n_reps = 4\nT = 3")) == {"n_reps": 4}


@pytest.mark.parametrize(("count", "room"), [(20, 0.5), (20, 1.9), (100, 2.0), (5_000, 6.3)])
def test_fewest_leaves_two_half_widths_and_one_less_does_not(count, room):
    def left(n):
        half = math.sqrt(count / n)
        measured = Interval(0.0, -half, half)
        return row("", measured, Rule("slope", low=-1.0 - room)).room

    assert left(count) == pytest.approx(room)
    n = served.fewest(count, room)
    assert n > served.LEAST
    assert left(n) >= served.ROOM - 1e-9 > left(n - 1)


def test_eight_are_the_least_and_nothing_is_said_of_an_interval_that_holds_its_limit():
    assert served.fewest(20, 100.0) == 8
    assert served.fewest(20, 0.0) is None


def test_the_page_shows_row_half_width_limit_and_what_is_enough():
    text = front.fill("% served", {"one": notebook()})
    for part in ("<code>run</code>", "#claim-near", "slope at least 0.7", ">0.2<", ">0.5<"):
        assert part in text
    assert "n_reps = 20" in text
    assert ">80<" in text  # (3/1.5)^2 times as many
    assert "exact" not in text
