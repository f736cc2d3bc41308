"""The exact simulation of one-step FLIPHAT has the law of the full one.

False alarms: Kolmogorov-Smirnov tests are at 1e-7, z tests at 5.5 standard errors; fixed seeds.
"""

import numpy as np
import pytest
from scipy import stats as sps

from companion.environments import sphere
from companion.fliphat.environments import autoregressive, pad
from companion.fliphat.exact_simulation import simulate_one_step, step_with_noise
from companion.fliphat.fliphat import fliphat, init, residual_fliphat
from companion.simulate import repetitions, simulate

SIGNAL = (1.0, 0.0, 0.8, 0.0, 0.6)


def one_step(d=30, T=300, **changes):
    """Learns: one step on 8 to 128 rows, little noise."""
    keys = {"b_max": 2.4, "calibration": "paper", "eta": 0.1, "iteration_rate": 0.26}
    return fliphat(d, T, **keys | {"sparsity": 6, "epsilon": 1000.0, "delta": 0.01} | changes)


@pytest.mark.parametrize("n", [600, pytest.param(10_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize(("rewards", "phi"), [("gaussian", 0.6), ("uniform", -0.5)])
def test_it_has_the_law_of_simulate(rewards, phi, n):
    env = autoregressive(3, pad(SIGNAL, 30), phi=phi, rewards=rewards, noise=0.3)
    a, b = (
        f(env, [one_step()], 300, repetitions(seed, n), grid=[128, 300]).regret[:, 0]
        for seed, f in enumerate((simulate, simulate_one_step))
    )
    se = np.sqrt(a.var(axis=0) / n + b.var(axis=0) / n)
    assert (np.abs(a.mean(axis=0) - b.mean(axis=0)) < 5.5 * se).all()
    assert sps.ks_2samp(a, b, axis=0).pvalue.min() > 1e-7
    early, all_ = b.mean(axis=0)
    assert all_ - early < 0.5 * early  # it has learned: rounds 129 to 300 against 1 to 128


def test_reused_noise_comes_back_one_place_later():
    """With no data a pick is the argmax of its unit noise; values have fresh noise.  With a single
    release nothing can come back: the law is that of fresh noise."""
    p = one_step()._replace().params._replace(l1_radius=np.inf)
    s, rng = init(p, 0), np.random.default_rng(2)
    pool = np.random.default_rng(1).laplace(size=(12, p.d))
    for episode in (3, 4, 5):
        s.theta_hat[:] = s.moment[:] = 0.0
        step_with_noise(p, s, episode, 1 << episode, pool[episode:], rng)
        left = np.ones(p.d, bool)
        for k, pick in enumerate(s.picks):
            assert pick == np.where(left, pool[episode + k], -np.inf).argmax()
            left[pick] = False
        assert len(np.unique(s.theta_hat)) == 7
    env, single = autoregressive(3, pad(SIGNAL, 30), phi=0.6), one_step(T=255)
    single.params.iterations[:-1] = 0  # a single step, before round 128
    fresh = simulate_one_step(env, [single], 255, repetitions(1, 1000)).final[:, 0]
    again = simulate_one_step(env, [single], 255, repetitions(2, 1000), reuse_noise=True)
    assert sps.ks_2samp(fresh, again.final[:, 0]).pvalue > 1e-7


def test_policies_have_streams_of_their_own():
    env, seeds = autoregressive(3, pad(SIGNAL, 20)), [3, 4]
    policies = [one_step(20), one_step(20).renamed("other")]
    both = simulate_one_step(env, policies, 300, seeds, grid=[100, 300])
    assert both.rounds.tolist() == [100, 300]
    alone = simulate_one_step(env, policies[1:], 300, seeds, grid=[100, 300])
    np.testing.assert_array_equal(alone.regret[:, 0], both.regret[:, 1])
    assert len(np.unique(both.final)) == 4


def test_it_is_refused_where_it_is_not_exact():
    env, p = autoregressive(3, pad(SIGNAL, 30)), one_step().params
    changes = [{"iterations": 2 * p.iterations}, {"warm": True}, {"forget": False}]
    changes += [{name: 1.0} for name in ("row_clip", "gradient_clip", "residual_clip")]
    bad = [one_step()._replace(params=p._replace(**change)) for change in changes]
    residual = residual_fliphat(30, 300, sparsity=6, epsilon=1.0, delta=0.01, iterations=1)
    for policy in [*bad, residual, one_step(31)]:
        with pytest.raises(ValueError, match="policies must be FLIPHAT"):
            simulate_one_step(env, [policy], 300, [1])
    for name, change in (
        ("env", {"env": sphere(3, 30)}),
        ("T", {"T": 301}),
        ("seeds", {"seeds": []}),
    ):
        with pytest.raises(ValueError, match=name):
            simulate_one_step(
                **{"env": env, "policies": [one_step()], "T": 300, "seeds": [1]} | change
            )
