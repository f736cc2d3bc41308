"""Other libraries: found if they are there, driven through their own interface."""

import sys
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from companion.timing import floors, others


def test_only_what_is_installed_is_offered(monkeypatch):
    monkeypatch.setattr(others, "find_spec", lambda name: name == "river" or None)
    assert list(others.installed()) == ["river"]


class Follower:
    """Stands in for a policy of a library: it plays in turn, and remembers what it learned."""

    def __init__(self, arms):
        self.arms, self.learned, self.n = arms, [], 0

    def pull(self, arms, context):
        assert list(context) == [0, 1, 2]
        self.n += 1
        return arms[self.n % len(arms)]

    def update(self, arm, context, reward):
        self.learned.append((arm, tuple(context.values()), reward))


def test_a_library_sees_one_context_and_the_reward_of_its_arm(monkeypatch):
    X, R = floors.stream(20, 4, 3)
    policy, fake = Follower(range(4)), ModuleType("river")
    fake.bandit = SimpleNamespace(LinUCBDisjoint=lambda **_: policy)
    monkeypatch.setitem(sys.modules, "river", fake)
    played = others.river(X, R)
    assert played == [(t + 1) % 4 for t in range(20)]
    for t, (arm, x, r) in enumerate(policy.learned):
        assert (arm, x, r) == (played[t], tuple(X[t, 0]), R[t, played[t]])


@pytest.mark.parametrize("name", others.LIBRARIES)
def test_the_library_itself_learns(name):
    pytest.importorskip(name)
    X, R = np.abs(floors.stream(300, 2, 3, seed=2)[0]), np.tile([0.0, 1.0], (300, 1))
    assert np.mean(others.LIBRARIES[name](X, R)) > 0.8  # the second arm always pays
