"""Records that are tried in place of one: near and far, and what they let out."""

import numpy as np
import pytest

from companion.accounting.audit import AuditInstance
from companion.audits.neighbours import Leak, Seen, compare, positions, records
from companion.audits.watching import Run


@pytest.mark.parametrize("d", [2, 3, 8])
def test_near_records_lie_in_the_universe_and_far_ones_as_far_outside_as_they_say(d):
    near, far = records(d)
    assert np.linalg.norm(near[:, :d], axis=1).max() == pytest.approx(1.0)
    assert set(near[:, d]) == {-1.0, 0.0, 1.0}
    for row in np.eye(d):
        assert (np.abs(near[:, :d] - row).sum(axis=1) < 1e-12).any()
    assert np.abs(far(1e3)).max(axis=1).min() == pytest.approx(1e3)
    np.testing.assert_allclose(far(1e9)[:, d], 1e6 * far(1e3)[:, d])


def seen():
    """Two calls, the first with parts of two laws; the record moves the second alone."""
    first = [np.full((3, 2), 5.0), np.full((3, 1), 6.0)]
    return Seen(None, [first, [np.array([[1.0], [2.0], [3.0]])]], [["a", "b"], ["a"]], np.arange(3))


def test_numbers_of_a_law_over_all_calls_by_hand():
    assert seen().stacked("a").tolist() == [[5.0, 5.0, 1.0], [5.0, 5.0, 2.0], [5.0, 5.0, 3.0]]
    assert seen().stacked("b").tolist() == [[6.0]] * 3
    assert seen().moves() == 1


def test_bounded_means_that_a_billion_moves_no_further_than_a_thousand():
    kind = np.array([1, 1, 2, 2])

    def bounded(thousand, billion):
        far = np.zeros((4, 4))
        far[0, 1], far[2, 3] = thousand, billion
        return seen()._replace(kind=kind).bounded(far)

    assert bounded(2.0, 2.0)
    assert not bounded(1e3, 1e9)
    with pytest.raises(ArithmeticError, match="slowly"):
        bounded(2.0, 3.0)


def test_whatever_else_depends_on_a_record_is_a_leak():
    base = Run([0, 0], [], [(0, (1, 2)), (1, (2, 2))], [np.zeros(2), np.ones(1)], [], [], ())
    compare(base._replace(arms=[(1, (1, 2)), (1, (2, 2))]), base, 0)  # the user's own advice
    leaks = {
        "number of releases": base._replace(calls=[0]),
        "advice": base._replace(arms=[(0, (1, 3)), (1, (2, 2))]),
        "public state": base._replace(public=[np.zeros(2), np.array([1.0 + 1e-15])]),
    }
    for words, run in leaks.items():
        with pytest.raises(Leak, match=words):
            compare(run, base, 0)


def test_records_are_replaced_at_the_beginning_in_the_middle_and_at_the_end():
    assert [positions(AuditInstance(None, {}, rounds=n)) for n in (1, 2, 9)] == [
        [0],
        [0, 1],
        [0, 4, 8],
    ]
