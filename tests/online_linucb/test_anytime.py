"""Algorithm 9 is Algorithm 1, started anew for 1, 2, 4, ... rounds."""

import re
from collections.abc import Callable
from typing import get_args, get_origin, get_type_hints

import numpy as np
import pytest
from streams import run, stream

from companion import core
from companion.online_linucb import policy as base
from companion.online_linucb.anytime import EPOCHS, NEVER, anytime_linucb
from companion.online_linucb.policy import online_linucb
from companion.online_linucb.theory import practical_clip, practical_width


@pytest.mark.parametrize("epsilon", [20.0, np.inf])
@pytest.mark.parametrize("learner", ["maler", "ogd"])
def test_is_a_sequence_of_restarts(epsilon, learner):
    X, R, _ = stream(n=500)
    policy = anytime_linucb(3, epsilon=epsilon, delta=0.1, k=0.5, lambda_min=0.2, learner=learner)
    arms, s = run(policy, X, R)
    rng, start = np.random.default_rng(1), 0
    for m in range(9):
        jitter = 2.0 ** (-m / 2) if 2.0 ** (-m / 2) >= 0.2 and epsilon < np.inf else 0.0
        epoch = online_linucb(3, 2**m, epsilon=epsilon, delta=0.1, learner=learner, jitter=jitter)
        state = epoch.init(epoch.params)
        block = slice(start, min(start + 2**m, 500))
        expected = np.empty(block.stop - start, dtype=np.int64)
        state = epoch.play(epoch.params, state, X[block], R[block], rng, expected)
        assert np.array_equal(arms[block], expected), m
        start += 2**m
    np.testing.assert_array_equal(s.run.centre, state.centre)
    assert (s.t, s.epoch, s.run.t) == (500, 8, 500 - 255)


def test_parameters_are_functions_of_the_epochs_horizon():
    policy = anytime_linucb(
        3, epsilon=5.0, delta=0.1, k=0.125, lambda_min=0.4, width=lambda s, T: s + T
    )
    p = policy.params
    m = np.arange(EPOCHS)
    wanted = np.where(2.0 ** (-m / 8) >= 0.4, 2.0 ** (-m / 8), 0.0)
    assert 0 < (wanted > 0).sum() < EPOCHS
    np.testing.assert_allclose(p.jitter, wanted)
    np.testing.assert_allclose(p.width, p.sigma + 2.0**m)
    np.testing.assert_allclose(p.clip, [practical_clip(p.sigma, j, 3) for j in wanted])
    assert p.n_rates.tolist() == [int(np.ceil(i / 2)) + 1 for i in m]
    assert p.length.tolist() == [2**i for i in range(EPOCHS - 1)] + [NEVER]
    default = anytime_linucb(3, epsilon=5.0, delta=0.1).params
    np.testing.assert_allclose(default.width, [practical_width(p.sigma, 2.0**i) for i in m])


def test_has_no_horizon_and_the_privacy_of_one_message():
    policy = anytime_linucb(3, epsilon=5.0, delta=0.1, calibration="paper")
    assert core.horizon(policy) is None
    assert (
        policy.guarantee
        == online_linucb(3, 10, epsilon=5.0, delta=0.1, calibration="paper").guarantee
    )
    assert policy.params.sigma == base.pair_noise(5.0, 0.1, "paper", "ball")[0]


def test_clipped_records_are_counted_over_all_epochs():
    X, R, _ = stream(n=100, K=1)
    state = run(anytime_linucb(3, epsilon=5.0, delta=0.1), 9 * X, R)[1]
    assert state.run.clipped == (np.linalg.norm(9 * X[:, 0], axis=1) > 1).sum() > 50


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("d", 0),
        ("d", 10**30),
        ("epsilon", 0.0),
        ("delta", 0.0),
        ("k", 0.0),
        ("k", np.nan),
        ("lambda_min", -0.1),
        ("lambda_min", 1.1),
        ("width", 3.0),
        ("clip", 3.0),
        ("ball", 0.0),
        ("universe", "cube"),
    ],
)
def test_rejects_bad_input_by_name(name, value):
    with pytest.raises(ValueError, match=f"{name}={value!r}"):
        anytime_linucb(**{"d": 3, "epsilon": 1.0, name: value})


@pytest.mark.parametrize(
    ("name", "arguments"), [("width", "(sigma, horizon)"), ("clip", "(sigma, jitter, d)")]
)
def test_a_number_for_a_function_is_refused_with_what_is_allowed(name, arguments):
    allowed = re.escape(f"{name} must be None or a function {arguments}")
    with pytest.raises(ValueError, match=f"{allowed}.*got {name}=1.0"):
        anytime_linucb(3, epsilon=1.0, **{name: 1.0})
    options = get_type_hints(anytime_linucb)
    assert get_origin(get_args(options[name])[0]) is Callable
