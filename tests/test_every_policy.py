"""What every policy must satisfy.  A policy is tested by having an `example()`."""

import numpy as np
import pytest
import streams
from streams import run, stream_for

from companion.baselines.linucb import linucb
from companion.baselines.private_linucb import jdp_linucb, ldp_linucb, sdp_linucb
from companion.judge import checks
from companion.online_linucb import (
    anytime_linucb,
    corrected_ridge,
    online_linucb,
    published_code,
)

MODULES = streams.names()
ELSEWHERE = {"inside its arrays", "rows"}  # below: in a process without compilation
every_policy = pytest.mark.parametrize("module", MODULES)


@pytest.fixture
def policy(module):
    return streams.example(module)


@every_policy
@pytest.mark.parametrize("point", [p for p in checks.CHECKS if p not in ELSEWHERE])
def test_the_contract_holds(module, point):
    """What `companion.judge` asks of any policy."""
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


@pytest.mark.parametrize(
    "module",
    [pytest.param(m, marks=[pytest.mark.nightly] * (m not in ("linucb", "lplr"))) for m in MODULES],
)
def test_contexts_that_are_a_slice_are_played_as_their_copy_is(policy):
    """Arms of a wider array, without their last coordinate copied out: rows of X with gaps, for
    which every policy is compiled once more."""
    X, R, _ = stream_for(policy)
    wide = np.full((*X.shape[:2], X.shape[2] + 1), 9.0)
    wide[:, :, :-1] = X
    sliced = wide[:, :, :-1]
    assert not sliced.flags.c_contiguous
    assert np.array_equal(run(policy, sliced, R)[0], run(policy, X, R)[0])


N = 200  # rounds in which the LinUCB family sees identical arms
BUDGET = {"epsilon": 5.0, "delta": 0.1}
POLICIES = {
    "linucb": linucb,
    "ldp_linucb": lambda d: ldp_linucb(d, N, **BUDGET),
    "jdp_linucb": lambda d: jdp_linucb(d, N, **BUDGET),
    "sdp_linucb": lambda d: sdp_linucb(d, N, **BUDGET),
    "corrected_ridge": lambda d: corrected_ridge(d, N, **BUDGET),
    "online_linucb": lambda d: online_linucb(d, N, **BUDGET),
    "anytime_linucb": lambda d: anytime_linucb(d, **BUDGET),
    "published LinUCB": lambda d: published_code.baseline("LinUCB", d, N, **BUDGET),
}


@pytest.mark.parametrize("make", POLICIES.values(), ids=POLICIES)
def test_the_first_of_identical_rows_is_played(make):
    """Before any reward, while the policy learns, and by `select` in the state it has reached."""
    for d in (2, 3, 8):
        policy, rng = make(d), np.random.default_rng(d)
        p = policy.params
        for K in (2, 9):
            x = rng.standard_normal((N, 1, d))
            x /= 1.01 * np.linalg.norm(x, axis=2, keepdims=True)
            X, R, arms = np.repeat(x, K, axis=1), rng.random((N, K)), np.full(N, -1)
            state = policy.init(p)
            policy.play(p, state, X, R, rng, arms)
            assert not arms.any(), (K, d)
            for row in rng.uniform(-0.4, 0.4, (50, 1, d)):
                assert policy.select(p, state, np.repeat(row, K, axis=0), rng) == 0, (K, d)
