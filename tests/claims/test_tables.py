"""Tables look alike, and differences to published numbers are judged together."""

import numpy as np
import pandas as pd
import pytest

from companion.stats import Interval
from evidence.claims import tables
from evidence.claims.page import Page

SAMPLES = np.random.default_rng(1).normal(10.0, 1.0, 50)


@pytest.fixture
def claim():
    return Page("chapter").claim("a", "figure", "s", "p")


def test_cells_are_formatted_and_escaped():
    row = {"name": "<b>", "x": 0.123456, "n": 12, "q": Interval(1.0, 0.5, 2.0)}
    row |= {"y": 0.123456, "least": 2.0, "none": np.nan}
    formats = {"x": ".1f", "least": "at least {}".format}
    options = {"caption": "a & b", "precision": 2, "fold": "All rows"}
    shown = tables.numbers([row], formats=formats, **options)
    page = shown._repr_html_()
    for said in (
        "&lt;b&gt;",
        '<td data-label="x">0.1</td>',
        '<td data-label="n">12</td>',
        '<td data-label="y">0.12</td>',
        '<td data-label="least">at least 2.0</td>',
        '<td data-label="none"></td>',
        "<summary>All rows</summary>",
        "1 [0.5, 2]",
        "<caption>a &amp; b</caption>",
    ):
        assert said in page
    assert "0.123456" in repr(shown)


def test_rows_without_names_get_their_columns_from_the_head():
    named = pd.DataFrame({"a": [1, 2], "b, c": [0.5, 0.25]})
    shown = tables.numbers([(1, 0.5), (2, 0.25)], "a | b, c")
    assert repr(shown) == repr(tables.numbers(named))
    assert tables.mean(np.array([9.0, 11.0])) == "10 [-3, 23]"


@pytest.mark.parametrize(
    ("runs", "in_a_run", "smaller"),
    [(1, 1, 1.0), (1, 2, 1.0), (2, 1, 2.0**0.5)],
)
def test_a_share_adds_the_errors_of_one_run_and_averages_those_of_many(
    runs,
    in_a_run,
    smaller,
):
    mean = SAMPLES.mean()
    row = ["a", mean, 0.02 * mean, SAMPLES]
    own = SAMPLES.std(ddof=1) / np.sqrt(50) / mean
    half = 1.959964 * np.hypot(own, 0.02) / smaller
    share = tables.share([[row] * in_a_run] * runs)
    assert share == pytest.approx((1.0, 1.0 - half, 1.0 + half), rel=1e-6)
    other = ["b", 2.0 * mean, 0.0, SAMPLES]  # a half of what is published
    assert tables.share([[row, other]]).value == pytest.approx(0.75)


NEAR = [["a", SAMPLES.mean(), 0.01, SAMPLES]]
FAR = [["b", 1.2 * SAMPLES.mean(), 0.01, SAMPLES]]


@pytest.mark.parametrize(
    ("groups", "others", "outcomes", "controls"),
    [
        ([NEAR], [FAR], ["holds", "holds"], ["fails", "fails"]),
        ([FAR], [NEAR], ["fails", "fails"], ["holds", "holds"]),
        ([NEAR], [], ["holds", "holds"], [None, None]),
        ([], [FAR], [], []),
    ],
)
def test_published_numbers_are_confirmed_within_a_tolerance(
    claim,
    groups,
    others,
    outcomes,
    controls,
):
    tables.confirm(claim, groups, 0.1, ("other runs", others), "mean over all d")
    settings = ["mean over all d", "largest single difference"]
    assert [row.setting for row in claim.evidence] == settings[: len(outcomes)]
    assert [row.outcome for row in claim.evidence] == outcomes
    assert [row.control and row.control.outcome for row in claim.evidence] == controls
    shown = repr(tables.compared(groups))
    assert ("nothing to compare" in shown) is (groups == [])


