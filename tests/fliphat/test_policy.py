"""FLIPHAT: schedule, calibration, forgetting, clipping, and the release against Algorithm 1."""

import numpy as np
import pytest
from scipy import stats as sps

from companion.fliphat.episodes import releases, rows_in_release
from companion.fliphat.policy import fliphat
from companion.fliphat.regression import Regression, niht, work_for
from companion.fliphat.residual import residual_fliphat

B = 3.4362195  # l1 norm of the published parameter of Figure 1


def run(policy, X, R, seed=0):
    arms = np.empty(len(X), np.int64)
    rng = np.random.default_rng(seed)
    return arms, policy.play(policy.params, policy.init(policy.params), X, R, rng, arms)


def stream(n, d, K=2, seed=1):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, K, d))
    return X, X[:, :, 0] - 0.5 * X[:, :, 1] + 0.1 * rng.standard_normal((n, K))


def paper(epsilon=1.0, d=400, T=20_000, **changes):
    return fliphat(d, T, sparsity=10, epsilon=epsilon, b_max=B, calibration="paper", **changes)


def test_published_constants():
    p = paper().params
    assert p.iterations.tolist() == [0] * 6 + [1] * 8  # no step up to n = 32, then exactly one
    assert p.reward_clip[[6, 13]] == pytest.approx([14.784368, 16.140185], abs=1e-5)
    assert p.xi_first[13] == pytest.approx(8.045001e-6, rel=1e-6)
    assert paper(iteration_rate=1.6).params.iterations.max() == 18
    assert paper(iteration_rate=1.6).params.xi_first[13] == pytest.approx(1.847469e-4, rel=1e-4)


def test_one_release_before_every_power_of_two_and_none_after_the_last_round():
    assert [releases(T) for T in (1, 2, 3, 4, 7, 8)] == [0, 1, 1, 2, 2, 3]
    assert rows_in_release(20, forget=True).tolist() == [1, 2, 4, 8]
    assert rows_in_release(20, forget=False).tolist() == [1, 3, 7, 15]
    policy = residual_fliphat(3, 20, sparsity=1, epsilon=1.0, skip=0)
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
    policy = residual_fliphat(4, 128, sparsity=2, epsilon=np.inf, skip=0)
    same = (
        np.repeat(X[:, :1], 2, axis=1),
        np.repeat(R[:, :1], 2, axis=1),
    )  # whatever the arms, these rows
    past = same[0].copy(), same[1].copy()
    past[0][:63] *= -1.0  # episode 6 begins at round 64
    np.testing.assert_array_equal(run(policy, *same)[1].theta_hat, run(policy, *past)[1].theta_hat)
    keep = residual_fliphat(4, 128, sparsity=2, epsilon=np.inf, skip=0, forget=False)
    assert (run(keep, *same)[1].theta_hat != run(keep, *past)[1].theta_hat).any()


def test_the_release_is_algorithm_1_on_the_stored_rows():
    X, R = stream(63, 4)
    policy = residual_fliphat(4, 64, sparsity=2, epsilon=2.0, iterations=3, skip=0)
    same = np.repeat(X[:, :1], 2, axis=1), np.repeat(R[:, :1], 2, axis=1)
    p = policy.params
    _, before = run(policy, same[0][:62], same[1][:62], 4)
    rng = np.random.default_rng(99)
    state = policy.update(p, before, 0, same[0][62, 0], same[1][62, 0], rng)
    theta, picks = np.zeros(4), np.zeros(2, np.int64)
    q = Regression(2, 3, 1.0, np.inf, 1.0, np.inf, 1.0, p.xi_first[5], p.xi_rest[5])
    rng = np.random.default_rng(99)
    niht(q, X[31:63, 0].copy(), R[31:63, 0].copy(), 32, rng, theta, picks, 0, work_for(4, 2))
    np.testing.assert_array_equal(state.theta_hat, theta)


def test_wide_contexts_are_clipped_and_counted():
    X, R = stream(60, 3)
    X[:, :, 2] = 0.0
    X[50:55, :, 2] = 50.0  # in the last episode whose rows are used, rounds 32 to 63
    keys = {"sparsity": 1, "epsilon": 1.0, "b_max": 1.0, "iteration_rate": 1.0}
    policy = fliphat(3, 64, x_max=10.0, **keys)
    _, state = run(policy, X, R)
    assert state.clipped == 5
    assert np.abs(state.X).max() <= 10.0
    assert run(fliphat(3, 64, calibration="paper", **keys), X, R)[1].clipped == 0


def test_contexts_beyond_the_bound_of_the_gradient_are_counted_too():
    X, R = stream(60, 3)
    policy = residual_fliphat(3, 64, sparsity=1, epsilon=1.0, x_clip=10.0)
    X[31:60:7, :, 2] = 50.0
    state = run(policy, X, R)[1]
    assert state.clipped == 5
    assert np.abs(state.X).max() == 50.0  # they are clipped in the gradient alone


def test_arms_are_drawn_at_random_until_there_is_an_estimate():
    """400 arms of four; Pearson's test at 1e-7."""
    X, R = stream(400, 3, K=4)
    arms = run(residual_fliphat(3, 1024, sparsity=1, epsilon=1.0, skip=512), X, R)[0]
    assert sps.chisquare(np.bincount(arms, minlength=4)).pvalue > 1e-7


