"""The loop of many lives: each begins anew, and goes on where its last part ended."""

import numpy as np

from companion.accounting.lives import in_one
from companion.jit import jit
from companion.kernels.lives import Lives, live


@jit
def play(p, s, X, R, rng, arms):
    """A policy that adds up rewards, with noise that its parameter scales."""
    for t in range(X.shape[0]):
        arms[t] = s[0].size % 2
        s[0][0] += R[t, arms[t]] * X[t, arms[t], 0] + p * rng.random()
    return s


@jit
def show(s, out):
    out[0] = s[0][0]


@jit
def play_many(p, s, rng, lives):
    live(play, show, p, s, rng, lives)


def test_lives_are_those_of_single_calls():
    data = np.random.default_rng(0)
    X, R, ends = data.random((9, 2, 1)), data.random((9, 2)), np.array([2, 3, 9])
    arms, out = np.full((4, 9), -1), np.empty((4, 3, 1))
    s, memory = in_one((np.array([5.0]),))
    play_many(0.1, s, np.random.default_rng(1), Lives(memory, X, R, arms, ends, out))
    rng = np.random.default_rng(1)
    for i in range(4):
        alone, begin = (np.array([5.0]),), 0
        for j, end in enumerate(ends):
            played = np.empty(end - begin, np.int64)
            alone = play(0.1, alone, X[begin:end], R[begin:end], rng, played)
            assert out[i, j, 0] == alone[0][0]
            assert np.array_equal(arms[i, begin:end], played)
            begin = end
