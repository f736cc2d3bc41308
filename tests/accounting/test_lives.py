"""Lives in one call of a kernel are those that `play` is called for, to the bit."""

from typing import NamedTuple

import numpy as np
import pytest
from many_lives import compare

from companion.accounting import audit
from companion.accounting.lives import in_one, lived
from companion.audits.watching import arrays, same
from companion.baselines.private_linucb import jdp_linucb
from companion.streaming_sco import sco_bandit

BANDIT = sco_bandit(2, 3, 9, epsilon=5.0, delta=0.1, t0=1, gap=4.0)


class State(NamedTuple):
    t: int
    flags: np.ndarray
    inside: tuple
    counts: np.ndarray


def test_lives_of_a_tree_are_those_of_play():
    policy = jdp_linucb(2, 9, epsilon=5.0, delta=0.1)
    arms = compare(policy, lived(policy, 5), lambda s: s.release)
    assert len(np.unique(arms, axis=0)) > 3


def test_lives_of_a_bandit_of_learners_are_those_of_play():
    arms = compare(BANDIT, lived(BANDIT, 2), lambda s: s.arms.gradient[0])
    assert len(np.unique(arms, axis=0)) > 3


def test_playing_by_a_kernel_is_playing():
    X, R = np.random.default_rng(3).uniform(-0.7, 0.7, (2, 9, 3, 2))
    shown = [
        audit.playing(BANDIT, user=4, several=several)(
            (X[:, :1].repeat(3, axis=1), R[:, :, 0].copy()), np.random.default_rng(4), 30
        )
        for several in (None, lived(BANDIT, 2))
    ]
    assert np.array_equal(*shown)
    assert len(np.unique(shown[0], axis=0)) > 1


def test_a_state_in_one_memory_begins_again():
    numbers = np.arange(6.0)
    pair = numbers.reshape(2, 3), numbers.reshape(2, 3)  # two views of the same
    before = State(4, np.array([True, False, True]), pair, np.array([3, -1]))
    state, memory = in_one(before)
    assert type(state) is State
    assert (state.t, memory.shape) == (4, (2, 9))
    assert all(
        same(a, b) and a.dtype == b.dtype
        for a, b in zip(*map(arrays, (before, state)), strict=True)
    )
    state.inside[0][:] = 7.0
    assert (state.inside[1] == 7.0).all()  # they still are
    state.flags[:], state.counts[:] = False, 9
    assert numbers.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    memory[0] = memory[1]
    assert all(same(a, b) for a, b in zip(*map(arrays, (before, state)), strict=True))


def test_arrays_that_overlap_in_part_are_refused():
    whole = np.zeros(5)
    with pytest.raises(ValueError, match=r"must not overlap; got \(5,\) and \(2,\)"):
        in_one((whole, whole[1:3]))
