"""What every policy must satisfy.  A policy is tested by having an `example()`."""

import numpy as np
import pytest
import streams
from streams import run, stream_for

from evidence.judge import checks

MODULES = streams.names()
ELSEWHERE = {"inside its arrays", "rows"}  # below: in a process without compilation
every_policy = pytest.mark.parametrize("module", MODULES)


@pytest.fixture
def policy(module):
    return streams.example(module)


@every_policy
@pytest.mark.parametrize("point", [p for p in checks.CHECKS if p not in ELSEWHERE])
def test_the_contract_holds(module, point):
    """What `evidence.judge` asks of any policy."""
    checks.CHECKS[point](lambda K: streams.example(module, K))


@pytest.mark.parametrize("K", streams.ROWS)
@every_policy
def test_kernels_stay_in_their_arrays_whatever_the_number_of_rows(module, K, interpreted):
    """A policy made for other arms refuses them in words; every other one plays within its arrays,
    and compiled as it does interpreted."""
    arms = interpreted[module, K]
    if isinstance(arms, str):
        assert "with a number of arms K=" in arms
    else:
        assert arms.min() >= 0
        assert arms.max() < K
        assert np.array_equal(arms, streams.rows_played(module, K, streams.ROWS[K]))


@every_policy
def test_compiled_equals_interpreted_to_the_bit(policy, module, interpreted):
    X, R, _ = stream_for(policy)
    arms, state = run(policy, X, R)
    streams.check_interpreted(arms, state, interpreted[module])


@pytest.mark.parametrize("module", ["linucb", "lplr"])
def test_contexts_that_are_a_slice_are_played_as_their_copy_is(policy):
    """Arms of a wider array, without their last coordinate copied out: rows of X with gaps, for
    which every policy is compiled once more."""
    X, R, _ = stream_for(policy)
    wide = np.full((*X.shape[:2], X.shape[2] + 1), 9.0)
    wide[:, :, :-1] = X
    sliced = wide[:, :, :-1]
    assert not sliced.flags.c_contiguous
    assert np.array_equal(run(policy, sliced, R)[0], run(policy, X, R)[0])
