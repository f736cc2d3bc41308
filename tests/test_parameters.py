"""The parameters cell: what it may say, what it refuses, and rules over several of
them."""

import math

import papermill
import pytest
from real_book import BOOK

from evidence.claims import rules
from evidence.claims.rules import check, need_given, parse_cell, parse_line
from tools.chapters import given

GOOD = {
    "T = 20_000  # rounds; integer in [100, 10_000_000]": 20_000,
    "epsilons = [0.2, 1.0, 10.0]  # privacy budgets; list of float in (0, inf)": [
        0.2,
        1.0,
        10.0,
    ],
    "delta = 0.1  # failure of privacy; float in (0, 1)": 0.1,
    "full = True  # every curve or the fast ones; boolean": True,
    "ridge = 1  # whole numbers become floats; float in [0, 10]": 1.0,
    'names = ["a # b"]  # a hash in a string; list of text': ["a # b"],
}
BAD = {
    "T = 20_000  # rounds": "purpose; KIND",
    "T = 20_000  # rounds; integer in 1..5": "where KIND is integer",
    "T = 3  # in an empty range; integer in [5, 1]": "T = 3 is not",
    "T = 50  # rounds; integer in [100, 200]": "T = 50 is not: integer in",
    "T = 1.5  # rounds; integer in [0, 200]": "T = 1.5 is not",
    "epsilon = 1e999  # not included; float in (0, inf)": "epsilon = inf is not",
    "epsilons = []  # empty; list of float in (0, 1)": r"epsilons = \[\] is not",
    "epsilons = 1.0  # no list; list of float in (0, 1)": "epsilons = 1.0 is not",
    "x = y  # a name; integer in [1, 2]": "is not a literal",
    "x, y = 1, 2  # two; integer in [1, 2]": "is not `name = default",
}


@pytest.mark.parametrize("line", GOOD)
def test_reads_every_kind(line):
    [parameter] = parse_cell(line)[0].values()
    assert parameter.default == GOOD[line]
    assert type(parameter.default) is type(GOOD[line])


@pytest.mark.parametrize("line", BAD)
def test_refuses_a_line_and_names_what_is_wrong(line):
    with pytest.raises(ValueError, match=f"line 1 .*{BAD[line]}"):
        parse_cell(line)


def test_a_cell_keeps_the_order_and_ignores_comments_and_blank_lines():
    cell = (
        "# what to change\n\nb = 1  # one; integer in [0, 2]\na = True  # yes; boolean\n"
    )
    assert list(parse_cell(cell)[0]) == ["b", "a"]


@pytest.mark.parametrize(
    "value",
    [math.nan, math.inf, "1", None, True, [0.5], 2],
)
def test_a_float_refuses_what_is_none_or_out_of_range(value):
    parameter = parse_line("delta = 0.1  # x; float in (0, 1)")
    with pytest.raises(ValueError, match=r"delta = .* is not: float in \(0, 1\)"):
        check(parameter, value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("5_000", 5000),
        ("1e-5", 1e-5),
        ("[0.5, 2]", [0.5, 2]),
        ("False", False),
        ("x", "x"),
    ],
)
def test_values_from_the_command_line(text, value):
    assert given(text) == value


def test_a_cell_has_rules_that_its_defaults_obey():
    cell = (
        "T = 5  # rounds; integer in [1, 9]\n# a comment\n# needs: T >= 2\n#needs:T < 9"
    )
    assert parse_cell(cell)[1] == ["T >= 2", "T < 9"]
    with pytest.raises(ValueError, match="parameters need T > 5; got T = 5"):
        parse_cell(cell + "\n# needs: T > 5")
    with pytest.raises(NameError, match="'d' is not defined"):
        parse_cell(cell + "\n# needs: T > d")


@pytest.mark.parametrize(
    ("span", "low", "high"),
    [
        ("[0, 1]", True, True),
        ("(0, 1]", False, True),
        ("[0, 1)", True, False),
        ("(0, 1)", False, False),
    ],
)
def test_a_square_bracket_includes_its_end_and_a_round_one_does_not(span, low, high):
    parameter = parse_line(f"x = 0.5  # a share; float in {span}")
    for value, included in ((0.0, low), (1.0, high)):
        if included:
            assert check(parameter, value) == value
        else:
            with pytest.raises(ValueError, match="x = "):
                check(parameter, value)


VALUES = {"T": 100, "K": 4, "eps": [0.5, 1.0], "mode": "a", "full": False}
TRUE = [
    "T >= 2 * K",
    "0 < K <= 4",
    "eps == sorted(set(eps)) and len(eps) >= 2",
    "not full",
    "T % 3 == 1 and T // K - 5 == 20.0",
    "mode in ['a', 'b'] and K not in (1, 2)",
]
FALSE = ["T < 25 * K", "max(eps) > 1 or mode == 'b'", "K / 0 < 1", "mode < 1"]


def test_rules_say_what_python_says():
    assert [rules.holds(rule, VALUES) for rule in TRUE] == [True] * len(TRUE)
    assert [rules.holds(rule, VALUES) for rule in FALSE] == [False] * len(FALSE)


@pytest.mark.parametrize(
    "rule",
    ["", "T >", "T = 3", "X > 1", "print(T) > 1"],
)
def test_what_is_no_rule_is_refused(rule):
    with pytest.raises((NameError, SyntaxError)):
        rules.holds(rule, VALUES)


CELLS = [
    "",
    "T = 5  # rounds; integer in [1, 9]\nname = 'a'  # whose; text\n# needs: T > 2",
    "T = 'abc'  # as papermill writes it",
    "import evidence.claims\nx = 1  # no parameter",
]


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("abc", r"T = 'abc' is not: integer in \[1, 9\]"),
        (3.0, r"T = 3.0 is not: integer in \[1, 9\]"),
        (10, r"T = 10 is not: integer in \[1, 9\]"),
        (2, r"parameters need T > 2; got T = 2"),
    ],
)
def test_a_value_that_papermill_sets_is_refused_with_its_range(value, said):
    need_given(CELLS, {"T": 3, "name": "b", "x": 1})
    with pytest.raises(ValueError, match=said):
        need_given(CELLS, {"T": value, "name": "b", "x": 1})


def test_a_name_that_papermill_sets_must_be_a_parameter():
    cells = [*CELLS, "# Parameters\nT = 4\nepsilon = [2.0]\n"]
    assert rules.injected(cells) == {"T": 4, "epsilon": [2.0]}
    with pytest.raises(ValueError, match=r"epsilon is no .* has \['T', 'name'\]"):
        need_given(cells, {"T": 4, "name": "b", "epsilon": [2.0]})


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "given", "said"),
    [
        ("fliphat", {"T": "abc", "seed": 1e3}, "seed = 1000.0 is not: integer in [0, "),
        (
            "judge",
            {"epsilons": [8.0, 1.0]},
            "need epsilons == sorted(set(epsilons)); got",
        ),
    ],
)
def test_papermill_ends_in_words_before_a_chapter_computes(tmp_path, name, given, said):
    with pytest.raises(papermill.PapermillExecutionError) as refused:
        papermill.execute_notebook(
            BOOK[name].path,
            None,
            given,
            cwd=tmp_path,
            progress_bar=False,
        )
    assert refused.value.ename == "ValueError"
    assert said in refused.value.evalue
