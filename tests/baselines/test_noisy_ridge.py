"""What the private LinUCBs share: ridge regression on noisy statistics, guarantees, refusals."""

import numpy as np
import pytest
from noisy_statistics import one_arm
from streams import NO_BUDGETS, run, stream

from companion.accounting import privacy
from companion.baselines import noisy_ridge
from companion.baselines.linucb import linucb, theorem_radius
from companion.baselines.private_linucb import jdp_linucb, ldp_linucb, sdp_linucb


@pytest.mark.parametrize("make", [ldp_linucb, jdp_linucb])
def test_without_privacy_it_is_linucb(make):
    X, R, _ = stream()
    policy = make(3, 400, np.inf)
    arms, _ = run(policy, X, R)
    assert policy.guarantee.model == "none"
    assert np.array_equal(arms, run(linucb(3, noise=0.5, failure=1 / 401), X, R)[0])


@pytest.mark.parametrize(
    ("policy", "sigma"),
    [
        (
            ldp_linucb(5, 100, epsilon=0.5, delta=0.1, calibration="paper"),
            17.9803577960,
        ),  # 4 sqrt(2 ln 12.5)/eps
        (
            jdp_linucb(5, 400, epsilon=0.5, delta=0.1, calibration="paper"),
            28.6065740821,
        ),  # 9 levels, sqrt(4.5)
    ],
)
def test_printed_noise_by_hand(policy, sigma):
    assert policy.params.sigma == pytest.approx(sigma, 1e-10)


@pytest.mark.parametrize("make", [ldp_linucb, jdp_linucb])
@pytest.mark.parametrize(("epsilon", "honest"), [(0.5, True), (20.0, False)])
def test_guarantee_is_computed_from_the_noise(make, epsilon, honest):
    own, paper = (make(3, 400, epsilon, calibration=c) for c in ("corrected", "paper"))
    assert own.guarantee.epsilon == pytest.approx(epsilon, rel=1e-9)
    assert own.guarantee.claimed is None
    assert paper.guarantee.claimed == (epsilon, 0.1)
    sensitivity = np.sqrt(4.5) * (3.0 if make is jdp_linucb else 1.0)  # 9 levels for 400 rounds
    for policy in (own, paper):
        again = privacy.gaussian_epsilon(0.1, policy.params.sigma, sensitivity)
        assert policy.guarantee.epsilon == pytest.approx(again)
    if make is jdp_linucb:  # the classical formula at the right sensitivity: wasteful, then false
        assert (paper.guarantee.epsilon <= epsilon) == honest
    else:  # four times the sensitivity 1: enough noise even at epsilon = 20
        assert paper.guarantee.epsilon <= epsilon


@pytest.mark.parametrize("make", [ldp_linucb, jdp_linucb, sdp_linucb])
@pytest.mark.parametrize(
    ("name", "value"),
    [
        *NO_BUDGETS,
        ("ridge", 0.0),
        ("shift", -1.0),
        ("noise", -1.0),
        ("theta_bound", np.nan),
        ("failure", 0.0),
        ("width", -1.0),
        ("calibration", "none"),
        ("universe", "cube"),
    ],
)
def test_rejects_bad_input_by_name(make, name, value):
    with pytest.raises(ValueError, match=f"{name}={value!r}"):
        make(**{"d": 3, "T": 400, "epsilon": 1.0, name: value})


def test_a_matrix_without_inverse_leaves_the_last_model():
    p = ldp_linucb(3, 400, epsilon=np.inf, delta=0.1).params
    m, G, b = noisy_ridge.init_model(p), np.eye(3), np.ones(3)
    noisy_ridge.refit(p, m, 1, 0.0, G, b)
    before = [a.copy() for a in m[:3]]
    noisy_ridge.refit(p, m, 2, 0.0, -np.eye(3) * p.ridge, 2 * b)
    assert all(map(np.array_equal, before, m[:3]))
    noisy_ridge.refit(p, m, 3, 0.0, G, 2 * b)
    assert np.array_equal(m.theta, 2 * before[1])


@pytest.mark.parametrize("make", [ldp_linucb, jdp_linucb, sdp_linucb])
def test_options_that_do_not_exist_are_refused(make):
    with pytest.raises(TypeError, match="widht"):
        make(3, 400, 1.0, widht=1.0)


@pytest.mark.parametrize(
    ("make", "options", "rows"),  # rows whose noise the ridge must outweigh, in units of d
    [
        (ldp_linucb, {}, 60),
        (jdp_linucb, {}, 6 / 2),  # 6 levels for 60 rounds
        (sdp_linucb, {}, 60),
        (sdp_linucb, {"protocol": "amplification"}, 60),
    ],
)
def test_model_is_ridge_regression_at_the_documented_ridge(make, options, rows):
    """lambda = 1 + shift sigma sqrt(d rows); its radius is LinUCB's at that lambda."""
    X, R, _, _ = one_arm(60)
    policy = make(3, 60, 5.0, shift=0.3, width=0.7, **options)
    q, s = getattr(policy.params, "statistics", policy.params), run(policy, X, R)[1]
    ridge = 1.0 + 0.3 * q.sigma * np.sqrt(3 * rows)
    A = s.G + ridge * np.eye(3)
    np.testing.assert_allclose(s.model.V_inv @ A, np.eye(3), atol=1e-9)
    np.testing.assert_allclose(A @ s.model.theta, s.b, atol=1e-9 * np.abs(s.b).max())
    expected = 0.7 * theorem_radius(3, 60, ridge, 0.5, 1.0, 1 / 61)
    assert s.model.radius[0] == pytest.approx(expected)
