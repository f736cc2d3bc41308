"""FLIPHAT: schedule, calibration, forgetting, clipping, and the release against Algorithm 1."""

import numpy as np
import pytest
from sparse_streams import run, stream

from companion.fliphat.policy import fliphat
from companion.fliphat.residual import residual_fliphat

B = 3.4362195  # l1 norm of the published parameter of Figure 1


def paper(epsilon=1.0, d=400, T=20_000, **changes):
    return fliphat(d, T, sparsity=10, epsilon=epsilon, b_max=B, calibration="paper", **changes)


def test_published_constants():
    p = paper().params
    assert p.iterations.tolist() == [0] * 6 + [1] * 8  # no step up to n = 32, then exactly one
    assert p.reward_clip[[6, 13]] == pytest.approx([14.784368, 16.140185], abs=1e-5)
    assert p.xi_first[13] == pytest.approx(8.045001e-6, rel=1e-6)
    assert paper(iteration_rate=1.6).params.iterations.max() == 18
    assert paper(iteration_rate=1.6).params.xi_first[13] == pytest.approx(1.847469e-4, rel=1e-4)


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


def test_guarantees_are_computed_from_the_noise():
    assert (
        fliphat(400, 20_000, sparsity=10, epsilon=1.0, delta=0.01, b_max=B).guarantee.epsilon == 1.0
    )
    assert paper().guarantee.epsilon == np.inf  # nothing bounds the contexts
    assert paper().guarantee.claimed == (1.0, 0.01)
    true = [paper(e, clip_contexts=True).guarantee.epsilon for e in (0.5, 1.0, 2.0, 5.0, 10.0)]
    np.testing.assert_allclose(true, [2.85, 7.13, 17.6, 50.8, 102], rtol=0.01)
    corrected = fliphat(400, 20_000, sparsity=10, epsilon=1.0, delta=0.01, b_max=B).params
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


def test_a_policy_that_never_takes_a_step_says_so(recwarn):
    with pytest.warns(UserWarning, match="FLIPHAT cannot learn as configured: none of its 5"):
        fliphat(
            5, 63, sparsity=2, epsilon=1.0, delta=0.01, b_max=1.0
        )  # 0.16 log(1 + 16) is below 1
    with pytest.warns(UserWarning, match="Residual FLIPHAT cannot learn"):
        residual_fliphat(5, 63, sparsity=2, epsilon=1.0, delta=0.01)  # fewer than skip = 32 rows
    recwarn.clear()
    paper()
    residual_fliphat(5, 64, sparsity=2, epsilon=1.0, delta=0.01)
    assert not recwarn.list


@pytest.mark.filterwarnings("ignore:FLIPHAT cannot learn")
def test_edge_cases():
    for T, d, K in ((1, 3, 2), (2, 1, 1), (33, 1, 1)):
        X, R = stream(T, max(d, 2), K)
        policy = fliphat(d, T, sparsity=1, epsilon=1.0, delta=0.01, b_max=1.0)
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


@pytest.mark.parametrize(("d", "x_max"), [(1, 1.177410), (2, 1.177410), (400, 3.461637)])
def test_defaults_by_their_formulas(d, x_max):
    """x_max = sqrt(2 log d), R = x_max b_max + sqrt(2 log(1 + n)), M = floor(0.16 log(1 + n b^2));
    at n = 128 and b = 3 the last is floor(0.16 log 1153) = floor(1.128), at n = 64 floor(1.017)."""
    p = fliphat(d, 256, sparsity=1, epsilon=1.0, delta=0.01, b_max=3.0).params
    assert p.row_clip == pytest.approx(x_max, rel=1e-6)
    assert p.reward_clip[7] == pytest.approx(3 * x_max + 3.117631, rel=1e-6)
    assert p.iterations.tolist() == [0, 0, 0, 0, 0, 0, 1, 1]
    assert (p.eta, p.l1_radius, p.gradient_clip, p.residual_clip) == (1e-4, 3.0, np.inf, np.inf)
