"""From a table to contexts: by hand, in the universe, refusals."""

import numpy as np
import pandas as pd
import pytest

from companion.policies import jdp_linucb
from companion.tabular import SIZES, bounds, contexts_of, levels

COLUMNS = {"age": bounds(0, 100), "drink": levels("tea", "coffee", "unknown")}
TABLE = pd.DataFrame({"age": [75, -20, 300], "drink": ["tea", "coffee", "unknown"]})


def made(**changes):
    return contexts_of(**({"columns": COLUMNS, "arms": ("a", "b")} | changes))


def test_values_by_hand():
    m = made(form="shared")
    rows = np.array([[0.5, 1, 0, 0, 1], [-1, 0, 1, 0, 1], [1, 0, 0, 1, 1]])
    X, want = m.contexts(TABLE), rows / np.sqrt(3)
    np.testing.assert_allclose(X, np.stack([want, want], axis=1))
    np.testing.assert_allclose(np.linalg.norm(X[2], axis=1), 1.0)  # the longest row
    for i, row in TABLE.iterrows():
        np.testing.assert_array_equal(m.context(row), X[i])
    blocks = made().contexts(TABLE)
    np.testing.assert_allclose(blocks[0], [[*want[0], 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, *want[0]]])
    offset, cube = (made(form="shared", universe=u).contexts(TABLE) for u in SIZES if u != "ball")
    np.testing.assert_allclose(offset[:, 0], rows * [0.5, 0.5, 0.5, 0.5, 0.5**0.5])
    np.testing.assert_allclose(cube[:, 1], rows)


def test_a_row_for_each_arm_from_the_columns_with_its_label():
    columns = {"price of {arm}": bounds(0, 2), "age": bounds(0, 100)}
    m = contexts_of(columns, arms=("x", 7), form="rows", universe="cube")
    X = m.context({"price of x": 2, "price of 7": 0, "age": 50})
    np.testing.assert_allclose(X, [[1, 0, 1], [-1, 0, 1]])
    assert m.d == 3
    with pytest.raises(ValueError, match="the table must have one column 'price of 7'"):
        m.context({"price of x": 2, "age": 50})


def test_labels_of_arms_and_the_reward_on_its_scale():
    m = made(arms=(1, 2), reward=bounds(-1, 3))
    assert (m.number(np.int64(2)), m.label(0), m.scaled(0.5)) == (1, 1, 0.375)
    assert (m.scaled(-9.0), m.scaled(9.0)) == (0.0, 1.0)


def test_a_column_named_by_a_number_with_levels_that_are_truth_values():
    m = made(columns={0: levels(True, False)}, form="shared", universe="cube")
    assert m.context({0: False})[0].tolist() == [0.0, 1.0, 1.0]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: bounds(1, 1), "low must be below high"),
        (lambda: bounds(0, 5e-324), "low must be below high"),
        (lambda: made().contexts(TABLE[["age", "drink", "age"]]), "must have one column 'age'"),
        (lambda: made().context({"age": 3, "drink": ["tea"]}), "must be in .*; row 0 has .'tea'"),
        (lambda: levels("a"), "levels must be two or more"),
        (lambda: levels("a", np.nan), "levels must be two or more different texts or numbers"),
        (lambda: made(columns={"age": (0, 1)}), "'age' must have public bounds"),
        (lambda: made(reward=1.0), "'reward' must have public bounds"),
        (lambda: made(columns={}), "columns must be a dictionary"),
        (lambda: made(arms=("a", "a")), "arms must be two or more"),
        (lambda: made(arms=(7, "7")), "arms must be two or more different"),
        (lambda: levels(1, True), "levels must be two or more different"),
        (lambda: made().label(2), r"arm must be an integer in \[0, 1\]"),
        (lambda: made(arms="ab"), "arms must be a sequence"),
        (lambda: made(form="cols"), "form must be one of"),
        (lambda: made(form="rows"), 'form must be "rows" if .* {arm}; got form='),
        (lambda: made(columns={"{arm}": levels(1, 2)}), "only if a name has .*; got form=.blocks"),
        (lambda: made(universe="sphere"), "universe must be one of"),
        (lambda: made(universe="offset_sphere"), "form must be .* in the offset_sphere"),
        (lambda: made().scaled(1.0), "reward must have public bounds"),
        (lambda: made().number("c"), "label must be one of"),
        (lambda: made().context({"age": 3}), "the table must have one column 'drink'"),
        (lambda: made().context(None), "the table must have one column 'age'"),
        (lambda: made().contexts([{"age": 3}]), "table must be a data frame"),
        (lambda: made().context({"age": 3, "drink": "milk"}), "must be in .*; row 0 has 'milk'"),
        (lambda: made().context({"age": 3, "drink": pd.NA}), "'drink' .*missing.* must be in"),
        (lambda: made().context({"age": np.nan, "drink": "tea"}), "missing .* must be finite"),
        (lambda: made().context({"age": None, "drink": "tea"}), "fill missing values by a public"),
        (lambda: made().context({"age": "3", "drink": "tea"}), "'age' .* numbers; row 0 has '3'"),
    ],
)
def test_what_is_wrong_is_refused_in_words(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def test_from_a_csv_to_a_private_run_without_a_clipped_record(tmp_path):
    TABLE.to_csv(tmp_path / "people.csv", index=False)
    m = made()
    live = jdp_linucb(m.d, 10, epsilon=1.0, delta=0.01).start(0)
    for X in m.contexts(tmp_path / "people.csv"):
        live.update(live.select(X), 0.5)
    assert live.report().clipped["records"] == 0
    path = str(tmp_path / "people.csv")
    assert np.array_equal(m.contexts(path), m.contexts(TABLE))
    assert repr(live).startswith("<Live JDP-LinUCB: 3 rounds; ")


def test_an_unknown_level_is_refused_where_other_rows_are_known():
    table = pd.DataFrame({"age": [3, 4, 5], "drink": ["tea", "milk", "tea"]})
    with pytest.raises(ValueError, match="row 1 has 'milk'"):
        made().contexts(table)


def test_a_text_among_numbers_is_refused_with_its_row():
    table = pd.DataFrame({"age": ["3", "old", "5"], "drink": ["tea", "tea", "tea"]})
    with pytest.raises(ValueError, match="'age' must hold numbers; row 1 has 'old'"):
        made().contexts(table)


def test_a_context_has_a_number_for_each_level_and_the_constant():
    """Age, three drinks, the constant: 5; with a block for each of two arms 10."""
    assert made(form="shared").d == 5
    assert made().d == 10
