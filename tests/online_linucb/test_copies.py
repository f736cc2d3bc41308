"""Copies of Online LinUCB in one set of arrays: padded with zeros, read as they were."""

from typing import NamedTuple

import numpy as np

from companion.online_linucb.anytime import anytime_linucb, init
from companion.online_linucb.copies import base_params, base_state, stack, store


class Pair(NamedTuple):
    """A number and an array."""

    t: int
    a: np.ndarray


def test_a_stack_by_hand():
    both = stack([Pair(3, np.array([1.0, 2.0])), Pair(4, np.array([5.0]))])
    assert both.t.tolist() == [3, 4]
    assert both.a.tolist() == [[1.0, 2.0], [5.0, 0.0]]


def test_a_copy_has_the_parameters_it_was_made_of():
    made = [
        anytime_linucb(3, epsilon=1.0, delta=0.1, universe="ball").params,
        anytime_linucb(3, epsilon=5.0, delta=0.1).params,
    ]
    both = stack(made)
    for i, p in enumerate(made):
        for mine, own in zip(base_params(both, i), p, strict=True):
            assert np.array_equal(mine, own)


def test_arrays_of_a_state_are_views_and_numbers_are_written_back():
    p = anytime_linucb(3, epsilon=1.0, delta=0.1).params
    both = stack([init(p), init(p)])
    second = base_state(both, 1)
    second.run.u[:] = 7.0
    run = second.run._replace(t=4, clipped=2, learner=second.run.learner._replace(t=6))
    store(both, 1, second._replace(t=5, epoch=3, run=run))
    assert both.run.u.tolist() == [[0.0] * 3, [7.0] * 3]
    numbers = both.t, both.epoch, both.run.t, both.run.clipped, both.run.learner.t
    assert [n.tolist() for n in numbers] == [[0, 5], [0, 3], [0, 4], [0, 2], [0, 6]]
