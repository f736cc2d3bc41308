"""The parameters cell: what it may say, and what it refuses."""

import math

import pytest

from tools.errors import Refusal
from tools.parameters import check, from_text, parse_cell, parse_line

GOOD = {
    "T = 20_000  # rounds; integer in [100, 10_000_000]": 20_000,
    "epsilons = [0.2, 1.0, 10.0]  # privacy budgets; list of float in (0, inf)": [
        0.2,
        1.0,
        10.0,
    ],
    "delta = 0.1  # failure of privacy; float in (0, 1)": 0.1,
    'rewards = "bernoulli"  # law of rewards; one of "bernoulli", "gaussian"': "bernoulli",
    "full = True  # every curve or the fast ones; boolean": True,
    'epsilon = float("inf")  # inf is no privacy; float in (0, inf]': math.inf,
    "ridge = 1  # whole numbers become floats; float in [0, 10]": 1.0,
    'names = ["a # b"]  # a hash in a string; list of text': ["a # b"],
}
BAD = {
    "T = 20_000  # rounds": "purpose; KIND",
    "T = 20_000  # rounds; integer in 1..5": "is no KIND",
    "T = 20_000  # rounds; integer in [5, 1]": "is empty",
    "T = 50  # rounds; integer in [100, 200]": "T = 50 is not: integer in",
    "T = 1.5  # rounds; integer in [0, 200]": "T = 1.5 is not",
    'epsilon = float("inf")  # not included; float in (0, inf)': "epsilon = inf is not",
    "epsilons = []  # empty; list of float in (0, 1)": r"epsilons = \[\] is not",
    "epsilons = 1.0  # no list; list of float in (0, 1)": "epsilons = 1.0 is not",
    "x = y  # a name; integer in [1, 2]": "is not a literal",
    "x, y = 1, 2  # two; integer in [1, 2]": "is not `name = default",
}


@pytest.mark.parametrize("line", GOOD)
def test_reads_every_kind(line):
    parameter = parse_line(line)
    assert parameter.default == GOOD[line]
    assert type(parameter.default) is type(GOOD[line])


@pytest.mark.parametrize("line", BAD)
def test_refuses_a_line_and_names_what_is_wrong(line):
    with pytest.raises(ValueError, match=BAD[line]):
        parse_line(line)


def test_a_cell_keeps_the_order_and_ignores_comments_and_blank_lines():
    cell = (
        "# what to change\n\nb = 1  # one; integer in [0, 2]\na = True  # yes; boolean\n"
    )
    assert list(parse_cell(cell, "x.ipynb")[0]) == ["b", "a"]


@pytest.mark.parametrize(
    "value",
    [math.nan, math.inf, -math.inf, "1", None, True, [0.5], 2],
)
def test_a_float_refuses_what_is_none_or_out_of_range(value):
    parameter = parse_line("delta = 0.1  # x; float in (0, 1)")
    with pytest.raises(ValueError, match=r"delta = .* is not: float in \(0, 1\)"):
        check(parameter, value)


@pytest.mark.parametrize(
    ("line", "text", "value"),
    [
        ("T = 1  # x; integer in [0, 9_000]", "5_000", 5000),
        ("e = 1.0  # x; float in (0, inf]", "inf", math.inf),
        ("e = [1.0]  # x; list of float in (0, 9)", "[0.5, 2]", [0.5, 2.0]),
        ('m = "a"  # x; one of "a", "b"', "b", "b"),
        ("f = True  # x; boolean", "false", False),
        ('r = ""  # x; text', "7", "7"),
    ],
)
def test_values_from_the_command_line(line, text, value):
    assert from_text(parse_line(line), text) == value


@pytest.mark.parametrize("text", ["nan", "1e4", "x", "", "[1]", "__import__('os')", "-1"])
def test_command_line_values_that_are_refused(text):
    with pytest.raises(ValueError, match="T = "):
        from_text(parse_line("T = 1  # x; integer in [0, 9_000]"), text)


def test_a_cell_has_rules_that_its_defaults_obey():
    cell = (
        "T = 5  # rounds; integer in [1, 9]\n# a comment\n# needs: T >= 2\n#needs:T < 9"
    )
    assert parse_cell(cell, "x")[1] == ["T >= 2", "T < 9"]
    with pytest.raises(Refusal, match=r"line 5 .*the defaults break it"):
        parse_cell(cell + "\n# needs: T > 5", "x")
    with pytest.raises(Refusal, match=r"line 5 .*about d"):
        parse_cell(cell + "\n# needs: T > d", "x")


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


@pytest.mark.parametrize("span", ["[1, 1)", "(1, 1]", "(1, 1)", "[2, 1]"])
def test_a_range_that_holds_nothing_is_refused(span):
    with pytest.raises(ValueError, match="is empty"):
        parse_line(f"x = 1  # one; integer in {span}")
    assert parse_line("x = 1  # one; integer in [1, 1]").default == 1


@pytest.mark.parametrize("value", [True, 1.0, "1"])
def test_a_choice_is_of_the_same_type(value):
    parameter = parse_line("x = 1  # one; one of 1, 2")
    assert check(parameter, 2) == 2
    with pytest.raises(ValueError, match="x = "):
        check(parameter, value)
