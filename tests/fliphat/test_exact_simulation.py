"""FLIPHAT's worlds, and the exact simulation of one step, have the laws that they
promise.

False alarms: Kolmogorov-Smirnov tests are at 1e-7, z tests at 5.5 standard errors; fixed
seeds.
"""

import numpy as np
import pytest
from scipy import stats as sps
from streams import rounds

from companion.environments import sphere
from companion.fliphat.environments import (
    autoregressive,
    gaussian_statistics,
    margin,
    pad,
)
from companion.fliphat.exact_simulation import (
    simulate_one_step,
    step_with_unit_noise,
)
from companion.fliphat.fliphat import fliphat, init
from companion.simulate import repetitions, simulate

SIGNAL = (1.0, 0.0, 0.8, 0.0, 0.6)


def one_step(d=30, T=300):
    """Learns: one step on 8 to 128 rows, little noise."""
    return fliphat(
        d,
        T,
        sparsity=6,
        epsilon=1000.0,
        delta=0.01,
        b_max=2.4,
        eta=0.1,
        iteration_rate=0.26,
        calibration="paper",
    )


@pytest.mark.parametrize("n", [600, pytest.param(10_000, marks=pytest.mark.nightly)])
@pytest.mark.parametrize(("rewards", "phi"), [("gaussian", 0.6), ("uniform", -0.5)])
def test_it_has_the_law_of_simulate(rewards, phi, n):
    env = autoregressive(3, pad(SIGNAL, 30), phi=phi, rewards=rewards, noise=0.3)
    slow = simulate(env, [one_step()], 300, repetitions(0, n), grid=[128, 300])
    fast = simulate_one_step(env, [one_step()], 300, repetitions(1, n), grid=[128, 300])
    a = slow.regret[:, 0]
    b = fast.regret[:, 0]
    se = np.sqrt(a.var(axis=0) / n + b.var(axis=0) / n)
    assert (np.abs(a.mean(axis=0) - b.mean(axis=0)) < 5.5 * se).all()
    assert sps.ks_2samp(a, b, axis=0).pvalue.min() > 1e-7
    early, all_ = b.mean(axis=0)
    # it has learned: rounds 129 to 300 against 1 to 128
    assert all_ - early < 0.5 * early


def test_reused_noise_comes_back_one_place_later():
    """With no data a pick is the argmax of its unit noise; values have fresh noise.  With
    a single release nothing can come back: the law is that of fresh noise."""
    p = one_step().params._replace(l1_radius=np.inf)
    s = init(p, 0)
    rng = np.random.default_rng(2)
    pool = np.random.default_rng(1).laplace(size=(12, p.d))
    for episode in (3, 4, 5):
        s.theta_hat[:] = s.moment[:] = 0.0
        step_with_unit_noise(p, s, episode, 1 << episode, pool[episode:], rng)
        left = np.ones(p.d, bool)
        for k, pick in enumerate(s.picks):
            assert pick == np.where(left, pool[episode + k], -np.inf).argmax()
            left[pick] = False
        assert len(np.unique(s.theta_hat)) == 7
    env = autoregressive(3, pad(SIGNAL, 30), phi=0.6)
    single = one_step(T=255)
    single.params.iterations[:-1] = 0  # a single step, before round 128
    fresh = simulate_one_step(env, [single], 255, repetitions(1, 1000)).final[:, 0]
    again = simulate_one_step(env, [single], 255, repetitions(2, 1000), reuse_noise=True)
    assert sps.ks_2samp(fresh, again.final[:, 0]).pvalue > 1e-7


def test_it_is_refused_where_it_is_not_exact():
    env = autoregressive(3, pad(SIGNAL, 30))
    p = one_step().params
    changes = [
        {"iterations": 2 * p.iterations},
        {"warm_start": True},
        {"forget": False},
        {"row_clip": 1.0},
        {"gradient_clip": 1.0},
        {"residual_clip": 1.0},
    ]
    policies = [one_step(31)]
    for change in changes:
        policies.append(one_step()._replace(params=p._replace(**change)))
    for policy in policies:
        with pytest.raises(ValueError, match="policies must be FLIPHAT"):
            simulate_one_step(env, [policy], 300, [1])
    with pytest.raises(ValueError, match="env must be"):
        simulate_one_step(sphere(3, 30), [one_step()], 300, [1])


def test_margin_world_has_the_prescribed_gaps():
    """8192 gaps against their law, Kolmogorov-Smirnov at 1e-7."""
    for alpha in (0.5, 1.0, np.inf):
        env = margin([0.6, 0.0, -0.8, 0.0], gap=0.3, alpha=alpha)
        X, R, mu = rounds(env, 8192, 7)
        gaps = np.abs(mu[:, 0] - mu[:, 1])
        if alpha == np.inf:
            np.testing.assert_allclose(gaps, 0.3, atol=1e-12)
        else:
            assert sps.kstest((gaps / 0.3) ** alpha, "uniform").pvalue > 1e-7
        np.testing.assert_allclose(mu, X @ env.beta, atol=1e-12)
        assert (R - mu).std() == pytest.approx(0.5, rel=0.035)


def test_statistics_have_the_law_of_the_rows():
    """Entries of X'X and X'y, 4000 draws each way; Kolmogorov-Smirnov at 1e-7."""
    rng = np.random.default_rng(9)
    beta = np.array([1.0, -0.5, 0.0])
    n = 4
    fast = []
    slow = []
    for _ in range(4000):
        G, c = gaussian_statistics(rng, n, beta, 0.7)
        fast.append([*G[np.triu_indices(3)], *c])
        X = rng.standard_normal((n, 3))
        G = X.T @ X
        c = X.T @ (X @ beta + 0.7 * rng.standard_normal(n))
        slow.append([*G[np.triu_indices(3)], *c])
    for a, b in zip(np.array(fast).T, np.array(slow).T, strict=True):
        assert sps.ks_2samp(a, b).pvalue > 1e-7
