"""From a table to contexts: by hand, in the universe, missing values, refusals."""

import re

import numpy as np
import pandas as pd
import pytest

from companion.policies import jdp_linucb
from companion.tabular import bounds, contexts_of, levels

COLUMNS = {"age": bounds(0, 100), "drink": levels("tea", "coffee", missing=True)}
TABLE = pd.DataFrame({"age": [75, -20, 300], "drink": ["tea", "coffee", None]})


def made(**changes):
    return contexts_of(**({"columns": COLUMNS, "arms": ("a", "b")} | changes))


def test_values_by_hand():
    m, s = made(form="shared"), 1 / np.sqrt(3)
    want = np.array([[0.5, 1, 0, 0, 1], [-1, 0, 1, 0, 1], [1, 0, 0, 1, 1]]) * s
    np.testing.assert_allclose(m.contexts(TABLE)[:, 0], want)
    np.testing.assert_array_equal(m.contexts(TABLE)[:, 0], m.contexts(TABLE)[:, 1])
    blocks = made().contexts(TABLE)
    np.testing.assert_allclose(blocks[0], [[*want[0], 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, *want[0]]])
    assert made().beyond(TABLE) == {"age": 2}


@pytest.mark.parametrize("universe", ["ball", "offset_sphere", "cube"])
def test_contexts_lie_in_their_universe_and_one_row_is_the_table_s(universe):
    m = made(form="shared", universe=universe)
    X = m.contexts(TABLE)
    for i, row in TABLE.iterrows():
        np.testing.assert_array_equal(m.context(row), X[i])
    if universe == "cube":
        assert np.abs(X).max() <= 1.0
    else:
        assert np.linalg.norm(X, axis=2).max() <= 1.0 + 1e-12
    if universe == "offset_sphere":
        np.testing.assert_allclose(X[..., -1], np.sqrt(0.5))
        assert np.linalg.norm(X[..., :-1], axis=2).max() <= np.sqrt(0.5) + 1e-12


def test_the_longest_row_of_the_ball_has_length_one():
    X = made(form="shared").context({"age": 100, "drink": "tea"})
    np.testing.assert_allclose(np.linalg.norm(X, axis=1), 1.0)


def test_one_row_per_arm_its_label_and_the_reward_on_its_scale():
    m = contexts_of({"price {arm}": bounds(0, 2)}, arms=(1, 2), form="rows", reward=bounds(-1, 3))
    np.testing.assert_allclose(
        m.context({"price 1": 2, "price 2": 0}), np.array([[1, 1], [-1, 1]]) / np.sqrt(2)
    )
    assert (m.number(2), m.label(0), m.scaled(0.5)) == (1, 1, 0.375)


@pytest.mark.parametrize("missing", [None, np.nan, float("nan"), pd.NA, pd.NaT])
def test_missing_values_have_a_level_a_number_or_a_refusal_in_words(missing):
    m = made(columns=COLUMNS | {"age": bounds(0, 100, missing=50)}, form="shared")
    np.testing.assert_allclose(
        m.context({"age": missing, "drink": missing})[0] * np.sqrt(3), [0, 0, 0, 1, 1]
    )
    plain = made(columns={"age": bounds(0, 100), "drink": levels("tea", "coffee")})
    for row, words in (
        ({"age": missing, "drink": "tea"}, "column 'age' must be a number; got a missing value"),
        ({"age": 5, "drink": missing}, r"column 'drink' must hold one of .*levels\(.*missing=True"),
    ):
        with pytest.raises(ValueError, match=words):
            plain.context(row)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: bounds(1, 1), "low must be below high"),
        (lambda: bounds(0, 1, missing=2), "missing must be in"),
        (lambda: levels("a"), "levels must be at least two"),
        (lambda: levels("a", np.nan), "levels must be texts or numbers"),
        (lambda: made(columns={"age": (0, 1)}), "public bounds"),
        (lambda: made(columns={}), "columns must be a dictionary"),
        (lambda: made(arms=("a", "a")), "arms must be two or more"),
        (lambda: made(arms="ab"), "arms must be a sequence"),
        (lambda: made(form="cols"), "form must be one of"),
        (lambda: made(universe="offset_sphere"), "without blocks"),
        (lambda: made(form="rows"), 'form must be "rows" if and only if'),
        (lambda: made().scaled(1.0), "reward must have public bounds"),
        (lambda: made().context({"age": 3}), "the table must have the column 'drink'"),
        (lambda: made().context(None), "the table must have the column 'age'"),
        (lambda: made().contexts([{"age": 3}]), "table must be a data frame"),
        (lambda: made().context({"age": 3, "drink": "milk"}), "must hold one of"),
    ],
)
def test_what_is_wrong_is_refused_in_words(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def test_from_a_csv_to_a_private_run_without_a_clipped_record(tmp_path):
    TABLE.to_csv(tmp_path / "people.csv", index=False)
    m = made(columns={"age": bounds(0, 100), "drink": levels("tea", "coffee", missing=True)})
    live = jdp_linucb(m.d, 10, epsilon=1.0, delta=0.01).start(0)
    for X in m.contexts(tmp_path / "people.csv"):
        live.update(live.select(X), 0.5)
    assert live.report().clipped["records"] == 0
    assert re.fullmatch(r"Live.*|<Live JDP-LinUCB: 3 rounds; .*>", repr(live))