def test_published_curves_are_read_between_our_settings_in_logarithms():
    """Up to the ends of our settings, 1 and 4, and at our budgets."""
    final = {1.0: np.array([[0.0, 2.0], [2.0, 4.0]])}
    table = [[v, 1, 5.0, 1.96] for v in (0.9, 1, 2, 4, 4.1)] + [[2, 3, 7.0, 1.0]]
    groups, points = tables.published_curves([1, 4], final, table, "d", per=1.96)
    assert points == {"ε = 1": [(v, 5.0, 1.0) for v in (1, 2, 4)]}
    ours = []
    for ((setting, mean, error, samples),), v in zip(groups, (1, 2, 4), strict=True):
        assert (setting, mean, error) == (f"d = {v}, ε = 1", 5.0, 1.0)
        ours.append(samples.tolist())
    assert ours == [[0.0, 2.0], [1.0, 3.0], [2.0, 4.0]]


def test_published_rounds_are_found_by_label_and_round():
    curves = {"ε = 1": np.array([[1.0, 2.0], [3.0, 4.0]]), "lasso": np.zeros((2, 2))}
    table = [
        ["1", 20, 5.0, 1.96],
        ["1", 15, 5.0, 1.0],
        ["lasso", 10, 2.0, 3.92],
        ["2", 10, 1, 1],
    ]
    rounds = np.array([10, 20])
    groups, points = tables.published_rounds(rounds, curves, table)
    (setting, mean, error, ours), other = (row for (row,) in groups)
    assert setting == "ε = 1, t = 20"
    assert (mean, error) == (5.0, 1.0)
    assert ours.tolist() == [2.0, 4.0]
    assert other[0] == "lasso, t = 10"
    assert points == {"ε = 1": [(20, 5.0, 1.0)], "lasso": [(10, 2.0, 2.0)]}


@pytest.mark.parametrize(
    ("mean", "result"),
    [(10.0, "holds"), (9.5, "undecided"), (8.0, "fails")],
)
def test_published_means_without_errors(claim, mean, result):
    """The interval is that of two means of ten runs, whatever the number of ours."""
    samples = 10.0 * SAMPLES / SAMPLES.mean()
    half = 1.959964 * samples.std(ddof=1) * np.sqrt(0.2)
    assert 0.5 < half < 1.0
    other = ("another row", 10.0 * samples)
    assert tables.without_errors(claim, "S = 2", mean, samples, other) == result
    (row,) = claim.evidence
    assert row.control.outcome == "fails"
    assert row.limits == (0.9, 1.1)
    assert row.interval[1] == pytest.approx((10.0 + half) / mean)


@pytest.mark.parametrize(("groups", "largest"), [(1, 4.8916), (2, 5.0263)])
def test_the_limits_of_a_confirmation_follow_from_the_tolerance_and_the_settings(
    claim,
    groups,
    largest,
):
    """Normal quantiles: one in a million on both sides, shared by all settings."""
    rows = [[["a", SAMPLES.mean(), 0.01, SAMPLES]]] * groups
    tables.confirm(claim, rows, 0.1, ("none", []))
    mean, single = (row.limits for row in claim.evidence)
    assert mean == (0.9, 1.1)
    assert single == (None, pytest.approx(largest, abs=1e-4))


@pytest.mark.parametrize("printed", [0.8, 1.2])
def test_a_single_wild_difference_fails_on_either_side(claim, printed):
    row = ["a", printed * SAMPLES.mean(), 0.01, SAMPLES]
    tables.confirm(claim, [[row]], 0.5, ("none", []))
    mean, single = claim.evidence
    assert mean.outcome == "holds"
    assert single.outcome == "fails"


@pytest.mark.parametrize(
    ("theirs", "error", "z"), [(9.0, 3.0**0.5, 0.5), (11.0, 0.0, -1.0)]
)
def test_a_difference_is_counted_in_joint_standard_errors(theirs, error, z):
    """Ours: mean 10, error 1; an error of sqrt(3) makes it 2.  Two runs: half of the
    interval is 12.706 errors."""
    row = ["a", theirs, error, np.array([9.0, 11.0])]
    found = tables.beside([row]).iloc[0]
    assert found.z == pytest.approx(z)
    assert found["ours (95 %)"] == pytest.approx((10.0, -2.706, 22.706), abs=1e-3)
