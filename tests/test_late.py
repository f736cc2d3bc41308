"""Late rewards: who takes them, and that a run with them is a run in order of arrival."""

import types

import numpy as np
import pytest
import streams
from streams import flat, same_bits, stream_for

from companion import late
from companion.baselines.private_linucb import jdp_linucb
from companion.baselines.random import random
from companion.live import Live

EVERY = {name: streams.example(name) for name in streams.names()}
LATE = [name for name, p in EVERY.items() if not late.why_in_order(p)]
IN_ORDER = [name for name in EVERY if name not in LATE]


def test_every_policy_says_what_it_allows():
    modules = {p.init.__module__ for p in EVERY.values()}
    assert modules == late.ANY_ORDER | late.IN_ORDER.keys()
    assert not late.ANY_ORDER & late.IN_ORDER.keys()
    assert len(IN_ORDER) == 4


@pytest.mark.parametrize("name", LATE)
def test_what_select_does_in_between_changes_nothing_that_is_learned(name):
    """Other questions between a question and its reward: same arms, in a life of 300 rounds."""
    policy = EVERY[name]
    X, R, _ = stream_for(policy, 300)
    lives = []
    for disturbed in (False, True):
        rng, other = np.random.default_rng(1), np.random.default_rng(2)
        s, arms = policy.init(policy.params), []
        for t in range(300):
            arms.append(int(policy.select(policy.params, s, X[t], rng)))
            for j in other.integers(0, 300, 3) if disturbed and t % 3 == 0 else ():
                policy.select(policy.params, s, X[j], np.random.default_rng(t))
            x, r = X[t, arms[-1]].copy(), R[t, arms[-1]]
            s = policy.update(policy.params, s, arms[-1], x, r, rng)
        lives.append(arms)
    assert lives[0] == lives[1]


@pytest.mark.parametrize("name", LATE)
def test_rewards_that_come_late_enter_in_the_order_in_which_they_come(name):
    """Seven questions are open, rewards come in any order: kernels see the same calls."""
    policy = EVERY[name]
    X, R, _ = stream_for(policy, 84)
    live, order = policy.start(3), np.random.default_rng(4)
    rng, state = np.random.default_rng(3), policy.init(policy.params)
    for start in range(0, 84, 7):
        asked = {}
        for t in range(start, start + 7):
            asked[t] = live.select(X[t], str(t))
            assert asked[t] == policy.select(policy.params, state, X[t], rng)
        assert len(live.open) == 7
        for t in order.permutation(list(asked)):
            x, r = X[t, asked[t]].copy(), R[t, asked[t]]
            live.update(asked[t], r, str(t))
            state = policy.update(policy.params, state, asked[t], x, r, rng)
    assert all(map(same_bits, flat(live.state), flat(state)))
    assert live.report().rounds == 84


@pytest.mark.parametrize("name", IN_ORDER)
def test_who_takes_no_late_rewards_says_so_by_name(name):
    policy = EVERY[name]
    X, R, _ = stream_for(policy, 4)
    live = policy.start(0)
    arm = live.select(X[0], "a")  # a ticket is no matter while it is alone
    before = repr(live)
    with pytest.raises(ValueError, match=rf"policy '{policy.name}' takes one question at a time"):
        live.select(X[1], "b")
    with pytest.raises(ValueError, match="takes rounds in order"):
        live.drop("a")
    assert repr(live) == before
    live.update(arm, R[0, arm], "a")
    live.select(X[1], "b")


def test_a_policy_of_ones_own_is_in_order_until_it_says_otherwise(monkeypatch):
    def init(p):
        return random().init(p)

    own = types.ModuleType("own")
    monkeypatch.setitem(__import__("sys").modules, "own", own)
    init.__module__ = "own"
    policy = random()._replace(init=init)
    assert "does not say" in late.why_in_order(policy)
    own.late = True
    assert late.why_in_order(policy) == ""


X3 = np.eye(3)[:2]


def test_tickets():
    live = jdp_linucb(3, 3, epsilon=1.0, delta=0.1).start(0)
    for bad in ("", 3, b"a", "x" * 201, True):
        with pytest.raises(ValueError, match="ticket must be a text"):
            live.select(X3, bad)
    live.select(X3, "a")
    with pytest.raises(ValueError, match="select was called twice"):
        live.select(X3, "a")
    for bad in ("b", None, [1]):
        with pytest.raises(ValueError, match="update was called before select"):
            live.update(0, 0.5, bad)
    live.select(X3, "b")
    live.select(X3)  # without a ticket: one more
    with pytest.raises(ValueError, match="horizon T=3"):
        live.select(X3, "d")  # three are open: a fourth could not be told
    live.drop("b")
    assert live.ended("b")
    live.select(X3, "d")
    assert repr(live).startswith("<Live JDP-LinUCB: 0 rounds, waits for 3 rewards")
    assert list(live.open) == ["a", None, "d"]
    live.open["a"][0][:] = 9.0  # a copy
    live.update(1, 0.5, "a")
    assert (live.rounds, live.ended("a"), live.ended("d")) == (1, True, False)


def test_open_questions_are_saved(tmp_path):
    policy = jdp_linucb(3, 20, epsilon=1.0, delta=0.1)
    live = policy.start(0)
    asked = {t: live.select(X3[::-1] if t == "b" else X3, t) for t in ("a", "b", "c")}
    live.update(asked["c"], 0.25, "c")
    live.save(tmp_path / "run")
    again = Live.load(tmp_path / "run", policy)
    assert (repr(again), again.ended("c")) == (repr(live), True)
    for one in (live, again):
        one.update(asked["b"], 1.0, "b")
        one.update(asked["a"], 0.0, "a")
    assert all(map(same_bits, flat(live.state), flat(again.state)))
