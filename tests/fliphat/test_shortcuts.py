"""The exact shortcuts have the law of the full simulation.

False alarms: every Kolmogorov-Smirnov test is at 1e-7, every z test at 5.5 standard errors (4e-8);
seeds are fixed.
"""

import numpy as np
import pytest
from scipy import stats as sps

from companion.baselines.random import random
from companion.fliphat import as_run
from companion.fliphat.environments import autoregressive, gaussian_statistics, margin, pad
from companion.fliphat.episodes import init
from companion.fliphat.lazy_contexts import episode_moment, fill, plan, world
from companion.fliphat.policy import fliphat
from companion.fliphat.residual import residual_fliphat
from companion.fliphat.shortcuts import (
    aggregated_is_exact,
    run_aggregated,
    run_lazy,
    simulate_sparse,
)
from companion.simulate import repetitions, stream

SIGNAL = (1.0, 0.0, 0.8, 0.0, 0.6)  # with gaps, so that bridges are drawn


def finals(policy, path, n, *, phi=0.6, rewards="gaussian", T=300, seed=1, d=30):
    env = autoregressive(3, pad(SIGNAL, d), phi=phi, rewards=rewards, noise=0.3)
    return simulate_sparse(env, [policy], T, repetitions(seed, n), path=path, grid=[128, T]).regret[
        :, 0
    ]


def one_step(d=30, T=300):
    """Learns: one step on 8 to 128 rows, little noise."""
    keys = {"b_max": 2.4, "calibration": "paper", "eta": 0.1, "iteration_rate": 0.26}
    return fliphat(d, T, sparsity=6, epsilon=1000.0, **keys)


def residual(d=30, T=300):
    """Learns, too: two steps on 16 to 128 rows."""
    keys = {"l1_radius": 2.4, "iterations": 2, "skip": 16, "eta": 0.4}
    return residual_fliphat(d, T, sparsity=6, epsilon=1000.0, **keys)


CASES = [
    ("aggregated", one_step, "gaussian", 0.6),
    ("lazy", one_step, "uniform", 0.6),
    ("lazy", residual, "gaussian", -0.5),
]


def distances(a, b):
    """(largest |z| of the means, smallest Kolmogorov-Smirnov p-value) over the columns."""
    gap = a.mean(axis=0) - b.mean(axis=0)
    se = np.sqrt(a.var(axis=0) / len(a) + b.var(axis=0) / len(b))
    return np.abs(gap / se).max(), sps.ks_2samp(a, b, axis=0).pvalue.min()


@pytest.mark.parametrize("n", [600, pytest.param(6000, marks=pytest.mark.slow)])
@pytest.mark.parametrize(("path", "make", "rewards", "phi"), CASES)
def test_paths_have_one_law(path, make, rewards, phi, n):
    fast = finals(make(), path, n, rewards=rewards, phi=phi, seed=1)
    full = finals(make(), "full", n, rewards=rewards, phi=phi, seed=2)
    z, p = distances(fast, full)
    assert z < 5.5
    assert p > 1e-7


def test_what_is_compared_has_learned():
    for make, path in ((one_step, "aggregated"), (residual, "lazy")):
        curve = finals(make(), path, 50).mean(axis=0)
        assert curve[1] - curve[0] < 0.5 * curve[0]  # rounds 129 to 300 against 1 to 128


@pytest.mark.parametrize("bound", [np.inf, 0.8])
def test_an_episode_adds_up_to_the_sum_of_its_rows(bound):
    """Its moment on every coordinate against rows drawn in full; Kolmogorov-Smirnov at 1e-7."""
    env, theta, n = autoregressive(2, [1.0, 0, 0, -0.5], phi=0.6, noise=0.4), np.zeros(4), 8
    theta[[0, 2]] = 0.7, 0.4
    w, grid, curve, moments = world(env), np.array([20]), np.zeros(1), []
    rng = np.random.default_rng(7)
    for _ in range(8000):
        moment = np.zeros(4)
        episode_moment(w, theta, False, 8, 8 + n - 1, bound, True, rng, 0.0, grid, curve, moment)
        moments.append(moment)
    X, R, _ = (np.concatenate(a) for a in zip(*env.blocks(8000 * n, rng), strict=True))
    arm, t = (X @ theta).argmax(axis=1), np.arange(len(X))
    rows = np.clip(R[t, arm], -bound, bound)[:, None] * X[t, arm]
    slow = rows.reshape(8000, n, 4).sum(axis=1)
    assert sps.ks_2samp(np.array(moments), slow, axis=0).pvalue.min() > 1e-7
    mixed = [a @ [1.0, 1.0, 1.0, -2.0] for a in (np.array(moments), slow)]
    assert sps.ks_2samp(*mixed).pvalue > 1e-7


