"""`simulate`, `trace` and `Live` refuse the same in the same words, and reach no kernel."""

from typing import NamedTuple

import numpy as np
import pytest

from companion.accounting.privacy import NO_PRIVACY
from companion.core import Policy
from companion.simulate import simulate, trace


class Params(NamedTuple):
    d: int = 3
    K: int = 4
    T: int = 10


def forbidden(*_):
    pytest.fail("a kernel was reached")


POLICY = Policy(
    "Picky", Params(), lambda p: None, forbidden, lambda p, s, *_: s, forbidden, NO_PRIVACY
)


class Fixed:
    """One block of 10 rounds, all with the same contexts."""

    def __init__(self, X):
        self.X = np.repeat(np.asarray(X)[None], 10, axis=0)

    def blocks(self, T, rng):
        R = np.zeros(self.X.shape[:2])
        yield self.X, R, R


def said(door, *arguments):
    with pytest.raises(ValueError, match=r"must|takes") as refusal:
        door(*arguments)
    return str(refusal.value)


def simulated(X, T=10):
    simulate(Fixed(X), [POLICY], T, [0])


def traced(X, T=10):
    next(trace(Fixed(X), POLICY, T, 0, 1))


def live(X, T=10):
    run = POLICY.start(0)
    run.rounds = T - 1
    run.select(X)


def contexts(K=4, d=3, value=0.5):
    return np.full((K, d), value)


@pytest.mark.parametrize(
    ("X", "T", "words"),
    [
        (contexts(value=np.nan), 10, "contexts X must be finite"),
        (contexts(value=np.inf), 10, "contexts X must be finite"),
        (contexts(d=2), 10, "policy 'Picky' takes contexts of dimension d=3"),
        (contexts(K=3), 10, "policy 'Picky' takes contexts with a number of arms K=4"),
        (contexts(K=5000), 10, "policy 'Picky' takes contexts with a number of arms K=4"),
        (contexts(), 11, "T must be at most the horizon T=10 of policy 'Picky'; got T=11"),
    ],
)
def test_same_words_at_every_door(X, T, words):
    messages = [said(door, X, T) for door in (live, simulated, traced)]
    assert all(message.startswith(words) for message in messages), messages
    without_numbers = {message.split("; got")[0] for message in messages}
    assert len(without_numbers) == 1, messages


def test_trace_takes_and_refuses_the_seeds_of_simulate():
    for seed in (-1, 1.5, "1"):
        assert said(simulate, Fixed(contexts()), [POLICY], 10, [seed]) == said(
            lambda s: next(trace(Fixed(contexts()), POLICY, 10, s, 1)), seed
        )
