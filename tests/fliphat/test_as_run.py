"""The program's noise comes back one place later."""

import numpy as np
import pytest

from companion.fliphat import as_run
from companion.fliphat.environments import autoregressive, pad
from companion.fliphat.episodes import init
from companion.fliphat.policy import fliphat
from companion.fliphat.shortcuts import simulate_sparse


def one_step():
    """One step on 8 to 128 rows."""
    keys = {"b_max": 2.4, "calibration": "paper", "eta": 0.1, "iteration_rate": 0.26}
    return fliphat(30, 300, sparsity=6, epsilon=1000.0, **keys)


def test_the_program_draws_its_noise_again_one_place_later():
    """With no data a pick is the argmax of its unit noise: pick i of one release is pick i - 1 of
    the next; the released values have fresh noise of the release's scale."""
    p, rng, probe = one_step().params, np.random.default_rng(1), np.random.default_rng(2)
    s, pool = init(p._replace(l1_radius=np.inf)), rng.laplace(size=(12, p.d))
    rng = np.random.default_rng(2)
    for episode in (3, 4, 5):
        s.work.moment[:] = 0.0
        as_run.release(p._replace(l1_radius=np.inf), s, 1 << episode, episode, rng, pool)
        left = np.ones(p.d, bool)
        for k, pick in enumerate(s.picks):
            assert pick == np.where(left, pool[episode + k], -np.inf).argmax()
            left[pick] = False
            fresh = probe.standard_exponential() - probe.standard_exponential()
            assert s.theta_hat[pick] == pytest.approx(p.xi_first[episode] * fresh)
    radius = np.abs(s.theta_hat).sum() / 2
    as_run.release(p._replace(l1_radius=radius), s, 32, 5, np.random.default_rng(2), pool)
    assert np.abs(s.theta_hat).sum() <= radius * (1 + 1e-12)


def test_one_step_by_hand():
    """Without noise a release is the two largest entries of 2 eta/n times the moment."""
    p = one_step().params._replace(l1_radius=np.inf, sparsity=2, d=3, eta=0.25)
    p = p._replace(xi_first=np.zeros(8))
    s = init(p)
    s.work.moment[:] = 8.0, -32.0, 16.0
    size = as_run.release(p, s, 16, 4, np.random.default_rng(1), np.ones((6, 3)))
    assert size == 2
    assert s.theta_hat.tolist() == [0.0, -1.0, 0.5]  # 2 (1/4)/16 = 1/32


def test_without_noise_the_program_is_the_algorithm():
    """Same contexts, same releases, round by round."""
    keys = {"b_max": 2.4, "calibration": "paper", "eta": 2.0, "iteration_rate": 0.26}
    policy = fliphat(30, 300, sparsity=6, epsilon=np.inf, **keys)  # so large a step is projected
    env = autoregressive(3, pad((1.0, 0.0, 0.8), 30), phi=0.6, noise=0.3)
    ours = simulate_sparse(env, [policy], 300, [1, 2]).final[:, 0]
    np.testing.assert_array_equal(as_run.final_regret(env, policy, 300, [1, 2]), ours)
    assert ours.std() > 0
