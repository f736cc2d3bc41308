"""From a table to contexts: by hand, in the universe, refusals."""

from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from companion.policies import jdp_linucb
from companion.tabular import bounds, contexts_of, levels

COLUMNS = {"age": bounds(0, 100), "drink": levels("tea", "coffee", "unknown")}
TABLE = pd.DataFrame({"age": [75, -20, 300], "drink": ["tea", "coffee", "unknown"]})

PLAIN = {"form": "shared", "universe": "cube"}  # numbers as they are, in [-1, 1]


def made(**changes):
    return contexts_of(**({"columns": COLUMNS, "arms": ("a", "b")} | changes))


def test_values_by_hand():
    m = made(form="shared")
    rows = np.array([[0.5, 1, 0, 0, 1], [-1, 0, 1, 0, 1], [1, 0, 0, 1, 1]])
    X = m.contexts(TABLE)
    want = rows / np.sqrt(3)
    np.testing.assert_allclose(X, np.stack([want, want], axis=1))
    np.testing.assert_allclose(np.linalg.norm(X[2], axis=1), 1.0)  # the longest row
    for i, row in TABLE.iterrows():
        np.testing.assert_array_equal(m.context(row), X[i])
    blocks = made().contexts(TABLE)
    np.testing.assert_allclose(
        blocks[0],
        [[*want[0], 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, *want[0]]],
    )
    offset = made(form="shared", universe="offset_sphere").contexts(TABLE)
    cube = made(**PLAIN).contexts(TABLE)
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
    assert m.number(np.int64(2)) == 1
    assert m.label(0) == 1
    assert m.scaled(0.5) == 0.375
    assert m.scaled(-9.0) == 0.0
    assert m.scaled(9.0) == 1.0


def test_a_column_named_by_a_number_with_levels_that_are_truth_values():
    m = made(columns={0: levels(True, False)}, **PLAIN)
    assert m.context({0: False})[0].tolist() == [0.0, 1.0, 1.0]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: bounds(1, 1), "low must be below high"),
        (lambda: bounds(0, 5e-324), "low must be below high"),
        (
            lambda: made().contexts(TABLE[["age", "drink", "age"]]),
            "must have one column 'age'",
        ),
        (
            lambda: made().context({"age": 3, "drink": ["tea"]}),
            "must be in .*; row 0 has .'tea'",
        ),
        (lambda: levels("a"), "levels must be two or more"),
        (
            lambda: levels("a", np.nan),
            "levels must be two or more different texts or numbers",
        ),
        (lambda: made(columns={"age": (0, 1)}), "'age' must have public bounds"),
        (lambda: made(reward=1.0), "'reward' must have public bounds"),
        (lambda: made(columns={}), "columns must be a dictionary"),
        (lambda: made(arms=(7, "7")), "arms must be two or more different"),
        (lambda: levels(1, True), "levels must be two or more different"),
        (lambda: made().label(2), r"arm must be an integer in \[0, 1\]"),
        (lambda: made(arms="ab"), "arms must be a sequence"),
        (lambda: made(form="cols"), "form must be one of"),
        (lambda: made(form="rows"), 'form must be "rows" if .* {arm}; got form='),
        (
            lambda: made(columns={"{arm}": levels(1, 2)}),
            "only if a name has .*; got form=.blocks",
        ),
        (lambda: made(universe="sphere"), "universe must be one of"),
        (lambda: made(universe="offset_sphere"), "form must be .* in the offset_sphere"),
        (lambda: made().scaled(1.0), "reward must have public bounds"),
        (lambda: made().number("c"), "label must be one of"),
        (lambda: made().context({"age": 3}), "the table must have one column 'drink'"),
        (lambda: made().context(None), "the table must have one column 'age'"),
        (lambda: made().contexts([{"age": 3}]), "table must be a data frame"),
        (
            lambda: made().context({"age": 3, "drink": pd.NA}),
            "'drink' .*missing.* must be in",
        ),
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


def test_a_context_has_a_number_for_each_level_and_the_constant():
    """Age, three drinks, the constant: 5; with a block for each of two arms 10."""
    assert made(form="shared").d == 5
    assert made().d == 10


def written(tmp_path, content):
    """The path of a file with this content."""
    path = tmp_path / "people.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


