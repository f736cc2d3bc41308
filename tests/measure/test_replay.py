"""Records that are tried in place of one: near and far, and what they let out."""

import numpy as np
import pytest

from companion.accounting.privacy import ADD_OR_REMOVE, REPLACE_REWARD
from companion.core import Universe
from evidence.attacks.table import known
from evidence.measure.record import Call, Leak, NotMeasured, Part, Run
from evidence.measure.replay import (
    Candidates,
    Seen,
    Shown,
    candidates,
    compare,
    corners_of,
    far_records,
    positions,
    searched,
)


@pytest.mark.parametrize("d", [2, 3, 8])
def test_near_records_lie_in_the_universe_and_far_ones_as_far_outside_as_they_say(d):
    near = corners_of(Universe(), d)
    np.testing.assert_allclose(np.linalg.norm(near[:, :d], axis=1), 1.0)
    assert set(near[:, d]) == {-1.0, 1.0}
    for row in np.eye(d):
        assert (np.abs(near[:, :d] - row).sum(axis=1) < 1e-12).any()
    thousand = far_records(d, 1e3)
    assert np.abs(thousand).max(axis=1).min() == pytest.approx(1e3)
    np.testing.assert_allclose(far_records(d, 1e9)[:, d], 1e6 * thousand[:, d])


def related(relation):
    case = known("ldp_linucb").measured()[0]
    promise = case.policy.guarantee._replace(neighbours=relation)
    return case._replace(policy=case.policy._replace(guarantee=promise))


def test_pairs_follow_the_relation():
    found = candidates(related(ADD_OR_REMOVE))
    none = len(found.records) - 1
    assert found.records[none] is None
    assert set(found.pairs[:, 1]) == {none}
    assert len(found.outside) == len(found.records)
    x = np.array([1.0, 0.0])
    case = related(REPLACE_REWARD)
    found = candidates(case, x)
    assert all(np.array_equal(context, x) for _, context, _ in found.records)
    assert len({r for _, _, r in found.records}) == len(found.records) > 3
    # in a cube the longest contexts are corners
    cube = case._replace(policy=case.policy._replace(universe=Universe(norm=np.inf)))
    contexts = [records[at][1] for at, records in positions(cube)]
    assert max(np.abs(x).sum() for x in contexts) == 2.0
    with pytest.raises(NotMeasured, match="neighbours must be one of"):
        candidates(related("edit one bit"))


@pytest.fixture
def seen():
    """Two calls, the first with parts of two laws; the record moves the second alone."""
    moved = np.array([[1.0], [2.0], [3.0]])
    first = np.full((3, 2), 5.0)
    second = np.full((3, 1), 6.0)
    pairs = np.array([[0, 1], [0, 2], [1, 2]])
    return Seen(
        base=None,
        parts=[
            Shown(call=0, part=0, law="a", numbers=first),
            Shown(call=0, part=1, law="b", numbers=second),
            Shown(call=1, part=0, law="a", numbers=moved),
        ],
        candidates=Candidates([], np.arange(3), pairs),
    )


def test_numbers_of_a_law_over_all_calls_by_hand(seen):
    numbers, owners = seen.stacked("a")
    assert numbers.tolist() == [[5.0, 5.0, 1.0], [5.0, 5.0, 2.0], [5.0, 5.0, 3.0]]
    assert owners.tolist() == [0, 0, 1]
    assert seen.moves(numbers)[:, 2].tolist() == [-1.0, -2.0, -1.0]
    assert seen.distances().tolist() == [1.0, 2.0, 1.0]
    assert seen.moved() == [1]


@pytest.mark.parametrize(("billion", "bounded"), [(2.0, True), (1e9, False), (3.0, None)])
def test_bounded_means_that_a_billion_moves_no_further_than_a_thousand(billion, bounded):
    numbers = np.array([[0.0], [2.0], [0.0], [billion]])
    pairs = np.array([[0, 1], [2, 3]])
    seen = Seen(
        base=None,
        parts=[Shown(call=0, part=0, law="a", numbers=numbers)],
        candidates=Candidates([], np.array([1, 1, 2, 2]), pairs),
    )
    if bounded is None:
        with pytest.raises(NotMeasured, match="slowly"):
            seen.bounded()
    else:
        assert seen.bounded() is bounded


def test_whatever_else_depends_on_a_record_is_a_leak():
    public = [{"x": np.zeros(2), "s": np.ones(1)}]
    base = Run(
        state=(),
        calls=[0, 0],
        arms=[(0, 1, 2), (1, 2, 2)],
        public=public,
        changed=[],
    )
    compare(base._replace(arms=[(1, 1, 2), (1, 2, 2)]), base, 0)  # the user's own advice
    other = [public[0] | {"s": np.array([1.0 + 1e-15])}]
    leaks = {
        "how often": base._replace(calls=[0]),
        "advice": base._replace(arms=[(0, 1, 3), (1, 2, 2)]),
        "public state.s field `s`": base._replace(public=other),
    }
    for words, run in leaks.items():
        with pytest.raises(Leak, match=words):
            compare(run, base, 0)


def test_the_search_comes_near_the_record_that_moves_most():
    case = related(ADD_OR_REMOVE)

    def follow(record):
        _, x, r = record
        part = Part("a", r * np.array([2.0, 1.0]) * x)
        call = Call(kernel=None, read=None, live=(), args=(), clean=[part], noise=[])
        return Run(state=(), calls=[call], arms=[], public=[], changed=[])

    for x0, x1, r in searched(case, follow, np.zeros(2), 400):
        assert abs(x0) > 0.99
        assert abs(r) == 1.0
        assert np.hypot(x0, x1) <= 1.0 + 1e-9