def test_guarantees_are_computed_from_the_noise():
    assert fliphat(400, 20_000, sparsity=10, epsilon=1.0, b_max=B).guarantee.epsilon == 1.0
    assert paper().guarantee.epsilon == np.inf  # nothing bounds the contexts
    assert paper().guarantee.claimed == (1.0, 0.01)
    true = [paper(e, clip_contexts=True).guarantee.epsilon for e in (0.5, 1.0, 2.0, 5.0, 10.0)]
    np.testing.assert_allclose(true, [2.85, 7.13, 17.6, 50.8, 102], rtol=0.01)
    corrected = fliphat(400, 20_000, sparsity=10, epsilon=1.0, b_max=B).params
    exact = 13.12 * 4 * 1e-4 * np.sqrt(2 * np.log(400)) * corrected.reward_clip[13] / 8192
    assert corrected.xi_first[13] == pytest.approx(exact, rel=1e-3)


def test_one_step_does_not_depend_on_the_step_size():
    X, R = stream(300, 12)
    arms = [run(paper(d=12, T=300, eta=e), X, R)[0] for e in (1e-4, 3e-3)]
    np.testing.assert_array_equal(*arms)


@pytest.mark.filterwarnings("ignore:FLIPHAT cannot learn")
def test_only_the_corrected_noise_follows_a_change_of_units():
    """In units where contexts are 10 times larger, theta, and so its noise, must be 10 times
    smaller.
    """
    for calibration, follows in (("corrected", True), ("paper", False)):
        keys = {"sparsity": 10, "epsilon": 5.0, "calibration": calibration, "iteration_rate": 0.0}
        a = fliphat(12, 511, b_max=1.5, x_max=4.0, eta=1e-3, **keys).params
        b = fliphat(12, 511, b_max=0.15, x_max=40.0, eta=1e-5, **keys).params
        np.testing.assert_allclose(a.reward_clip, b.reward_clip)
        assert np.allclose(a.xi_first, 10 * b.xi_first, rtol=1e-12, atol=0) == follows


def test_fresh_noise_in_every_release():
    """With zero data the estimate is the noise: no two releases (or picks) may share it."""
    policy = residual_fliphat(2, 2**12, sparsity=2, epsilon=1.0, skip=0, iterations=1)
    state, rng, noises = policy.init(policy.params), np.random.default_rng(0), []
    for t in range(1, 2**12):
        state = policy.update(policy.params, state, 0, np.zeros(2), 0.0, rng)
        if (t + 1) & t == 0:
            noises.append(state.theta_hat / policy.params.xi_first[len(noises)])
    assert len(np.unique(np.round(noises, 9))) == 2 * 12


def test_a_policy_that_never_takes_a_step_says_so(recwarn):
    with pytest.warns(UserWarning, match="FLIPHAT cannot learn as configured: none of its 5"):
        fliphat(5, 63, sparsity=2, epsilon=1.0, b_max=1.0)  # 0.16 log(1 + 16) is below 1
    with pytest.warns(UserWarning, match="Residual FLIPHAT cannot learn"):
        residual_fliphat(5, 63, sparsity=2, epsilon=1.0)  # fewer than skip = 32 rows
    recwarn.clear()
    paper()
    residual_fliphat(5, 64, sparsity=2, epsilon=1.0)
    assert not recwarn.list


@pytest.mark.filterwarnings("ignore:FLIPHAT cannot learn")
def test_edge_cases():
    for T, d, K in ((1, 3, 2), (2, 1, 1), (33, 1, 1)):
        X, R = stream(T, max(d, 2), K)
        policy = fliphat(d, T, sparsity=1, epsilon=1.0, b_max=1.0)
        arms, _ = run(policy, np.ascontiguousarray(X[:, :, :d]), R)
        assert set(arms) <= set(range(K))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("sparsity", 0),
        ("sparsity", 6),
        ("sparsity", 2.5),
        ("epsilon", 0.0),
        ("epsilon", -1.0),
        ("epsilon", np.nan),
        ("delta", 0.0),
        ("delta", 1.0),
        ("b_max", 0.0),
        ("x_max", -1.0),
        ("eta", 0.0),
        ("noise", -0.1),
        ("iteration_rate", np.inf),
        ("calibration", "none"),
        ("T", 0),
        ("d", 0),
        ("T", 10**30),
        ("d", 1e30),
        ("b_max", 1e308),
        ("x_max", 1e-60),
        ("eta", 5e-324),
        ("noise", 1e60),
        ("iteration_rate", 1e30),
        ("epsilon", 5e-324),
        ("epsilon", 10**18),
        ("clip_contexts", False),
    ],
)
def test_rejects_bad_input_by_name(name, value):
    with pytest.raises(ValueError, match=name):
        fliphat(**{"d": 5, "T": 100, "sparsity": 2, "epsilon": 1.0, "b_max": 1.0, name: value})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("sparsity", 9),
        ("x_clip", 0.0),
        ("residual_clip", np.inf),
        ("l1_radius", 0.0),
        ("iterations", 0),
        ("iterations", 10**30),
        ("skip", -1),
        ("eta", 1e-60),
        ("x_clip", 1e60),
        ("epsilon", 1e18),
        ("warm", 2),
        ("forget", None),
        ("delta", 0),
        ("epsilon", "1"),
    ],
)
def test_residual_rejects_bad_input_by_name(name, value):
    with pytest.raises(ValueError, match=name):
        residual_fliphat(**{"d": 5, "T": 100, "sparsity": 2, "epsilon": 1.0, name: value})