def test_contexts_and_noise_have_streams_of_their_own(monkeypatch):
    """Of every policy, in the fast paths and in the program's runs."""
    from companion.fliphat import shortcuts

    asked = []

    def spy(seed, label):
        asked.append((seed.entropy, label))
        return stream(seed, label)

    for module in (shortcuts, as_run):
        monkeypatch.setattr(module, "stream", spy)
    env = autoregressive(3, pad(SIGNAL, 20))
    simulate_sparse(env, [one_step(20), residual(20)], 300, [3, 4])
    as_run.final_regret(env, one_step(20).renamed("as run"), 300, [3])
    assert len(asked) == len(set(asked)) == 2 * (2 * 2 + 1)


def drawn(seed, laplaces):
    """The state of a generator after so many Laplace variables, two exponentials each."""
    rng = np.random.default_rng(seed)
    rng.standard_exponential(2 * laplaces)
    return rng.bit_generator.state


def test_noise_comes_from_the_stream_of_noise_and_contexts_from_theirs():
    """Peeling 6 of 30 takes 30 + 29 + ... + 25 variables for the picks and 6 for the values; the
    program draws whole vectors in advance and only the values later."""
    env, grid, picks = autoregressive(3, pad(SIGNAL, 30)), np.array([300]), sum(range(25, 31)) + 6
    for run, make in ((run_lazy, residual), (run_aggregated, one_step), (as_run.run, one_step)):
        p = make().params
        contexts, noise = np.random.default_rng(1), np.random.default_rng(2)
        pool = [np.empty((len(p.iterations) + 6, 30))] if run is as_run.run else []
        run(p, init(p), world(env), contexts, noise, *pool, grid, np.zeros(1))
        count = p.iterations.sum() * (6 if pool else picks) + sum(a.size for a in pool)
        assert noise.bit_generator.state == drawn(2, int(count))


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


@pytest.mark.parametrize("phi", [0.0, 0.7, -0.4])
def test_filled_rows_have_the_autoregressive_covariance(phi):
    env = autoregressive(2, [0, 1.0, 0, 0, 0.5, 0, 0], phi=phi)
    w, theta, n = world(env), np.array([0, 0, 0, 0, 0, 1.0, 0]), 40_000
    m = plan(w, theta)
    assert w.revealed[:m].tolist() == [1, 4, 5]
    cov = (
        phi ** np.abs(np.subtract.outer(np.arange(7), np.arange(7)).astype(float))
        if phi
        else np.eye(7)
    )
    rng, rows = np.random.default_rng(5), np.empty((n, 7))
    rows[:, [1, 4, 5]] = rng.multivariate_normal(np.zeros(3), cov[np.ix_([1, 4, 5], [1, 4, 5])], n)
    for x in rows:
        fill(w, m, 1.0, rng, x)
    assert np.abs(rows.T @ rows / n - cov).max() < 6.5 * np.sqrt(2 / n)


def test_rows_without_anything_revealed():
    env = autoregressive(1, np.zeros(4), phi=0.5)
    w = world(env)
    assert plan(w, np.zeros(4)) == 0
    rng, rows = np.random.default_rng(6), np.empty((20_000, 4))
    for x in rows:
        fill(w, 0, 1.0, rng, x)
    cov = 0.5 ** np.abs(np.subtract.outer(np.arange(4), np.arange(4)))
    assert np.abs(rows.T @ rows / len(rows) - cov).max() < 6.5 * np.sqrt(2 / len(rows))


def test_same_seed_same_regret_in_any_number_of_threads():
    from concurrent.futures import ThreadPoolExecutor

    env, seeds = autoregressive(3, pad(SIGNAL, 20)), repetitions(1, 4)
    policies = [one_step(20), residual(20)]
    a = simulate_sparse(env, policies, 300, seeds)
    with ThreadPoolExecutor(1) as pool:
        b = simulate_sparse(env, policies, 300, seeds, pool)
    np.testing.assert_array_equal(a.regret, b.regret)
    alone = simulate_sparse(env, policies[1:], 300, seeds)
    np.testing.assert_array_equal(alone.final[:, 0], a.final[:, 1])


