"""Figures are reproducible to the byte, described, carry their data, and lose no
label."""

import base64
import io
import re

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt

from companion.simulate import Result
from companion.stats import band, ratio
from evidence.claims import budgets, plots, regret

DATA = {"x": [1, 2, 3], "y": [0.5, 1 / 3, 1e-9]}
TEXT = {"alt": 'a "rising" line <', "caption": "Figure", "data": DATA, "name": "rise"}
SAMPLES = {
    "a": np.array([[1.0, 10.0], [3.0, 30.0]]),
    "b": np.array([[5.0, 5.0], [7.0, 9.0]]),
}


@pytest.fixture(autouse=True)
def closed():
    """A clean style and no open figure before and after."""
    with plt.rc_context():
        plots.use_style()
        yield
    plt.close("all")


def draw():
    fig, axes = plots.panels(2)
    samples = dict.fromkeys(("first", "second"), np.random.default_rng(1).random((5, 3)))
    regret.against([1, 2, 3], samples, ax=axes[0])
    return fig


def test_a_figure_is_the_same_bytes_described_with_its_data_and_asks_for_nothing():
    page = plots.figure_html(draw(), **TEXT)
    assert page == plots.figure_html(draw(), **TEXT)
    assert 'alt="a &#34;rising&#34; line &lt;"' in page
    table = base64.b64decode(
        re.search(r"data:text/csv;base64,([^\"]+)", page)[1]
    ).decode()
    np.testing.assert_allclose(
        pd.read_csv(io.StringIO(table)),
        pd.DataFrame(DATA),
        rtol=1e-5,
    )
    svg = base64.b64decode(re.search(r"image/svg\+xml;base64,([^\"]+)", page)[1]).decode()
    assert svg.rstrip().endswith("</svg>")
    assert not re.search(r'(href|src)="https?:', svg)


def test_panels_stand_in_rows_where_the_page_is_wide():
    """Two or four panels in rows of two, three in a row; one panel has one picture."""
    sizes = {}
    for n in (1, 2, 3, 4):
        fig, _ = plots.panels(n, height=2.0, sharex=True)
        page = plots.figure_html(fig, **TEXT)
        assert page.count("data:image/svg+xml") == (1 if n == 1 else 2)
        sizes[n] = re.findall(r'width="(\d+)" height="(\d+)"', page)
    assert sizes[1] == [("422", "192")]
    assert sizes[2] == [("718", "192"), ("422", "384")]
    assert sizes[3] == [("1077", "192"), ("422", "576")]
    assert sizes[4] == [("718", "384"), ("422", "768")]


@pytest.mark.parametrize("missing", ["alt", "caption", "name"])
def test_a_figure_without_words_is_refused(missing):
    with pytest.raises(ValueError, match=missing):
        plots.show(draw(), **(TEXT | {missing: "  "}))
    plt.close("all")
    plots.show(draw(), **TEXT)
    assert not plt.get_fignums()


def test_a_curve_is_the_mean_with_its_band():
    _, ax = regret.against([1, 2], {"label": SAMPLES["a"]}, log="xy")
    assert ax.get_lines()[0].get_ydata().tolist() == [2.0, 20.0]
    ends = ax.collections[0].get_paths()[0].vertices[:, 1]
    assert {ends.min(), ends.max()} == {
        band(SAMPLES["a"])[1].min(),
        band(SAMPLES["a"])[2].max(),
    }


def test_policies_that_meet_look_different_and_keep_their_look():
    for names in (
        plots.POLICIES,
        ["LinUCB", "FLIPHAT, corrected", "FLIPHAT", "of a reader", "b"],
    ):
        found = plots.looks(list(names))
        seen = {(own["color"], own["linestyle"]) for own in found.values()}
        assert len(seen) == len(found)
        assert all(found[n] == plots.look(n) for n in names if n in plots.POLICIES)
    assert found["FLIPHAT, corrected"]["color"] == found["FLIPHAT"]["color"]
    assert (
        len({found[n]["color"] for n in ("of a reader", "b", "LinUCB", "FLIPHAT")}) == 4
    )
    with pytest.raises(ValueError, match="which must begin"):
        plots.look("of a reader")


def test_a_picture_says_where_its_curves_end_and_carries_their_moments(monkeypatch):
    shown = {}
    lines = []
    monkeypatch.setattr(
        plots,
        "show",
        lambda fig, **said: (shown.update(said), lines.extend(fig.axes[0].lines)),
    )
    grey = [(np.array([1.0, 2.0]), ":")]
    regret.picture([1, 4], SAMPLES, name="n", alt="Two curves.", caption="c", lines=grey)
    assert shown["alt"] == "Two curves. Means at the right end: a: 20, b: 7."
    expected = {"x": [1, 4], "mean at a": [2.0, 20.0], "std at a": np.sqrt([2.0, 200.0])}
    pd.testing.assert_frame_equal(shown["data"][list(expected)], pd.DataFrame(expected))
    assert (lines[-1].get_linestyle(), lines[-1].get_ydata().tolist()) == (
        ":",
        [1.0, 2.0],
    )


FINALS = {
    "Random": [90.0, 110.0],
    "A | 0.5": [40.0, 60.0],
    "B | 0.5": [30.0, 50.0],
    "A | 2": [10.0, 20.0],
    "B | 2": [20.0, 40.0],
}


def result(T=4):
    """A `Result` with the final regrets FINALS, that grow evenly."""
    last = np.array(list(FINALS.values())).T
    grown = last[:, :, None] * np.arange(1, T + 1) / T
    return Result(
        names=tuple(FINALS),
        rounds=np.arange(1, T + 1),
        regret=grown,
        guarantees=(None,) * len(FINALS),
        seconds=0 * last,
    )


def test_policies_at_several_budgets_have_a_panel_and_a_column_for_each():
    shown = repr(budgets.finals(result(), [0.5, 2.0])).split("\n")
    assert shown[1].split() == ["Random", "100", "[-27,", "227]", "100", "[-27,", "227]"]
    assert shown[2].split() == ["A", "50", "[-77,", "177]", "15", "[-49,", "79]"]
    fig, data = budgets.panels(result(), [0.5, 2.0], ["Random"], "Regret")
    labels = [{line.get_label() for line in ax.get_lines()} for ax in fig.axes]
    assert labels == [{"Random", "A", "B"}, {"A", "B"}]  # it would hide the others
    assert "100" in fig.axes[1].get_title("left")
    assert set(data.policy) == set(FINALS)
    best = budgets.over_best(result(), 0.5, "A", ["B"])
    assert best == ("B", ratio(np.array(FINALS["A | 0.5"]), np.array(FINALS["B | 0.5"])))


@pytest.mark.parametrize("baselines", [["A", "B"], ["B", "A"]])
def test_the_best_baseline_at_a_budget_has_the_least_mean_regret(baselines):
    """Means: A has 50 and B 40 at the first budget, A 15 and B 30 at the second."""
    assert budgets.over_best(result(), 0.5, "A", baselines)[0] == "B"
    assert budgets.over_best(result(), 2.0, "A", baselines)[0] == "A"
