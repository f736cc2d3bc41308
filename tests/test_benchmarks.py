"""The benchmarks: they are found, their twins play our arms, their limits can be missed."""

import importlib
import pkgutil
from types import SimpleNamespace

import numpy as np
import pytest
from companion.timing.floors import Measured
from companion.timing.growth import Growth

import benchmarks
import benchmarks.__main__ as command
from benchmarks import floors
from benchmarks.measure import Row, Twin

FILES = [m.name for m in pkgutil.iter_modules(benchmarks.__path__)]


@pytest.mark.parametrize("file", sorted(set(FILES) - command.NOT_ROWS))
def test_every_file_is_imported_and_has_rows(file):
    assert callable(importlib.import_module(f"benchmarks.{file}").rows)


@pytest.mark.parametrize("name", floors.TWINS)
def test_a_twin_in_numpy_plays_our_arms(name):
    # `pair` raises unless they agree, which the next test sees
    pair = floors.pair(name, min(floors.TWINS[name].rounds, 150))
    assert all(map(callable, pair))


def test_a_twin_that_plays_other_arms_is_refused(monkeypatch):
    less = floors.TWINS["ldp_linucb"].play

    def quieter(p, *rest):
        return less(p._replace(sigma=0.9 * p.sigma), *rest)

    monkeypatch.setitem(floors.TWINS, "ldp_linucb", Twin(quieter))
    with pytest.raises(AssertionError, match="ldp_linucb and its twin differ in"):
        floors.pair("ldp_linucb", 150)


def test_a_limit_is_missed_by_the_median_and_by_the_least_times():
    times = np.array([[1.0, 4.0], [1.0, 5.0], [2.0, 6.0]])  # ratios 4, 5, 3; of the least 4
    assert Row("a", times, 4.0).missed() == ""
    assert Row("a", times, 4.1).missed() == "a: 4 times faster, not 4.1"
    assert Row("a", times).missed() == ""
    slow = times * [2.0, 1.0]
    assert Row("a", slow, 0.55 * 4.0).missed()


def timed(multiple=(3.0, 3.2, 3.4), least=3.1, said=3.0, grown=None):
    floor = Measured("linucb", 400, 4, 5, 900.0, multiple, least, said, 328)
    return floors.Timed(floor, 20.0, None, grown)


def test_a_loss_of_two_misses_the_cost_line_and_a_busy_machine_does_not():
    assert floors.missed(timed()) == []
    twice = timed((6.0, 6.4, 6.8), 6.2)
    assert floors.missed(twice) == ["linucb: 6.2 floors; its Cost line says 3"]
    assert floors.missed(timed((3.0, 3.2, 9.0), 6.2)) == []
    assert floors.missed(timed((5.0, 7.0, 9.0), 3.1)) == []
    assert floors.missed(timed(said=None)) == []


def test_growth_beyond_the_line_is_missed():
    grown = Growth("linucb", [], [], {"T": (0.1, 0.0, 0.0), "K": (1.4, 1.0, 1.0)}, 3.5)
    assert floors.missed(timed(grown=grown)) == [
        "linucb: grows as K^1.40; its Cost line says K^1",
        "linucb: 3.5 times off the terms of its Cost line",
    ]


def test_the_command_says_what_it_does_not_know(capsys):
    with pytest.raises(SystemExit) as stop:
        command.main(["nobody"])
    assert stop.value.code == 2
    assert "no file and no algorithm: nobody" in capsys.readouterr().err


def test_the_command_prints_tables_and_fails_where_a_limit_is_missed(monkeypatch, capsys):
    asked = []
    monkeypatch.setattr(floors, "timed", lambda *of: asked.append(of) or timed())
    row = Row("a", np.array([[1.0, 4.0]]), 5.0)
    monkeypatch.setattr(
        command.importlib, "import_module", lambda _: SimpleNamespace(rows=lambda: [row])
    )
    assert command.main(["linucb", "--growth"]) == 0
    assert asked == [("linucb", False, True)]
    out = capsys.readouterr().out
    assert "| linucb | 900 | 3.2 | 3.0 to 3.4 | 3.1 | 3 | 20 | 328 | 400 x 4 x 5 |" in out
    assert "every limit holds" in out
    assert command.main(["lplr"]) == 1  # a file and an algorithm
    assert "a: 4 times faster, not 5" in capsys.readouterr().out
