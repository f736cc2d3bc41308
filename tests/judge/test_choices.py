"""What the judge chooses: tasks, plans, pairs of streams and numbers of runs."""

from types import SimpleNamespace

import pytest
from test_third_party import COUNTS, written

import evidence.judge as house
from companion.accounting.privacy import REPLACE_REWARD
from companion.baselines.ldp_linucb import ldp_linucb
from companion.core import Universe
from evidence.judge import attack, checks, measuring
from evidence.judge.load import load

POLICY = ldp_linucb(3, 9, epsilon=1.0, delta=0.01)
WHOLE = ["the policy", *checks.CHECKS, "a run", "general attack", "one", "two"]
SLOW = "does not return within 9 s of CPU"
BUSY = "does not return within 9 s on the clock"


@pytest.mark.parametrize(
    ("quick", "name", "outcome", "found", "last", "said"),
    [
        (True, "complete", "broken", "", "complete", ""),
        (True, "data", "failed", SLOW, "data", SLOW),
        (True, "one", "refuted", "", "one", ""),
        (False, "one", "refuted", "", "two", ""),
        (True, "two", "failed", SLOW, "two", "leave out --quick"),
        (False, "two", "failed", BUSY, "two", "when the machine is idle"),
    ],
)
def test_a_report_goes_on_as_long_as_something_can_be_played(
    monkeypatch, quick, name, outcome, found, last, said
):
    """One task, by its name, ends as it is told, all others well."""

    def ask(task, *args):
        if task is measuring.plans:
            return [measuring.Plan("one"), measuring.Plan("two")]
        assert args[1:] in ((), (40, 7), (quick,))
        row = {"outcome": "promised", "found": "", "model": "local"}
        if args and name in (args[0], getattr(args[0], "what", "")):
            row |= {"outcome": outcome, "found": found}
        return [row]

    def child(what, limit, total):
        assert (limit, total) == ((90.0, 300.0) if quick else (100.0, 1_800.0))
        return SimpleNamespace(ask=ask)

    monkeypatch.setattr(house, "Child", child)
    report = house.judge("a policy", quick=quick, limit=100.0, trials=40, seed=7)
    rows = report.found
    assert report.rows("promise") == rows[:1]
    assert [row["what"] for row in rows] == WHOLE[: WHOLE.index(last) + 1]
    assert rows[-1]["found"].endswith(said)
    if name == "data":
        assert "broken" in [row["outcome"] for row in rows]


def test_other_budgets_dimensions_and_whole_lives_are_measured(tmp_path):
    subject = load(written(tmp_path, []))
    found = []
    for plan in measuring.plans(subject, False):
        case = measuring.instance(subject, plan)
        d, T, _ = case.policy.params
        found.append((d, case.policy.guarantee.epsilon, T, case.rounds))
    others = [(5, 8.0, 16, 16), (2, 0.5, 16, 16)]
    lives = [(3, 1.0, 16, 16), (3, 1.0, 23, 23)]
    assert found[:5] == [(3, 1.0, 400, 3), *others, *lives]
    assert found[5] == (3, 1.0, 400, 400)


def test_a_run_ends_with_its_last_release_where_a_record_is_left_out(tmp_path):
    """Batches of five: round 8 is after the first and before the second."""
    subject = load(written(tmp_path, [COUNTS, ("REPLACE_RECORD, ", "ADD_OR_REMOVE, ")]))
    assert measuring.instance(subject, measuring.Plan("", rounds=8)).rounds == 5


def test_where_contexts_are_public_rewards_alone_differ():
    promise = POLICY.guarantee._replace(neighbours=REPLACE_REWARD)
    pairs = attack.neighbours(POLICY._replace(guarantee=promise), Universe())
    assert all((pair.a[0] == pair.b[0]).all() for pair in pairs)
    assert [pair.mechanism.user for pair in pairs] == [0, 0, 0, 3, 3, 3]


@pytest.mark.parametrize(("quick", "runs"), [(True, 300), (False, 10_000)])
def test_from_300_to_10_000_fresh_runs_of_the_best_pair_count(monkeypatch, quick, runs):
    """As `judge` says: of plain Python in a short look, of compiled code in a long."""

    def play(*told):
        """Not played."""

    if not quick:
        play.py_func = play
    seeds = []

    def fitted(pair, pilot, seed):
        seeds.append(seed)
        return pair.mechanism.user, None

    def attacked(one, delta, trials, seed, level):
        assert (trials, level) == (runs, 0.999)
        assert seed not in seeds  # fresh runs
        moved = one.a[1] != one.b[1]
        assert set(moved.nonzero()[0]) == {one.mechanism.user} == {3}
        return SimpleNamespace(epsilon=1.0, trials=trials)

    monkeypatch.setattr(attack, "fitted", fitted)
    monkeypatch.setattr(attack.audit, "attacked", attacked)
    row = attack.general(load(POLICY._replace(play=play)), quick, None, 1)
    assert f"({runs} counted runs" in row["found"]
    assert row["played"].endswith(", the best of 18 pairs, 9 rounds")
