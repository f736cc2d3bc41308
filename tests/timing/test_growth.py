"""Growth: the sizes that are tried, and times beside a line."""

import numpy as np
import pytest

from companion.timing import cost_line, growth
from companion.timing.roster import ROSTER

SMALL = {"T": 2_000, "K": 16, "d": 8}


def test_ladders_go_from_the_smallest_to_the_largest():
    for name, largest in growth.LARGEST.items():
        sizes = growth.ladder(name, growth.LARGEST)
        assert (sizes[0], sizes[-1]) == (growth.SMALLEST[name], largest)
        assert sizes == sorted(set(sizes))
    assert growth.LARGEST["T"] >= 100 * growth.SMALLEST["T"]
    assert growth.LARGEST["K"] >= 100 * growth.SMALLEST["K"]


def test_one_size_grows_at_a_time_and_optimisers_have_no_arms():
    plan = growth.swept(ROSTER["linucb"].make(5, 4, 400), SMALL)
    for name, sizes in plan:
        assert {n for n in sizes if sizes[n] != growth.BASE[n]} <= {name}
    records = growth.swept(ROSTER["noisy_sfw"].make(5, 1, 400), SMALL)
    assert {name for name, _ in records} == {"T", "d"}
    assert {sizes["K"] for _, sizes in records} == {1}


def test_a_policy_is_followed():
    g = growth.grown("linucb", SMALL)
    assert g.exponents.keys() == {"T", "K", "d"}
    assert [g.exponents[n][2] for n in "TKd"] == [0.0, 1.0, 2.0]
    assert len(g.times) == len(g.sizes)
    assert (g.times > 0).all()


def test_a_line_without_terms_is_refused():
    with pytest.raises(ValueError, match="'lplr' has a Cost line without terms"):
        growth.grown("lplr", SMALL)


def test_a_ladder_ends_after_a_long_run(monkeypatch):
    monkeypatch.setattr(growth, "seconds", lambda entry, at, *_, **__: at["d"] / 20.0)
    entry = ROSTER["linucb"]
    names, sizes, times = growth.measured(entry, entry.make(5, 4, 400), SMALL, 1)
    assert names.count("T") == names.count("K") == 1  # d = 5 takes longer than LONG there
    assert [s["d"] for n, s in zip(names, sizes, strict=True) if n == "d"] == [2, 3, 5]
    assert times[-1] == pytest.approx(5 / 20.0 / growth.BASE["T"])


def test_exponents_and_the_distance_come_from_times():
    plan = growth.swept(ROSTER["linucb"].make(5, 4, 400), growth.LARGEST)
    names, sizes = [n for n, _ in plan], [s for _, s in plan]
    times = np.array([1e-9 * s["K"] * s["d"] ** 2 for s in sizes])
    true, false = (cost_line.read(f"Cost: O({t}) time per round.") for t in ("K d^2", "K d"))
    g = growth.compared("a", true, names, sizes, times)
    assert [g.exponents[n][0] for n in "TKd"] == pytest.approx([0.0, 1.0, 2.0], abs=0.05)
    assert g.worst < 1.05
    assert growth.compared("a", false, names, sizes, times).worst > growth.AGREES
