"""The limits in the cells of the notebooks are those of `book/results.lock`.

A build compares its rows with the lock; this compares what is written, without running
it.  A limit that only a run knows cannot be read from a cell: the claims that have one
are listed below, and of such a limit only the side is compared.
"""

from pathlib import Path

import pytest
from cell_rules import COMPUTED, Rule, fits, rules

from tools import chapters, lock

ROOT = Path(__file__).resolve().parent.parent
CLAIMS = lock.read(ROOT)["claims"]
BOOK = chapters.load(ROOT)

# Audits against a guarantee that the run computes, limits that follow from the number of
# rows ("no single wild difference"), and limits that are themselves results.
ONLY_A_RUN_KNOWS = {
    "fliphat/figure-1-left",
    "fliphat/figure-1-right",
    "fliphat/theorem-5-1",
    "fliphat_rows/figure-2-right",
    "fliphat_rows/figure-3-left",
    "fliphat_rows/figure-3-right",
    "fliphat_rows/lasso-level",
    "fliphat_rows/noise-reuse",
    "fliphat_rows/one-step-for-ever",
    "glm_rows/claim-2",
    "glm_rows/composition",
    "joint_glm/kappa-free",
    "joint_rows/count2",
    "joint_rows/kappa",
    "joint_rows/lemma-7-1",
    "joint_rows/lemma-p-4",
    "joint_rows/tree",
    "joint_rows/tree-corrected",
    "joint_rows/zcdp",
    "lplr/repair",
    "lplr_rows/ci-privacy",
    "lplr_rows/thm1",
    "sco_bandit/theorem-4-9",
    "shuffle_glm/shuffle-kappa-free",
    "shuffle_glm/theorem-5-1-privacy",
    "streaming_rows/table-2",
    "streaming_rows/table-4-algorithm-1",
    "streaming_rows/table-4-is-raw-risk",
    "streaming_rows/table-4-noisysgd",
    "streaming_sco/table-3-algorithm-1",
    "streaming_sco/table-3-noisysfw",
    "streaming_sco/theorem-3-1",
}


def written(name):
    """The `Rule`s of a chapter."""
    return rules(
        chapters.plain(chapters.source(c)) for c in chapters.code(BOOK[name].notebook)
    )


def kept(name):
    """[(claim, its rows that have limits)] of a chapter, as the lock has them."""
    found = []
    for place, entry in CLAIMS.items():
        chapter, _, claim = place.partition("/")
        if chapter == name:
            found.append((claim, [row for row in entry["rows"] if row["limits"]]))
    return found


def test_every_chapter_with_a_claim_is_compared():
    assert {place.partition("/")[0] for place in CLAIMS} <= set(BOOK)


@pytest.mark.parametrize("name", BOOK)
def test_every_row_of_the_lock_has_the_limits_of_a_rule_in_a_cell(name):
    own = written(name)
    open_ends = set()
    for claim, rows in kept(name):
        mine = [rule for rule in own if claim in rule.records]
        for row in rows:
            fitting = [rule for rule in mine if fits(rule, row["limits"])]
            assert fitting, (claim, row["setting"], row["limits"], mine)
            if all(COMPUTED in (rule.low, rule.high) for rule in fitting):
                open_ends.add(f"{name}/{claim}")
    assert open_ends == {
        place for place in ONLY_A_RUN_KNOWS if place.startswith(f"{name}/")
    }


@pytest.mark.parametrize("name", BOOK)
def test_every_rule_in_a_cell_has_given_a_row_of_the_lock(name):
    rows = dict(kept(name))
    used = {}
    for rule in written(name):
        limits = [row["limits"] for claim in rule.records for row in rows.get(claim, [])]
        fitting = any(fits(rule, pair) for pair in limits)
        used[rule.call] = used.get(rule.call, False) or fitting
    assert [call for call, fitting in used.items() if not fitting] == []


@pytest.mark.parametrize(
    ("cell", "low", "high"),
    [
        ("page.open('a').row('', x, high=1.0)", None, 1.0),
        ("a, b = page.open('a'), 2\na.row('', x, low=b / 4)", 0.5, None),
        ("a = page.open('a')\na.exact('', x, of='n', low=-1, high=f(3))", -1, COMPUTED),
        ("rule = {'low': 0.8, 'high': 1.25}\npage.open('a').each(x, **rule)", 0.8, 1.25),
        (
            "for a in (page.open('a'),):\n    a.audited('', low, proved, 1.0)",
            None,
            1.000000001,
        ),
        ("confirm(page.open('a'), groups, 0.25, control)", 0.75, 1.25),
        ("def f(a, most):\n    a.row('', x, high=most)\nf(page.open('a'), 3)", None, 3),
        ("high = 1\nhigh = found\npage.open('a').row('', x, high=high)", None, COMPUTED),
    ],
)
def test_a_rule_is_read_from_a_cell(cell, low, high):
    rule = rules([cell])[0]
    assert rule.records == {"a"}
    assert (rule.low, rule.high) == (low, high)


def test_a_limit_of_either_branch_and_of_every_turn_of_a_loop_is_read():
    cell = """
claim = page.open("a")
for most in (1, 2):
    if first:
        most = 3
    claim.row("", x, high=most)
"""
    assert {rule.high for rule in rules([cell])} == {1, 2, 3}


def test_a_limit_that_differs_by_a_millionth_or_in_its_side_does_not_fit():
    rule = Rule(
        call="",
        records=frozenset("a"),
        low=None,
        high=1.0,
    )
    assert fits(rule, [None, 1.0])
    for limits in ([None, 1.000001], [1.0, None], [0.0, 1.0]):
        assert not fits(rule, limits)
    assert fits(
        Rule(
            call="",
            records=frozenset("a"),
            low=None,
            high=COMPUTED,
        ),
        [None, 7.0],
    )
    assert not fits(
        Rule(
            call="",
            records=frozenset("a"),
            low=None,
            high=COMPUTED,
        ),
        [7.0, None],
    )
