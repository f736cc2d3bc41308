"""Policies as data, and the live interface: what it refuses changes nothing."""

import inspect
import sys

import numpy as np
import pytest
import runs
from streams import flat, run, same_bits

from companion import contract, core, optimisers, policies
from companion.baselines.linucb import linucb
from companion.baselines.random import random

X = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
RELEASE = core.Release(np.copy, "a", "gaussian")


@pytest.mark.parametrize(
    "bad",
    [
        np.ones(3),
        np.ones((2, 4)),
        np.ones((0, 3)),
        [[np.nan, 0, 0]],
        [[1e31, 0, 0]],
        "X",
    ],
)
def test_bad_contexts_are_refused_and_change_nothing(bad, live):
    refused = pytest.raises(ValueError, match=r"X must|takes contexts")
    with runs.unchanged(live), refused:
        live.select(bad)
    assert live.rounds == 0
    live.update(live.select(X), 1.0)
    assert live.rounds == 1


@pytest.mark.parametrize(
    ("arm", "r"),
    [(2, 0.0), (-1, 0.0), (0.5, 0.0), (0, np.nan), (0, "1")],
)
def test_bad_feedback_is_refused_and_changes_nothing(arm, r, live):
    live.select(X)
    with runs.unchanged(live), pytest.raises(ValueError, match=r"arm|r must"):
        live.update(arm, r)
    live.update(0, 1.0)
    assert live.rounds == 1


def test_another_arm_than_advised_may_be_played(live):
    live.select(X)
    live.update(1, 1.0)
    assert np.array_equal(live.state.b, X[1])


def test_the_callers_array_may_be_reused(live):
    contexts = X.copy()
    other = linucb(3).start(0)
    for _ in range(3):
        arm = live.select(contexts)
        same = other.select(X)
        assert arm == same
        contexts[:] = 0.0
        live.update(arm, 1.0)
        other.update(same, 1.0)
        contexts[:] = X
    assert all(map(same_bits, flat(live.state), flat(other.state)))


def test_the_loop_borrows_its_arrays_and_keeps_none(rng):
    p = linucb(3)
    contexts = np.full((40, 4, 3), 0.5)
    R = np.ones((40, 4))
    arms = np.empty(40, np.int64)
    state = p.init(p.params)
    held = [sys.getrefcount(a) for a in state]
    p.loop(p.params, state, contexts, R, rng, arms)
    assert [sys.getrefcount(a) for a in state] == held


def test_a_loop_of_steps_from_two_modules_is_not_cached_with_one_of_them():
    assert linucb(3).loop.__module__ == "companion.baselines.linucb"
    mixed = core.plain_loop(linucb(3).select, random().update)
    assert "<" in mixed.__qualname__  # which `jit` does not cache


def keep(p, s, X, rng):
    """A step of somebody else's, which may keep the arrays that it is given."""
    return 0


def test_only_steps_of_the_package_play_without_counts_of_references():
    own = linucb(3)
    foreign = core.jit(keep)
    loops = [core.plain_loop(select, own.update) for select in (own.select, foreign)]
    plain = [inspect.getclosurevars(getattr(loop, "py_func", loop)) for loop in loops]
    used = [names.nonlocals["of_arrays"] for names in plain]
    assert used == [core.borrowed, core.counted]
    policy = own._replace(select=foreign)
    arms, _ = run(policy, np.tile(X, (5, 1, 1)), np.ones((5, 2)))
    assert (arms == 0).all()


BALL = core.Universe()
OFFSET = core.Universe(low=0.0, offset=True)  # the constant is 0.7071


@pytest.mark.parametrize(
    ("universe", "x", "r", "said"),
    [
        (BALL, [0.6, 0.8], 1.0, (False, False)),
        (BALL, [0.6, 0.8 + 1e-12], -1.0, (False, False)),  # by rounding alone
        (BALL, [0.6, 0.8], 1.001, (False, True)),
        (BALL, [0.6, 0.8], -1.001, (False, True)),
        (BALL, [0.6, 0.801], 0.0, (True, False)),
        (OFFSET, [0.7, np.sqrt(0.5)], -0.1, (False, True)),
        (OFFSET, [0.1, 0.7], 0.0, (True, False)),
        (OFFSET, [0.1, 0.72], 0.0, (True, False)),
    ],
)
def test_a_record_at_the_end_of_a_universe_is_inside(universe, x, r, said):
    assert universe.outside(np.array(x), r) == said


@pytest.mark.parametrize("worst", [1.1e30, -1.1e30])
def test_a_block_has_a_largest_and_a_least_number(worst):
    block = np.array([[0.0, 1e30], [-1e30, 1.0]])
    contract.need_block("X", block, (2, 2))
    block[1, 1] = worst
    with pytest.raises(ValueError, match="X must be finite, at most"):
        contract.need_block("X", block, (2, 2))


@pytest.mark.parametrize("step", [0.5, -0.5])
def test_a_policy_of_one_context_refuses_rows_that_differ_in_either_direction(step):
    policy = policies.example("sco_bandit", 2)
    same = np.full((2, 3), 0.25)
    contract.need_contexts((policy,), same)
    same[1, 0] += step
    with pytest.raises(ValueError, match="the rows of X must be equal"):
        contract.need_contexts((policy,), same)


def test_what_a_stream_returns_is_a_copy():
    stream = optimisers.example("streaming_fw").start(0)
    theta = stream.update(np.array([1.0, 0.0, 0.0]), 0.5)
    kept = theta.copy()
    theta += 1.0
    assert np.array_equal(stream.state.theta, kept)


@pytest.mark.parametrize("module", [policies, optimisers], ids=["policies", "optimisers"])
def test_a_name_in_a_table_is_that_of_its_factory(module):
    found = {name: module.factory(name).__name__ for name in module.TABLE}
    assert found == {name: name for name in module.TABLE}


@pytest.mark.parametrize(
    ("declared", "words"),
    [
        ({"releases": ((RELEASE,),)}, r'write releases=\(Release\(kernel, "argument"'),
        ({"releases": RELEASE}, "releases must be a tuple of Release"),
        ({"releases": (RELEASE._replace(kernel="send"),)}, "kernel of a Release must be"),
        (
            {"releases": (RELEASE._replace(argument="b"),)},
            r"must be one of \['a', 'order'",
        ),
        ({"releases": (RELEASE._replace(law=["laplace"]),)}, "law of a Release must be"),
        ({"private": ("theta",)}, "of State.t, .*; got 'theta'"),
        ({"private": "theta"}, r'write private=\("field",\)'),
        ({"private": (1,)}, "private must be a tuple of names"),
    ],
)
def test_a_declaration_is_refused_with_what_to_write(declared, words):
    with pytest.raises(ValueError, match=words):
        linucb(3)._replace(**declared).start(0)
