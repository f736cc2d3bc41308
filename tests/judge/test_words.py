"""The essentials: a refuted promise first, what was not measured, what gave nothing."""

import judged_report

from companion.judge import words

PARTS = judged_report.PARTS


def test_a_refuted_promise_is_the_first_line():
    refuted, lines = words.essentials(PARTS)
    assert refuted
    assert lines[0].startswith("REFUTED: epsilon is at least 2, 1 is promised")
    assert "Promised, not measured: its audit offers no instances (AuditSpec.measured)." in lines
    assert "An attack gave nothing: its process ends, with signal 11." in lines
    assert "A run says more than its arms: prints 'x'." in lines
    assert lines[1] == "The contract does not hold: copies: too slow."


def test_a_promise_that_stands_is_no_refutation():
    weak = judged_report.ATTACK | {"refuted": False, "epsilon": 0.5}
    refuted, lines = words.essentials(PARTS | {"attack": [{"found": weak}]})
    assert not refuted
    assert any(line.startswith("No attack refutes it") for line in lines)
    typed = PARTS | {"attack": [], "asked": {"found": {"follows": False, "said": "typed"}}}
    assert words.essentials(typed)[1][0] == "REFUTED: typed"


def test_a_place_names_who_is_shown_to_be_worse_and_why_it_does_not_play():
    said = words.place(judged_report.SETTING, "mine")
    assert said.endswith("40% of random play's regret; shown to have less regret than slower.")
    refused = {"world": "d = 2", "T": 400, "epsilon": 1.0, "refused": "too slow"}
    assert words.place(refused, "mine").endswith("does not play: too slow.")


def test_what_cannot_be_judged_says_why():
    assert words.essentials({"refused": "no file"}) == (
        False,
        ["Nothing could be judged: no file."],
    )
    assert words.unseen({"refused": "no file"}) == []
    assert set(words.UNMEASURED) <= set(words.unseen(PARTS))
