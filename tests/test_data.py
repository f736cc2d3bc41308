"""Tables become contexts by a public map: scaled into the universe, and refused where not told."""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from companion.accounting.privacy import UNIVERSES
from companion.baselines.private_linucb import jdp_linucb
from companion.core import need_contexts
from companion.live import Live
from companion.streaming_sco.policy import sco_bandit
from companion.tabular import Contexts, bounds, contexts_of, levels

ROOT = Path(__file__).resolve().parent.parent
COLUMNS = {"age": bounds(0, 100), "sex": levels("f", "m"), "visits": bounds(0, 20)}
PEOPLE = pd.DataFrame(
    {"visits": [0, 20, 5, 35], "sex": ["f", "m", "m", "f"], "age": [20, 50, 100, 75]}
)


def of(**options):
    return contexts_of(COLUMNS, **({"arms": ("tea", "coffee")} | options))


def test_values_by_hand():
    """(2 age/100 - 1, f, m, 2 visits/20 - 1, 1) / 2: four columns and the intercept, length 2."""
    X = of().contexts(PEOPLE)
    assert X.shape == (4, 2, 10)
    assert np.allclose(X[0, 0], [-0.3, 0.5, 0, -0.5, 0.5, 0, 0, 0, 0, 0])
    assert np.allclose(X[1, 1], [0, 0, 0, 0, 0, 0.0, 0, 0.5, 0.5, 0.5])
    assert np.allclose(X[3, 0, :5], [0.25, 0.5, 0, 0.5, 0.5])  # 35 visits are moved to 20
    assert of().beyond(PEOPLE) == {"age": 0, "visits": 1}


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"intercept": False},
        {"form": "shared"},
        {"form": "shared", "universe": "offset_sphere"},
        {"form": "shared", "universe": "cube"},
        {"universe": "cube"},
        {"form": "shared", "intercept": False, "universe": "cube"},
    ],
)
def test_one_row_and_the_table_agree_and_lie_in_the_universe(options):
    m = of(**options)
    X = m.contexts(PEOPLE)
    assert X.shape == (4, m.K, m.d)
    assert X.flags.c_contiguous
    for i, row in PEOPLE.iterrows():
        assert np.array_equal(m.context(row), X[i])
        assert np.array_equal(m.context(row.to_dict()), X[i])
    if m.universe == "cube":
        assert np.abs(X).max() <= 1.0
    else:
        assert np.linalg.norm(X, axis=2).max() <= 1.0 + 1e-12
    if m.universe == "offset_sphere":
        assert np.allclose(X[..., -1], np.sqrt(0.5))
        assert np.linalg.norm(X[..., :-1], axis=2).max() <= np.sqrt(0.5) + 1e-12
    if m.form == "shared":
        assert (X[:, :1] == X).all()


def test_the_longest_row_has_length_one():
    longest = of().context({"age": 0, "sex": "m", "visits": 20})
    assert np.allclose(np.linalg.norm(longest, axis=1), 1.0)


def test_one_row_per_arm():
    m = contexts_of(
        {"price of {arm}": bounds(0, 10), "age": bounds(0, 100)}, arms=("tea", "milk"), form="rows"
    )
    X = m.context({"price of tea": 10, "price of milk": 0, "age": 50})
    assert m.d == 3
    assert np.allclose(X * np.sqrt(3), [[1, 0, 1], [-1, 0, 1]])
    assert m.beyond(pd.DataFrame({"price of tea": [11.0], "price of milk": [1], "age": [-1]})) == {
        "price of tea": 1, "price of milk": 0, "age": 1}  # fmt: skip


@pytest.mark.parametrize("options", [{}, {"form": "shared", "reward": bounds(-5, 5)}])
def test_the_map_is_a_value_that_json_keeps(options):
    m = of(**options)
    again = Contexts.from_json(m.to_json())
    assert again == m
    assert np.array_equal(again.contexts(PEOPLE), m.contexts(PEOPLE))