def test_it_takes_what_simulate_takes():
    """Integer seeds, any executor, and its refusals."""
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    env, policies = autoregressive(3, pad(SIGNAL, 20)), [one_step(20), residual(20)]
    a = simulate_sparse(env, policies, 300, [3, 4], grid=[100, 300])
    assert a.rounds.tolist() == [100, 300]
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        b = simulate_sparse(env, policies, 300, [3, 4], pool, grid=[100, 300])
        c = as_run.final_regret(env, policies[0], 300, [3, 4], pool)
    np.testing.assert_array_equal(a.regret, b.regret)
    np.testing.assert_array_equal(c, as_run.final_regret(env, policies[0], 300, [3, 4]))
    for name, change in (
        ("grid", {"grid": [200, 100]}),
        ("grid", {"grid": [0, 300]}),
        ("grid", {"grid": [301]}),
        ("grid", {"grid": [1.5, 300]}),
        ("grid", {"grid": [10**30]}),
        ("policies", {"policies": 3}),
        ("policies", {"policies": "FLIPHAT"}),
        ("seeds", {"seeds": 3}),
        ("seeds", {"seeds": [-1]}),
        ("seeds", {"seeds": []}),
        ("path", {"path": "quick"}),
    ):
        with pytest.raises(ValueError, match=name):
            simulate_sparse(**{"env": env, "policies": policies, "T": 300, "seeds": [3]} | change)


@pytest.mark.slow
def test_it_takes_a_dask_client():
    from distributed import Client, LocalCluster

    env, policies = autoregressive(3, pad(SIGNAL, 20)), [one_step(20), residual(20)]
    options = {"n_workers": 1, "threads_per_worker": 1, "dashboard_address": None}
    with LocalCluster(**options) as cluster, Client(cluster) as client:
        a = simulate_sparse(env, policies, 300, [3, 4], client)
    np.testing.assert_array_equal(a.regret, simulate_sparse(env, policies, 300, [3, 4]).regret)


def test_nothing_indexes_memory_unchecked():
    """The program's runs refuse what would read beyond a policy's arrays."""
    env, seeds = autoregressive(3, pad(SIGNAL, 30)), [1]
    with pytest.raises(ValueError, match="T must be at most the horizon T=300"):
        as_run.final_regret(env, one_step(), 20_000, seeds)
    with pytest.raises(ValueError, match=r"policies .* d=31"):
        as_run.final_regret(autoregressive(3, pad(SIGNAL, 31)), one_step(), 300, seeds)
    with pytest.raises(ValueError, match="env"):
        as_run.final_regret(margin([1.0], gap=1.0, alpha=1.0), one_step(), 300, seeds)


def test_the_cheap_path_is_refused_where_it_is_not_exact():
    env, seeds = autoregressive(3, pad(SIGNAL, 30)), repetitions(1, 1)
    assert aggregated_is_exact(one_step())
    corrected = fliphat(30, 300, sparsity=6, epsilon=8.0, b_max=2.4)  # clips contexts
    deep = fliphat(
        30, 300, sparsity=6, epsilon=8.0, b_max=2.4, calibration="paper", iteration_rate=1.0
    )
    for policy in (corrected, deep, residual()):
        assert not aggregated_is_exact(policy)
        with pytest.raises(ValueError, match="aggregation"):
            simulate_sparse(env, [policy], 300, seeds, path="aggregated")
    p, clips = one_step().params, ("row_clip", "gradient_clip", "residual_clip")
    changes = [{"iterations": 2 * p.iterations}, {"warm": True}, {"forget": False}]
    for change in [*changes, *({name: 1.0} for name in clips)]:
        assert not aggregated_is_exact(one_step()._replace(params=p._replace(**change)))
    with pytest.raises(ValueError, match="policies"):
        simulate_sparse(env, [random()], 300, seeds)
    with pytest.raises(ValueError, match="env"):
        simulate_sparse(margin([1.0], gap=1.0, alpha=1.0), [one_step()], 300, seeds)
    with pytest.raises(ValueError, match="T"):
        simulate_sparse(env, [one_step()], 301, seeds)


@pytest.mark.filterwarnings("ignore:FLIPHAT cannot learn")
def test_no_regret_with_one_arm_or_no_signal():
    T, seeds = 100, repetitions(1, 2)
    policy = fliphat(10, T, sparsity=2, epsilon=1.0, b_max=1.0, calibration="paper")
    for env in (autoregressive(1, pad(SIGNAL, 10)), autoregressive(3, np.zeros(10))):
        for path in ("lazy", "aggregated", "full"):
            assert not simulate_sparse(env, [policy], T, seeds, path=path).regret.any()


