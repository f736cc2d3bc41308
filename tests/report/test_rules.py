"""Rules about parameters: Python's comparisons, and nothing else."""

import pytest

from companion.report import rules

VALUES = {"T": 100, "K": 4, "eps": [0.5, 1.0], "mode": "a", "full": False}


@pytest.mark.parametrize(
    ("rule", "holds"),
    [
        ("T >= 2 * K", True),
        ("T < 25 * K", False),
        ("0 < K <= 4", True),
        ("4 < K <= 9", False),
        ("eps == sorted(set(eps)) and len(eps) >= 2", True),
        ("max(eps) > 1 or mode == 'b'", False),
        ("not full", True),
        ("-K < abs(K) - 1", True),
        ("T % 3 == 1 and T // K - 5 == 20.0 and T / K + K > 28", True),
        ("mode in ['a', 'b'] and K not in (1, 2)", True),
        ("sum(eps) != 1.5 or min(eps) == 0.5", True),
        ("K / 0 < 1", False),
        ("mode < 1", False),
    ],
)
def test_rules_say_what_python_says(rule, holds):
    assert rules.holds(rule, VALUES) is holds


@pytest.mark.parametrize(
    "rule", ["T", "T + K", "True", "", "T >", "T = 3", "X > 1", "len(T) > print(1)"]
)
def test_what_is_no_rule_is_refused(rule):
    with pytest.raises(ValueError, match=r"is no rule|no parameter"):
        rules.holds(rule, VALUES)


def test_a_broken_rule_names_the_values():
    with pytest.raises(ValueError, match=r"parameters need T > 30 \* K; got K = 4, T = 100"):
        rules.need(VALUES, "T > K", "T > 30 * K")