def test_labels_of_arms_and_rewards():
    m = contexts_of(COLUMNS, arms=(10, 20, 30), reward=bounds(-5, 5))
    assert [m.number(label) for label in (10, 20, 30)] == [0, 1, 2]
    assert m.number(np.int64(20)) == 1
    assert [m.label(k) for k in range(3)] == [10, 20, 30]
    assert [m.scaled(r) for r in (-9, -5, 0, 5)] == [0.0, 0.0, 0.5, 1.0]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: contexts_of({"age": None}, arms=(0, 1)), "'age' must have public bounds"),
        (lambda: contexts_of({"age": (0, 1)}, arms=(0, 1)), "'age' must have public bounds"),
        (lambda: contexts_of({}, arms=(0, 1)), "columns must be a dictionary"),
        (lambda: contexts_of(PEOPLE, arms=(0, 1)), "columns must be a dictionary"),
        (lambda: bounds(1, 1), "low must be below high"),
        (lambda: bounds(0, np.inf), "high must be in"),
        (lambda: bounds(np.nan, 1), "low must be in"),
        (lambda: levels("a"), "at least two"),
        (lambda: levels("a", "a"), "at least two different"),
        (lambda: levels("a", None), "texts or numbers"),
        (lambda: of(arms=("tea",)), "two or more"),
        (lambda: of(arms="tea"), "arms must be a sequence"),
        (lambda: of(form="block"), "form must be one of"),
        (lambda: of(form="rows"), 'form must be "rows"'),
        (lambda: of(universe="sphere"), "universe must be one of"),
        (lambda: of(universe="offset_sphere"), "without blocks"),
        (lambda: of().context({"age": "old", "sex": "f", "visits": 1}), "column 'age' must be"),
        (lambda: of().context({"age": np.nan, "sex": "f", "visits": 1}), "column 'age' must be"),
        (lambda: of().context({"age": 1, "sex": "x", "visits": 1}), "column 'sex' must hold"),
        (lambda: of().number("milk"), "label must be one of"),
        (lambda: of().label(2), "arm must be an integer"),
        (lambda: of().scaled(1.0), "reward must have public bounds"),
        (lambda: Contexts.from_json("{}"), "that to_json wrote"),
        (lambda: Contexts.from_json("no"), "that to_json wrote"),
    ],
)
def test_what_is_not_told_is_refused_in_words(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def test_a_missing_column_is_named():
    with pytest.raises(KeyError, match="visits"):
        of().contexts(PEOPLE.drop(columns="visits"))


def test_from_a_csv_to_a_saved_private_run(tmp_path):
    """A stranger's walk: a CSV, a policy in its dimension, rounds, a file, the next morning."""
    PEOPLE.to_csv(tmp_path / "people.csv", index=False)
    m = of(reward=bounds(0, 10))
    X = m.contexts(tmp_path / "people.csv")
    policy = jdp_linucb(m.d, 400, epsilon=4.0, delta=0.1)
    live = policy.start(seed=1)
    for t in range(4):
        live.update(live.select(X[t]), m.scaled(7))
    assert live.report().clipped == {"contexts": 0, "rewards": 0, "records": 0}
    live.save(tmp_path / "run.npz")
    (tmp_path / "map.json").write_text(m.to_json())
    again = Contexts.from_json((tmp_path / "map.json").read_text())
    run = Live.load(tmp_path / "run.npz", jdp_linucb(again.d, 400, epsilon=4.0, delta=0.1))
    row = PEOPLE.iloc[0]
    assert run.select(again.context(row)) == live.select(X[0])


def test_shared_contexts_are_what_the_sparse_bandit_takes():
    m = of(form="shared", universe="cube")
    X, policy = m.contexts(PEOPLE), sco_bandit(m.d, m.K, 400, epsilon=1.0, t0=2)
    need_contexts([policy], X)
    live = policy.start(0)
    for t in range(4):
        live.update(live.select(X[t]), 0.5)
    assert live.report().clipped == {"contexts": 0, "rewards": 0, "records": 0}
    with pytest.raises(ValueError, match="the rows of X must be equal"):
        need_contexts([policy], X * np.array([1.0, 0.5])[:, None])


def test_universes_are_named_as_the_policies_name_them():
    for universe in UNIVERSES:
        assert of(form="shared", universe=universe).universe == universe


def test_the_program_of_the_page_runs_on_a_file_in_an_empty_folder(tmp_path, monkeypatch, capsys):
    cells = json.loads((ROOT / "book" / "playing.ipynb").read_text("utf8"))["cells"]
    text = "\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "markdown")
    (program,) = re.findall(r"```python\n(.*?visits\.csv.*?)```", text, re.S)[:1]
    rows = [f"{20 + i},{'yes' if i % 3 else 'no'}" for i in range(60)]
    (tmp_path / "visits.csv").write_text("\n".join(["age,member", *rows]))
    monkeypatch.chdir(tmp_path)
    exec(compile(program, "the page", "exec"), {})
    said = capsys.readouterr().out
    assert said.startswith("(4, 0.0167)-joint DP")
    assert "rounds=60" in said
