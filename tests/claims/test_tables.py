"""Tables look alike, and differences to published numbers are judged together."""

import numpy as np
import pandas as pd
import pytest

from companion.stats import Interval
from evidence.claims import tables
from evidence.claims.page import Page

SAMPLES = np.random.default_rng(1).normal(10.0, 1.0, 50)


def test_cells_are_formatted_and_escaped():
    data = [
        {
            "name": "<b>",
            "x": 0.123456,
            "n": 12,
            "q": Interval(1.0, 0.5, 2.0),
            "none": np.nan,
        }
    ]
    shown = tables.numbers(data, caption="a & b", formats={"x": ".1f"})
    page = shown._repr_html_()
    assert "&lt;b&gt;" in page
    assert '<td data-label="x">0.1</td>' in page
    assert '<td data-label="n">12</td>' in page
    assert "1 [0.5, 2]" in page
    assert "<caption>a &amp; b</caption>" in page
    assert "0.123456" in repr(shown)


def test_rows_without_names_get_their_columns_from_the_head():
    rows = zip((1, 2), (0.5, 0.25), strict=True)
    named = pd.DataFrame({"a": [1, 2], "b, c": [0.5, 0.25]})
    assert repr(tables.numbers(rows, "a | b, c")) == repr(tables.numbers(named))
    assert tables.mean(np.array([9.0, 11.0])) == "10 [-3, 23]"


def test_a_share_adds_the_errors_of_one_run_and_averages_those_of_many():
    mean = SAMPLES.mean()
    half = 1.959964
    row = ["a", mean, 0.02 * mean, SAMPLES]
    error = np.hypot(SAMPLES.std(ddof=1) / np.sqrt(50) / mean, 0.02)
    for groups, e in (
        ([[row]], error),
        ([[row, row]], error),
        ([[row], [row]], error / 2**0.5),
    ):
        np.testing.assert_allclose(
            tables.share(groups),
            [1, 1 - half * e, 1 + half * e],
            rtol=1e-6,
        )


def test_published_numbers_are_confirmed_within_a_tolerance():
    mean = SAMPLES.mean()
    near = ["a", mean, 0.01, SAMPLES]
    far = ["b", 1.2 * mean, 0.01, SAMPLES]
    for groups, others, outcomes, controls in (
        ([[near]], [[far]], ["holds", "holds"], ["fails", "fails"]),
        ([[far]], [[near]], ["fails", "fails"], ["holds", "holds"]),
        ([[near]], [], ["holds", "holds"], [None, None]),
        ([], [[far]], [], []),
    ):
        claim = Page("chapter").claim("a", "figure", "s", "p")
        tables.confirm(claim, groups, 0.1, ("other runs", others))
        assert [row.outcome for row in claim.evidence] == outcomes
        assert [row.control and row.control.outcome for row in claim.evidence] == controls


def test_published_curves_are_read_between_our_settings_in_logarithms():
    final = {1.0: np.array([[0.0, 2.0], [2.0, 4.0]])}
    # no such budget; too far out
    table = [[2, 1, 5.0, 1.96], [2, 3, 7.0, 1.0], [9, 1, 7.0, 1.0]]
    groups, points = tables.published_curves([1, 4], final, table, "d", per=1.96)
    (((setting, mean, error, ours),),) = groups
    assert (setting, mean, error, ours.tolist()) == ("d = 2, ε = 1", 5.0, 1.0, [1.0, 3.0])
    assert points == {"ε = 1": [(2, 5.0, 1.0)]}


def test_published_rounds_are_found_by_label_and_round():
    curves = {"ε = 1": np.array([[1.0, 2.0], [3.0, 4.0]]), "lasso": np.zeros((2, 2))}
    table = [
        ["1", 20, 5.0, 1.96],
        ["1", 15, 5.0, 1.0],
        ["lasso", 10, 2.0, 3.92],
        ["2", 10, 1, 1],
    ]
    (((setting, mean, error, ours),), (other,)), points = tables.published_rounds(
        np.array([10, 20]),
        curves,
        table,
    )
    assert (setting, mean, error, ours.tolist()) == (
        "ε = 1, t = 20",
        5.0,
        1.0,
        [2.0, 4.0],
    )
    assert other[0] == "lasso, t = 10"
    assert points == {"ε = 1": [(20, 5.0, 1.0)], "lasso": [(10, 2.0, 2.0)]}


def test_published_means_without_errors():
    """The interval is that of two means of ten runs, whatever the number of ours."""
    claim = Page("chapter").claim("ten", "table", "s", "p")
    samples = 10.0 * SAMPLES / SAMPLES.mean()
    half = 1.959964 * samples.std(ddof=1) * np.sqrt(0.2)
    assert 0.05 < half / 10.0 < 0.1
    cases = [
        (f"{m:g}", m, samples, ("another row", 10.0 * samples)) for m in (10.0, 9.5, 8.0)
    ]
    rows = tables.without_errors(claim, cases)
    assert [r["agrees"] for r in rows] == ["holds", "undecided", "fails"]
    assert [r.control.outcome for r in claim.evidence] == ["fails"] * 3
    assert rows[0]["ratio"].high == pytest.approx(1.0 + half / 10.0)
    assert claim.evidence[0].limits == (0.9, 1.1)


@pytest.mark.parametrize(("groups", "largest"), [(1, 4.8916), (2, 5.0263)])
def test_the_limits_of_a_confirmation_follow_from_the_tolerance_and_the_settings(
    groups,
    largest,
):
    """Normal quantiles: one in a million on both sides, shared by all settings."""
    claim = Page("chapter").claim("a", "figure", "s", "p")
    rows = [[["a", SAMPLES.mean(), 0.01, SAMPLES]]] * groups
    tables.confirm(claim, rows, 0.1, ("none", []))
    mean, single = (row.limits for row in claim.evidence)
    assert mean == (0.9, 1.1)
    assert single == (None, pytest.approx(largest, abs=1e-4))


@pytest.mark.parametrize("printed", [0.8, 1.2])
def test_a_single_wild_difference_fails_on_either_side(printed):
    claim = Page("chapter").claim("a", "figure", "s", "p")
    row = ["a", printed * SAMPLES.mean(), 0.01, SAMPLES]
    tables.confirm(claim, [[row]], 0.5, ("none", []))
    assert [row.outcome for row in claim.evidence] == ["holds", "fails"]


@pytest.mark.parametrize(
    ("v", "ours"),
    [(0.9, None), (1, [0.0, 2.0]), (4, [2.0, 4.0]), (4.1, None)],
)
def test_published_settings_are_compared_up_to_the_ends_of_ours(v, ours):
    final = {1.0: np.array([[0.0, 2.0], [2.0, 4.0]])}
    groups, _ = tables.published_curves([1, 4], final, [[v, 1, 5.0, 1.0]], "d")
    found = [row[3].tolist() for ((row),) in groups]
    assert found == ([] if ours is None else [ours])


def test_a_difference_is_counted_in_joint_standard_errors():
    """Ours: mean 10, error 1; theirs: mean 9, error sqrt(3): the difference is half of
    2."""
    (z,) = tables.beside([["a", 9.0, 3.0**0.5, np.array([9.0, 11.0])]])["z"]
    assert z == pytest.approx(0.5)
    (z,) = tables.beside([["a", 11.0, 0.0, np.array([9.0, 11.0])]])["z"]
    assert z == pytest.approx(-1.0)
