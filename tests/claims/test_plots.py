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


def carried(page, kind):
    """The text of a page's data of this kind."""
    found = re.search(rf'data:{re.escape(kind)};base64,([^"]+)', page)
    return base64.b64decode(found[1]).decode()


def test_a_figure_is_the_same_bytes_described_with_its_data_and_asks_for_nothing():
    page = plots.figure_html(draw(), **TEXT)
    assert page == plots.figure_html(draw(), **TEXT)
    assert 'alt="a &#34;rising&#34; line &lt;"' in page
    table = pd.read_csv(io.StringIO(carried(page, "text/csv")))
    np.testing.assert_allclose(table, pd.DataFrame(DATA), rtol=1e-5)
    svg = carried(page, "image/svg+xml")
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
    assert sizes[2] == [("760", "192"), ("422", "384")]
    assert sizes[3] == [("866", "192"), ("422", "576")]
    assert sizes[4] == [("760", "384"), ("422", "768")]


def test_thousands_have_a_comma_on_every_axis_and_names_stay():
    fig, (lines, logs, bars) = plots.panels(3)
    lines.plot([0, 12_000], [0.0, 0.5])
    logs.loglog([1, 20_000], [1, 5])
    bars.bar(["a", "b"], [3000, 2000])
    plots.figure_html(fig, **TEXT)
    shown = [
        {label.get_text() for label in axis.get_ticklabels()}
        for ax in fig.axes
        for axis in (ax.xaxis, ax.yaxis)
    ]
    assert "10,000" in shown[0]
    assert "0.5" in shown[1]
    assert "10,000" in shown[2]
    assert shown[4] == {"a", "b"}
    assert "2,000" in shown[5]


def test_a_figure_that_was_shown_is_closed():
    plots.show(draw(), **TEXT)
    assert not plt.get_fignums()


def test_a_curve_is_the_mean_with_its_band():
    _, ax = regret.against([1, 2], {"label": SAMPLES["a"]}, log="xy")
    assert ax.get_lines()[0].get_ydata().tolist() == [2.0, 20.0]
    ends = ax.collections[0].get_paths()[0].vertices[:, 1]
    _, low, high = band(SAMPLES["a"])
    assert (ends.min(), ends.max()) == (low.min(), high.max())


def test_published_means_stand_with_95_percent_and_curves_with_their_growth():
    """Between 1 and 10 rounds regret grows tenfold, or by a sixth."""
    _, ax = regret.against([1, 2], SAMPLES, points={"a": [(1, 5.0, 0.5)]})
    (bar,) = ax.collections[1].get_segments()
    assert bar[:, 1].tolist() == pytest.approx([4.02, 5.98])
    fits = regret.growth(np.array([1.0, 10.0]), SAMPLES)
    assert [fit.value for fit in fits.values()] == pytest.approx([1.0, 0.07], abs=0.01)
    ax = plt.gca()
    assert [line.get_label() for line in ax.lines] == ["a: 1.00", "b: 0.07"]
    assert ax.get_xscale() == ax.get_yscale() == "log"


@pytest.mark.parametrize(
    "names",
    [
        list(plots.POLICIES),
        ["LinUCB", "FLIPHAT, corrected", "FLIPHAT", "of a reader", "b"],
        [f"of reader {i}" for i in range(12)],
    ],
)
def test_policies_that_meet_look_different_and_keep_their_look(names):
    found = plots.looks(names)
    seen = {(own["color"], own["linestyle"]) for own in found.values()}
    assert len(seen) == len(found)
    for name in plots.POLICIES.keys() & found.keys():
        assert found[name] == plots.look(name)


def test_a_variant_has_the_colour_of_its_policy_and_others_have_their_own():
    found = plots.looks(["LinUCB", "FLIPHAT, corrected", "FLIPHAT", "of a reader", "b"])
    colours = {name: own["color"] for name, own in found.items()}
    assert colours.pop("FLIPHAT, corrected") == colours["FLIPHAT"]
    assert len(set(colours.values())) == 4


def test_a_picture_says_where_its_curves_end_and_carries_their_moments(monkeypatch):
    shown = {}
    monkeypatch.setattr(plots, "show", lambda fig, **said: shown.update(said, fig=fig))
    grey = [(np.array([1.0, 2.0]), ":")]
    regret.picture([1, 4], SAMPLES, name="n", alt="Two curves.", caption="c", lines=grey)
    assert shown["alt"] == "Two curves. Means at the right end: a: 20, b: 7."
    data = shown["data"]
    assert data["mean at a"].tolist() == [2.0, 20.0]
    assert data["std at a"].tolist() == pytest.approx([2.0**0.5, 200.0**0.5])
    line = shown["fig"].axes[0].lines[-1]
    assert line.get_linestyle() == ":"
    assert line.get_ydata().tolist() == [1.0, 2.0]


FINALS = {
    "Random": [90.0, 110.0],
    "A | 0.5": [40.0, 60.0],
    "B | 0.5": [30.0, 50.0],
    "A | 2": [10.0, 20.0],
    "B | 2": [20.0, 40.0],
}


@pytest.fixture
def result():
    """A `Result` of four rounds with the final regrets FINALS, that grow evenly."""
    last = np.array(list(FINALS.values())).T
    rounds = np.arange(1, 5)
    return Result(
        names=tuple(FINALS),
        rounds=rounds,
        regret=last[:, :, None] * rounds / 4,
        guarantees=(None,) * len(FINALS),
        seconds=0 * last,
    )


def test_policies_at_several_budgets_have_a_column_for_each(result):
    shown = repr(budgets.finals(result, [0.5, 2.0])).split("\n")
    assert shown[1].split() == ["Random", "100", "[-27,", "227]", "100", "[-27,", "227]"]
    assert shown[2].split() == ["A", "50", "[-77,", "177]", "15", "[-49,", "79]"]


def test_policies_at_several_budgets_have_a_panel_for_each(result):
    fig, data = budgets.panels(result, [0.5, 2.0], ["Random"])
    for ax, budget in zip(fig.axes, ("0.5", "2"), strict=True):
        assert ax.get_title("left").startswith(f"ε = {budget}; ")
        assert {line.get_label() for line in ax.get_lines()} == {"_random", "A", "B"}
        assert "random, to 100" in ax.get_title("left")
    assert [ax.get_ylim()[1] for ax in fig.axes] == pytest.approx([65.0, 39.0])
    assert set(data.policy) == set(FINALS)


@pytest.mark.parametrize("baselines", [["A", "B"], ["B", "A"]])
@pytest.mark.parametrize(("epsilon", "least"), [(0.5, "B"), (2.0, "A")])
def test_the_best_baseline_at_a_budget_has_the_least_mean_regret(
    result,
    baselines,
    epsilon,
    least,
):
    """Means: A has 50 and B 40 at the first budget, A 15 and B 30 at the second."""
    best, over = budgets.over_best(result, epsilon, "A", baselines, 0.5)
    assert best == least
    theirs = np.array(FINALS[budgets.at(least, epsilon)])
    assert over == ratio(np.array(FINALS[budgets.at("A", epsilon)]), theirs, 0.5)
