"""Policies at several budgets, and the choice of one number on seeds of its own."""

import matplotlib as mpl
import numpy as np
import pandas as pd

from companion.baselines.random import random
from companion.report import budgets, plots
from companion.simulate import Result
from companion.stats import ratio


def result(finals, T=4):
    """A `Result` with these final regrets, {name: (n_reps,)}, that grow evenly."""
    last = np.array(list(finals.values())).T
    regret = last[:, :, None] * np.arange(1, T + 1) / T
    return Result(tuple(finals), np.arange(1, T + 1), regret, (None,) * len(finals), 0 * last)


FINALS = {
    "Random": np.array([90.0, 110.0]),
    "A | 0.5": np.array([40.0, 60.0]),
    "B | 0.5": np.array([30.0, 50.0]),
    "C | 0.5": np.array([80.0, 80.0]),
    "A | 2": np.array([10.0, 20.0]),
    "B | 2": np.array([20.0, 40.0]),
    "C | 2": np.array([30.0, 40.0]),
}


def test_lineup_and_table_name_policies_by_budget():
    make = lambda e: [random().renamed(f"at {e}")]  # noqa: E731
    names = [p.name for p in budgets.lineup(make, [0.5, 2.0], [random()])]
    assert names == ["Random", "at 0.5 | 0.5", "at 2.0 | 2"]
    table = budgets.table({"Random": "x", "A | 0.5": "y", "A | 2": "z"}, [0.5, 2.0])
    expected = pd.DataFrame({"ε = 0.5": ["x", "y"], "ε = 2": ["x", "z"]}, index=["Random", "A"])
    pd.testing.assert_frame_equal(table, expected)


def test_final_regrets_are_means_with_intervals_by_budget():
    shown = repr(budgets.finals(result(FINALS), [0.5, 2.0])).split("\n")
    assert shown[0].split() == ["ε", "=", "0.5", "ε", "=", "2"]
    assert shown[1].split() == ["Random", "100", "[-27,", "227]", "100", "[-27,", "227]"]
    assert shown[2].split() == ["A", "50", "[-77,", "177]", "15", "[-49,", "79]"]


def test_ratio_is_to_the_baseline_of_least_mean_at_that_budget():
    run = result(FINALS)
    assert budgets.over_best(run, 0.5, "C", ["A", "B"]) == (
        "B",
        ratio(FINALS["C | 0.5"], FINALS["B | 0.5"]),
    )
    assert budgets.over_best(run, 2.0, "C", ["A", "B"])[0] == "A"
    wide = ratio(FINALS["C | 0.5"], FINALS["B | 0.5"], 0.99)
    assert budgets.over_best(run, 0.5, "C", ["B"], 0.99) == ("B", wide)


def test_panels_leave_out_what_would_hide_the_others():
    mpl.use("Agg")
    fig, data = budgets.panels(result(FINALS), [0.5, 2.0], ["Random"], "Regret")
    labels = [{line.get_label() for line in ax.get_lines()} for ax in fig.axes]
    assert labels == [{"Random", "A", "B", "C"}, {"A", "B", "C"}]
    assert "100" in fig.axes[1].get_title()
    assert "off the scale" not in fig.axes[0].get_title()
    assert set(data.policy) == set(FINALS)
    plots.plt.close(fig)
