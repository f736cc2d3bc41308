"""Rules about parameters: Python's comparisons, and nothing else."""

import pytest

from evidence.claims import rules

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
    ["T + K", "", "T >", "T = 3", "X > 1", "len(T) > print(1)"],
)
def test_what_is_no_rule_is_refused(rule):
    with pytest.raises(
        (ValueError, SyntaxError),
        match=r"is no rule|no parameter|invalid syntax",
    ):
        rules.holds(rule, VALUES)


def test_a_broken_rule_names_the_values():
    with pytest.raises(
        ValueError,
        match=r"parameters need T > 30 \* K; got K = 4, T = 100",
    ):
        rules.need(VALUES, "T > K", "T > 30 * K")