@pytest.mark.parametrize(("rewards", "law"), [("gaussian", "norm"), ("uniform", "uniform")])
def test_errors_have_the_prescribed_law(rewards, law):
    """20000 reward errors of size 0.3; Kolmogorov-Smirnov at 1e-7."""
    env = autoregressive(2, [1.0, 0.5], rewards=rewards, noise=0.3)
    blocks = env.blocks(10_000, np.random.default_rng(8))
    _, R, mu = (np.concatenate(part) for part in zip(*blocks, strict=True))
    args = (0.0, 0.3) if law == "norm" else (-0.3, 0.6)
    assert sps.kstest((R - mu).ravel(), law, args=args).pvalue > 1e-7


def test_margin_world_has_the_prescribed_gaps():
    """50000 gaps against their law, Kolmogorov-Smirnov at 1e-7."""
    for alpha in (0.5, 1.0, np.inf):
        env = margin([0.6, 0.0, -0.8, 0.0], gap=0.3, alpha=alpha)
        X, R, mu = (
            np.concatenate(part)
            for part in zip(*env.blocks(50_000, np.random.default_rng(7)), strict=True)
        )
        gaps = np.abs(mu[:, 0] - mu[:, 1])
        if alpha == np.inf:
            np.testing.assert_allclose(gaps, 0.3, atol=1e-12)
        else:
            assert sps.kstest((gaps / 0.3) ** alpha, "uniform").pvalue > 1e-7
        np.testing.assert_allclose(mu, X @ env.beta, atol=1e-12)
        assert (R - mu).std() == pytest.approx(0.5, rel=0.02)


@pytest.mark.slow
def test_published_regret():
    """200 runs against an independent implementation's means and standard errors (400 runs): 5
    standard errors.
    """
    signal = [0.7484285, 0.6370087, 0.63445336, 0.6964115, 0.7199168]
    env = autoregressive(3, pad(signal, 400))
    make = [
        fliphat(
            400, 20_000, sparsity=10, epsilon=e, b_max=sum(signal), calibration="paper"
        ).renamed(str(e))
        for e in (1, 5)
    ]
    result = simulate_sparse(env, make, 20_000, repetitions(8, 200), grid=[5000, 10_000, 20_000])
    mean, se = result.regret.mean(axis=0), result.regret.std(axis=0) / np.sqrt(200)
    expected = np.array([[5002, 5496, 5639], [1218, 1255, 1311.0]])
    error = np.array([[34, 42, 42], [11, 11, 11.0]])
    assert (np.abs(mean - expected) < 5 * np.hypot(se, error)).all()


def test_statistics_have_the_law_of_the_rows():
    """Entries of X'X and X'y, 4000 draws each way; Kolmogorov-Smirnov at 1e-7."""
    rng, beta, n = np.random.default_rng(9), np.array([1.0, -0.5, 0.0]), 4
    fast, slow = [], []
    for _ in range(4000):
        G, c = gaussian_statistics(rng, n, beta, 0.7)
        fast.append([*G[np.triu_indices(3)], *c])
        X = rng.standard_normal((n, 3))
        G, c = X.T @ X, X.T @ (X @ beta + 0.7 * rng.standard_normal(n))
        slow.append([*G[np.triu_indices(3)], *c])
    for a, b in zip(np.array(fast).T, np.array(slow).T, strict=True):
        assert sps.ks_2samp(a, b).pvalue > 1e-7


def test_reused_noise_changes_nothing_before_the_second_release():
    """Same law while one release is in use; later picks come back.  z at 5.5 standard errors."""
    env = autoregressive(3, pad(SIGNAL, 30), phi=0.6)
    policy = one_step(T=255)
    assert policy.params.iterations[-1] == 1
    policy.params.iterations[:-1] = 0  # a single step, before round 128
    fresh = simulate_sparse(env, [policy], 255, repetitions(1, 2000), path="aggregated").final[:, 0]
    reused = as_run.final_regret(env, policy, 255, repetitions(2, 2000))
    z, p = distances(fresh[:, None], reused[:, None])
    assert z < 5.5
    assert p > 1e-7
    with pytest.raises(ValueError, match="policy"):
        as_run.final_regret(env, residual(), 255, repetitions(2, 2))
