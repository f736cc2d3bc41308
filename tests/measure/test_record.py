"""Algorithms played as plain Python, whose releases are recorded."""

from typing import NamedTuple

import numpy as np
import pytest
from streams import same_bits

from companion.baselines import ldp_linucb
from companion.core import need_declared
from companion.kernels import mechanisms
from evidence.attacks.table import known
from evidence.measure.record import (
    EXTREME,
    ExtremeRng,
    Interpreter,
    Leak,
    Recorder,
    arrays,
    begin,
    centred,
    copied,
    law_of,
)
from evidence.measure.replay import filler, positions, see


def same(one, other):
    """Whether fields of two States are alike."""
    return all(same_bits(part, other[name]) for name, part in one.items())


def case_of(name, number):
    return known(name).measured()[number]


def test_copies_change_no_module_and_replace_what_they_are_told():
    before = vars(ldp_linucb).copy()
    instead = {mechanisms.clip_to_ball: lambda x, r, out: (7.0, 0)}
    copy = Interpreter(instead)(ldp_linucb.randomize)
    assert copy.__globals__ is not ldp_linucb.randomize.py_func.__globals__
    assert vars(ldp_linucb) == before
    assert Interpreter({})(np.linalg.norm) is np.linalg.norm


def test_what_has_no_noise_is_exactly_zero_without_its_mean():
    assert not centred(np.full((1000, 2), 0.1)).any()
    assert centred(np.array([[1.0], [3.0]])).tolist() == [[-1.0], [1.0]]


@pytest.mark.parametrize(
    ("methods", "law"),
    [
        ("standard_normal normal", "gaussian"),
        ("laplace", "laplace"),
        ("binomial", "counts"),
    ],
)
def test_the_law_is_read_off_the_draws(methods, law):
    assert law_of(set(methods.split())) == law
    assert law_of({"uniform", *methods.split()}) == "unknown"


def test_a_release_more_than_in_the_script_is_a_leak():
    case = case_of("jdp_linucb", 0)
    recorder = Recorder(case)
    rows = filler(case)
    base = recorder.play(rows, seed=1)
    again = recorder.play(rows, seed=1, script=base)
    assert all(map(same, base.public, again.public))
    assert [len(c.live) > 0 for c in base.calls] == [True] * case.rounds
    assert not any(call.args or call.live for call in again.calls)
    with pytest.raises(Leak, match="number of releases"):
        recorder.play(rows, seed=1, script=base._replace(calls=base.calls[:-1]))


def test_what_a_kernel_returns_beside_its_releases_is_a_leak():
    case = case_of("ldp_linucb", 0)  # `randomize` returns whether the record was clipped
    with pytest.raises(Leak, match="public state"):
        see(case._replace(private_fields=("x",)), positions(case)[0])


class Inner(NamedTuple):
    counts: np.ndarray
    flag: bool


def test_copies_of_states_share_no_array_and_keep_their_types():
    state = (1, np.zeros(2), (np.ones(3), 2.0, Inner(np.arange(2), True)))
    copy = copied(state)
    assert type(copy[2][2]) is Inner
    assert (copy[0], copy[2][1], copy[2][2].flag) == (1, 2.0, True)
    pairs = zip(arrays(state), arrays(copy), strict=True)
    assert all(same_bits(a, b) and not np.shares_memory(a, b) for a, b in pairs)


def test_records_are_replaced_at_the_beginning_in_the_middle_and_at_the_end():
    case = case_of("jdp_linucb", 0)
    found = [positions(case._replace(rounds=n)) for n in (1, 2, 9)]
    assert [[at for at, _ in some] for some in found] == [[0], [0, 1], [0, 4, 8]]


def test_a_loop_that_draws_again_ends_and_the_first_draws_are_extreme():
    rng = ExtremeRng(np.random.PCG64(1))
    drawn = [rng.standard_exponential() for _ in range(EXTREME + 100)]
    assert min(drawn[:EXTREME]) > 100.0
    assert max(drawn[EXTREME:]) < 100.0


def test_a_private_field_that_is_none_is_refused_by_name(rng):
    case = case_of("jdp_linucb", 0)
    state = begin(case, rng)
    need_declared(case.policy, state)
    with pytest.raises(ValueError, match=r"State.* got 'exakt'"):
        need_declared(case.policy._replace(private=("exakt",)), state)
