"""What the judge chooses: tasks, plans, pairs of streams and numbers of runs."""

from types import SimpleNamespace

import pytest
from test_third_party import COUNTS, written

import evidence.judge as house
from companion.accounting.privacy import REPLACE_REWARD
from companion.baselines.ldp_linucb import ldp_linucb
from companion.core import Universe
from evidence.judge import attack, checks, judge, measuring
from evidence.judge.load import load

POLICY = ldp_linucb(3, 9, epsilon=1.0, delta=0.01)
ENDS = {"the policy": "promised", "general attack": "not refuted"}


def looked_at(monkeypatch, ends, quick):
    """({what: row}, seconds of a task and of all) of a report whose tasks end so."""
    seconds = []

    def ask(task, *args):
        if task is measuring.plans:
            return [measuring.Plan("one"), measuring.Plan("two")]
        name = "the policy" if task is measuring.promised else task.__name__
        if task is checks.checked:
            (name,) = args
        elif task is measuring.measured:
            name = args[0].what
        outcome, found = ends.get(name, ("holds", ""))
        return [{"outcome": outcome, "found": found, "model": "local"}]

    def child(what, *told):
        seconds.extend(told)
        return SimpleNamespace(ask=ask)

    monkeypatch.setattr(house, "Child", child)
    ends = {"the policy": ("promised", "")} | ends
    rows = judge("a policy", quick=quick, limit=100.0).found
    return {row["what"]: row for row in rows}, seconds


WHOLE = ["the policy", *checks.CHECKS, "a run", "general attack", "one", "two"]
SLOW = "does not return within 9 s of CPU"
BUSY = "does not return within 9 s on the clock"


@pytest.mark.parametrize(
    ("ends", "last", "quick_last"),
    [
        ({}, "two", "two"),
        ({"the policy": ("failed", "no file")}, "the policy", "the policy"),
        ({"complete": ("broken", "")}, "complete", "complete"),
        ({"data": ("broken", "")}, "two", "two"),
        ({"data": ("failed", SLOW)}, "data", "data"),
        ({"one": ("refuted", "")}, "two", "one"),
        ({"general_attack": ("refuted", "")}, "two", "two"),
    ],
)
def test_a_report_goes_on_as_long_as_something_can_be_played(
    monkeypatch, ends, last, quick_last
):
    for quick, end in ((False, last), (True, quick_last)):
        found, seconds = looked_at(monkeypatch, ends, quick)
        assert list(found) == WHOLE[: WHOLE.index(end) + 1]
        assert seconds == ([90.0, 300.0] if quick else [100.0, 1_800.0])
    failed = [row["outcome"] for row in found.values() if row["found"] == SLOW]
    assert failed in ([], ["broken"])


@pytest.mark.parametrize(
    ("quick", "found", "advice"),
    [
        (True, SLOW, "leave out --quick"),
        (False, SLOW, "make a round faster"),
        (True, BUSY, "judge it again when the machine is idle"),
    ],
)
def test_a_measurement_that_takes_too_long_says_what_to_do(
    monkeypatch, quick, found, advice
):
    rows, _ = looked_at(monkeypatch, {"two": ("failed", found)}, quick)
    assert rows["two"]["found"].endswith(f" -> {advice}")


def test_other_budgets_dimensions_and_whole_lives_are_measured(tmp_path):
    subject = load(written(tmp_path, []))
    cases = {}
    for plan in measuring.plans(subject, False):
        case = measuring.instance(subject, plan)
        policy = case.policy
        cases[plan.what] = policy.params.d, policy.guarantee.epsilon, case.rounds
    assert cases.pop("a long run") == (3, 1.0, 400)
    assert cases.pop("round 398 on") == (3, 1.0, 3)
    expected = {"its example": (3, 1.0, 3)}
    assert cases == expected


def test_a_run_ends_with_its_last_release_where_a_record_is_left_out(tmp_path):
    """Batches of five: round 8 is after the first and before the second."""
    subject = load(written(tmp_path, [COUNTS, ("REPLACE_RECORD, ", "ADD_OR_REMOVE, ")]))
    assert measuring.instance(subject, measuring.Plan("", rounds=8)).rounds == 5


def test_where_contexts_are_public_rewards_alone_differ():
    promise = POLICY.guarantee._replace(neighbours=REPLACE_REWARD)
    policy = POLICY._replace(guarantee=promise)
    pairs = attack.neighbours(policy, Universe())
    assert all((pair.a[0] == pair.b[0]).all() for pair in pairs)
    assert {pair.user for pair in pairs} == {0, 3}
    assert len(attack.neighbours(POLICY, Universe())) == 3 * len(pairs)


@pytest.mark.parametrize(
    ("quick", "compiled", "runs"),
    [(True, False, 300), (False, True, 10_000)],
)
def test_from_300_to_10_000_runs_are_counted_of_the_best_pair(
    monkeypatch, quick, compiled, runs
):
    """As `judge` says."""

    def play(*told):
        """Not played."""

    if compiled:
        play.py_func = play
    best = attack.neighbours(POLICY, Universe(), 9)[7]
    counted = []

    def fitted(policy, pair, pilot, seed):
        return float(pair.name == best.name), None

    def attacked(one, trials, **how):
        counted.append((trials, one.mechanism.user))
        return SimpleNamespace(epsilon=1.0, trials=trials)

    monkeypatch.setattr(attack, "fitted", fitted)
    monkeypatch.setattr(attack.audit, "attacked", attacked)
    row = attack.general(load(POLICY._replace(play=play)), quick, None, 1)
    assert counted == [(runs, best.user)]
    assert row["played"] == f"{best.name}, the best of 18 pairs, 9 rounds"
    assert row["outcome"] == "not refuted"
