"""Records that are tried in place of one: near and far, and what they let out."""

import numpy as np
import pytest

from companion.accounting.privacy import ADD_OR_REMOVE, REPLACE_REWARD
from companion.core import Universe
from evidence.attacks.table import known
from evidence.measure.replay import Seen, candidates, compare, positions, records
from evidence.measure.record import Leak, NotMeasured, Run


@pytest.mark.parametrize("d", [2, 3, 8])
def test_near_records_lie_in_the_universe_and_far_ones_as_far_outside_as_they_say(d):
    near, far = records(d)
    assert np.linalg.norm(near[:, :d], axis=1).max() == pytest.approx(1.0)
    assert set(near[:, d]) == {-1.0, 0.0, 1.0}
    for row in np.eye(d):
        assert (np.abs(near[:, :d] - row).sum(axis=1) < 1e-12).any()
    assert np.abs(far(1e3)).max(axis=1).min() == pytest.approx(1e3)
    np.testing.assert_allclose(far(1e9)[:, d], 1e6 * far(1e3)[:, d])


def related(relation):
    case = known("ldp_linucb").measured()[0]
    policy = case.policy._replace(
        guarantee=case.policy.guarantee._replace(neighbours=relation)
    )
    return case._replace(policy=policy)


def test_pairs_follow_the_relation():
    rows, kind, pairs = candidates(related(ADD_OR_REMOVE))
    assert rows[-1] is None
    assert set(pairs[:, 1]) == {len(rows) - 1}
    assert len(kind) == len(rows)
    x = np.array([1.0, 0.0])
    rows, kind, pairs = candidates(related(REPLACE_REWARD), x)
    assert all(np.array_equal(row[1], x) for row in rows)
    assert len({row[2] for row in rows}) == len(rows) > 3
    case = related(REPLACE_REWARD)  # in a cube the longest contexts are corners
    cube = case._replace(policy=case.policy._replace(universe=Universe(norm=np.inf)))
    assert max(np.abs(x).sum() for _, x in positions(cube)) == 2.0
    with pytest.raises(NotMeasured, match="neighbours must be one of"):
        candidates(related("edit one bit"))


def seen():
    """Two calls, the first with parts of two laws; the record moves the second alone."""
    first = [np.full((3, 2), 5.0), np.full((3, 1), 6.0)]
    clean = [first, [np.array([[1.0], [2.0], [3.0]])]]
    return Seen(
        base=None,
        clean=clean,
        laws=[["a", "b"], ["a"]],
        kind=np.arange(3),
        pairs=np.array([[0, 1], [0, 2], [1, 2]]),
    )


def test_numbers_of_a_law_over_all_calls_by_hand():
    assert seen().stacked("a").tolist() == [
        [5.0, 5.0, 1.0],
        [5.0, 5.0, 2.0],
        [5.0, 5.0, 3.0],
    ]
    assert seen().moves(seen().stacked("a"))[:, 2].tolist() == [-1.0, -2.0, -1.0]
    assert seen().releases() == 1


def test_bounded_means_that_a_billion_moves_no_further_than_a_thousand():
    one = seen()._replace(kind=np.array([1, 1, 2, 2]), pairs=np.array([[0, 1], [2, 3]]))
    assert one.bounded(np.array([2.0, 2.0]))
    assert not one.bounded(np.array([1e3, 1e9]))
    with pytest.raises(NotMeasured, match="slowly"):
        one.bounded(np.array([2.0, 3.0]))


def test_whatever_else_depends_on_a_record_is_a_leak():
    base = Run(
        calls=[0, 0],
        asked=[],
        arms=[(0, 1, 2), (1, 2, 2)],
        public=[np.zeros(2), np.ones(1)],
        first=[],
        state=(),
    )
    compare(base._replace(arms=[(1, 1, 2), (1, 2, 2)]), base, 0)  # the user's own advice
    leaks = {
        "how often": base._replace(calls=[0]),
        "advice": base._replace(arms=[(0, 1, 3), (1, 2, 2)]),
        "public state.s field": base._replace(
            public=[np.zeros(2), np.array([1.0 + 1e-15])]
        ),
    }
    for words, run in leaks.items():
        with pytest.raises(Leak, match=words):
            compare(run, base, 0)
