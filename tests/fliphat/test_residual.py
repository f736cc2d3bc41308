"""Residual FLIPHAT: its defaults, bounds and refusals."""

import numpy as np
import pytest
from scipy import stats as sps
from sparse_streams import run, stream

from companion.fliphat.accounting import exact_factor
from companion.fliphat.residual import residual_fliphat


def test_contexts_beyond_the_bound_of_the_gradient_are_counted_too():
    X, R = stream(60, 3)
    policy = residual_fliphat(3, 64, sparsity=1, epsilon=1.0, delta=0.01, x_clip=10.0)
    X[31:60:7, :, 2] = 50.0
    state = run(policy, X, R)[1]
    assert state.clipped == 5
    assert np.abs(state.X).max() == 50.0  # they are clipped in the gradient alone


def test_arms_are_drawn_at_random_until_there_is_an_estimate():
    """400 arms of four; Pearson's test at 1e-7."""
    X, R = stream(400, 3, K=4)
    arms = run(residual_fliphat(3, 1024, sparsity=1, epsilon=1.0, delta=0.01, skip=512), X, R)[0]
    assert sps.chisquare(np.bincount(arms, minlength=4)).pvalue > 1e-7


def test_fresh_noise_in_every_release():
    """With zero data the estimate is the noise: no two releases (or picks) may share it."""
    policy = residual_fliphat(2, 2**12, sparsity=2, epsilon=1.0, delta=0.01, skip=0, iterations=1)
    state, rng, noises = policy.init(policy.params), np.random.default_rng(0), []
    for t in range(1, 2**12):
        state = policy.update(policy.params, state, 0, np.zeros(2), 0.0, rng)
        if (t + 1) & t == 0:
            noises.append(state.theta_hat / policy.params.xi_first[len(noises)])
    assert len(np.unique(np.round(noises, 9))) == 2 * 12


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


def test_defaults_of_the_residual_variant():
    """Bounds 1 and 1, three steps of size 1 from zero, no projection, from 32 rows on."""
    p = residual_fliphat(5, 128, sparsity=2, epsilon=1.5, delta=0.02).params
    assert (p.gradient_clip, p.residual_clip, p.eta, p.l1_radius) == (1.0, 1.0, 1.0, np.inf)
    assert p.iterations.tolist() == [0] * 5 + [3, 3]
    assert (p.warm, p.forget) == (False, True)
    factor = exact_factor(6, 1.5, 0.02)
    assert p.xi_first == pytest.approx(4 / 2.0 ** np.arange(7) * factor)


def test_rows_that_are_kept_pay_for_all_their_releases():
    """Two of seven releases take steps, on 63 and on 127 rows: 2 x 3 x 2 picks."""
    p = residual_fliphat(5, 128, sparsity=2, epsilon=1.5, delta=0.02, forget=False).params
    assert (p.iterations > 0).sum() == 2
    assert p.xi_first[-1] == pytest.approx(4 / 127 * exact_factor(12, 1.5, 0.02))