NUMBERS = {"age": bounds(0, 100), "income": bounds(0, 100)}
HEAD = "id,age,income,score,city\n"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (
            HEAD + "1,30,50,70,Rome,\n",
            r"people.csv, line 2 \(row 0\) has 6 entries for 5 columns: .*'Rome', ''",
        ),
        (
            HEAD + "1,2,3,4,5\n1,30,45,5,70,Rome\n",
            r"line 3 \(row 1\) has 6 entries .* '70', 'Rome'",
        ),
        (
            HEAD + "1,30,50,70\n",
            r"people.csv, line 2 \(row 0\) has 4 entries for 5 columns",
        ),
        (HEAD[:-1] + ",\n1,30,50,70,Rome\n", "people.csv, line 2 .* has 5 entries for 6"),
        (
            HEAD + "1,30,50,70,Rome\n\n2,30,50,70,Rome\n",
            r"line 3 \(row 1\) has 0 entries",
        ),
        (
            HEAD + '1,30,50,70,"Rome\nor Bari"\n2,30\n',
            r"people.csv, line 4 \(row 1\) has 2 entries",
        ),
        ("age,income,age\n1,2,3\n", "people.csv: the column 'age' stands more than once"),
        ("\n\n", "people.csv must begin with a line of names; it is empty"),
        (HEAD, "people.csv must have a row below its names"),
        (HEAD.encode("utf-16"), "people.csv must be text in UTF-8; byte 0"),
        (HEAD.encode("utf-16-le"), "people.csv must be text in UTF-8; it has NUL"),
        (b"\x89PNG\r\n\x1a\n\x00", "people.csv must be text in UTF-8; byte 0"),
        (HEAD + '1,30,50,70,"Rome\n', "people.csv, line 2 is no line of a CSV file"),
        ("age,income\n3,NA\n", "'income' must hold finite .*; row 0 has 'NA'"),
        ("age,income\n3,4\n3,\n", "'income' must hold finite .*; row 1 has ''"),
        ("age,income\n3,1_000\n", "'income' must hold finite .*; row 0 has '1_000'"),
        ('age,income\n3,"4,5"\n', "'income' must hold finite .*; row 0 has '4,5'"),
        ("age,income\n3,inf\n", "'income' must hold finite .*; row 0 has 'inf'"),
    ],
)
def test_a_file_whose_entries_and_columns_do_not_match_is_refused(
    tmp_path,
    content,
    words,
):
    m = made(columns=NUMBERS)
    with pytest.raises(ValueError, match=words):
        m.contexts(written(tmp_path, content))


def test_what_a_file_may_have(tmp_path):
    m = made(columns=NUMBERS, **PLAIN)
    plain = m.contexts(written(tmp_path, "age,income\n30,50\n1e1,-7\n"))
    np.testing.assert_allclose(plain[:, 0], [[-0.4, 0.0, 1.0], [-0.8, -1.0, 1.0]])
    for same in (
        "\ufeffage,income\r\n30,50\r\n1e1,-7\r\n",
        '"age","income"\n"30",50\n 10 ,-7\n\n\n',
        ',income,age,note\n0,50,30,\n1,-7,10,"two\nlines, one entry"\n',
    ):
        assert np.array_equal(m.contexts(written(tmp_path, same)), plain)


LOOK_MISSING = ("NA", "null", "None", "nan", "", "N/A")


def test_levels_that_look_like_missing_values_are_levels(tmp_path):
    m = made(columns={"x": levels(*LOOK_MISSING)}, **PLAIN)
    file = "x,y\n" + "".join(f"{level},1\n" for level in LOOK_MISSING)
    for table in (written(tmp_path, file), pd.DataFrame({"x": LOOK_MISSING})):
        assert np.array_equal(m.contexts(table)[:, 0, :-1], np.eye(6))


def test_levels_that_are_numbers_or_truth_values_are_found_in_a_file(tmp_path):
    columns = {"n": levels(1, 2.5), "b": levels(True, False)}
    m = made(columns=columns, **PLAIN)
    X = m.contexts(written(tmp_path, "n,b\n1,true\n2.50,False\n1.0,FALSE\n"))
    wanted = [[1, 0, 1, 0, 1], [0, 1, 0, 1, 1], [1, 0, 0, 1, 1]]
    assert X[:, 0].tolist() == wanted
    with pytest.raises(ValueError, match=r"'n' .* must be in .*; row 0 has 'one'"):
        m.contexts(written(tmp_path, "n,b\none,true\n"))
    with pytest.raises(ValueError, match=r"'n' .* must be in .*; row 1 has '2'"):
        m.contexts(pd.DataFrame({"n": [1, "2"], "b": [True, True]}))


@pytest.mark.parametrize(
    "value",
    [
        Decimal("2"),
        pd.Timestamp("2020-01-01"),
        pd.NA,
        None,
        "3",
        [2],
        2j,
        np.nan,
    ],
)
def test_every_refusal_of_a_number_names_its_row_and_value(value):
    table = pd.DataFrame({"age": pd.Series([1.0, value], dtype=object), "income": [1, 2]})
    with pytest.raises(
        ValueError,
        match=r"column 'age' must hold finite .*; row 1 has",
    ) as refusal:
        made(columns=NUMBERS).contexts(table)
    assert repr(value) in str(refusal.value)


def test_nullable_numbers_are_numbers_and_their_gap_is_named():
    m = made(columns=NUMBERS)
    table = pd.DataFrame(
        {"age": pd.array([1, 2], "Int64"), "income": pd.array([3, 4], "Float64")}
    )
    assert m.contexts(table).shape == (2, 2, m.d)
    table["age"] = pd.array([1, None], "Int64")
    with pytest.raises(
        ValueError,
        match=r"'age' must hold finite numbers .*; row 1 has <NA>",
    ):
        m.contexts(table)
    with pytest.raises(ValueError, match="table must have at least one row"):
        m.contexts(table[:0])
