"""FLIPHAT: what an episode stores and what it releases."""

import numpy as np
from sparse_streams import run, stream

from companion.fliphat.episodes import init, releases, rows_in_release, store
from companion.fliphat.regression import Regression, niht, work_for
from companion.fliphat.residual import residual_fliphat


def test_one_release_before_every_power_of_two_and_none_after_the_last_round():
    assert [releases(T) for T in (1, 2, 3, 4, 7, 8)] == [0, 1, 1, 2, 2, 3]
    assert rows_in_release(20, forget=True).tolist() == [1, 2, 4, 8]
    assert rows_in_release(20, forget=False).tolist() == [1, 3, 7, 15]
    policy = residual_fliphat(3, 20, sparsity=1, epsilon=1.0, delta=0.01, skip=0)
    X, R = stream(20, 3)
    state, rng, seen = policy.init(policy.params), np.random.default_rng(0), []
    for t in range(20):
        before = state.theta_hat.copy()
        state = policy.update(policy.params, state, 0, X[t, 0], R[t, 0], rng)
        if (before != state.theta_hat).any():
            seen.append(t + 2)  # the round that is played with the new estimate
    assert seen == [2, 4, 8, 16]


def test_an_estimate_sees_the_previous_episode_and_nothing_else():
    X, R = stream(127, 4)
    policy = residual_fliphat(4, 128, sparsity=2, epsilon=np.inf, delta=0.01, skip=0)
    same = (
        np.repeat(X[:, :1], 2, axis=1),
        np.repeat(R[:, :1], 2, axis=1),
    )  # whatever the arms, these rows
    past = same[0].copy(), same[1].copy()
    past[0][:63] *= -1.0  # episode 6 begins at round 64
    np.testing.assert_array_equal(run(policy, *same)[1].theta_hat, run(policy, *past)[1].theta_hat)
    keep = residual_fliphat(4, 128, sparsity=2, epsilon=np.inf, delta=0.01, skip=0, forget=False)
    assert (run(keep, *same)[1].theta_hat != run(keep, *past)[1].theta_hat).any()


def test_the_release_is_algorithm_1_on_the_stored_rows():
    X, R = stream(63, 4)
    policy = residual_fliphat(4, 64, sparsity=2, epsilon=2.0, delta=0.01, iterations=3, skip=0)
    same = np.repeat(X[:, :1], 2, axis=1), np.repeat(R[:, :1], 2, axis=1)
    p = policy.params
    _, before = run(policy, same[0][:62], same[1][:62], seed=4)
    rng = np.random.default_rng(99)
    state = policy.update(p, before, 0, same[0][62, 0], same[1][62, 0], rng)
    theta, picks = np.zeros(4), np.zeros(2, np.int64)
    q = Regression(2, 3, 1.0, np.inf, 1.0, np.inf, 1.0, p.xi_first[5], p.xi_rest[5])
    rng = np.random.default_rng(99)
    niht(q, X[31:63, 0].copy(), R[31:63, 0].copy(), 32, rng, theta, picks, 0, work_for(4, 2))
    np.testing.assert_array_equal(state.theta_hat, theta)


def test_a_row_is_counted_as_clipped_whatever_coordinate_is_wide():
    p = residual_fliphat(3, 8, sparsity=1, epsilon=1.0, delta=0.01, skip=0).params._replace(
        row_clip=2.0
    )
    s = init(p)
    for j, wide in ((0, True), (1, True), (2, True), (None, False)):
        x = np.full(3, 0.5)
        if j is not None:
            x[j] = -3.0
        assert store(p, s, x, 1.0) is wide
        np.testing.assert_array_equal(s.X[0], np.clip(x, -2.0, 2.0))
