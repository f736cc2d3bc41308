"""The exact shortcuts have the law of the full simulation.

False alarms: every Kolmogorov-Smirnov test is at 1e-7, every z test at 5.5 standard errors (4e-8);
seeds are fixed.
"""

import numpy as np
import pytest
from sparse_streams import distances

from companion.baselines.lasso_bandit import lasso_bandit
from companion.baselines.random import random
from companion.environments import sphere
from companion.fliphat import as_run
from companion.fliphat.environments import autoregressive, pad
from companion.fliphat.episodes import init
from companion.fliphat.policy import fliphat
from companion.fliphat.residual import residual_fliphat
from companion.fliphat.shortcuts import (
    aggregated_is_exact,
    run_lazy,
    run_scores,
    simulate_sparse,
)
from companion.fliphat.two_scores import Part, scored
from companion.simulate import repetitions, stream

SIGNAL = (1.0, 0.0, 0.8, 0.0, 0.6)


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


def lasso(d=30, T=300):
    """Learns, and refits in rounds that begin no episode."""
    return lasso_bandit(d, T, penalty=0.1, every=20)


CASES = [
    ("lazy", lasso, "gaussian", 0.6),
    ("lazy", lasso, "uniform", -0.5),
    ("scores", lasso, "gaussian", -0.5),
    ("scores", lasso, "uniform", 0.6),
    ("scores", one_step, "gaussian", 0.6),
    ("scores", one_step, "uniform", -0.5),
    ("lazy", one_step, "uniform", 0.6),
    ("lazy", residual, "gaussian", -0.5),
]


@pytest.mark.parametrize("n", [600, pytest.param(10_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize(("path", "make", "rewards", "phi"), CASES)
def test_paths_have_one_law(path, make, rewards, phi, n):
    fast = finals(make(), path, n, rewards=rewards, phi=phi, seed=1)
    full = finals(make(), "full", n, rewards=rewards, phi=phi, seed=2)
    z, p = distances(fast, full)
    assert z < 5.5
    assert p > 1e-7


def test_what_is_compared_has_learned():
    cases = (one_step, "scores"), (residual, "lazy"), (lasso, "lazy"), (lasso, "scores")
    for make, path in cases:
        curve = finals(make(), path, 50).mean(axis=0)
        assert curve[1] - curve[0] < 0.5 * curve[0]  # rounds 129 to 300 against 1 to 128


def test_contexts_and_noise_have_streams_of_their_own(monkeypatch):
    """Of every policy, in the fast paths and in the program's runs, and shared rows have theirs."""
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
    assert len(asked) == len(set(asked)) == 2 * (2 * 2 + 1) + 2


def drawn(seed, laplaces):
    """The state of a generator after so many Laplace variables, two exponentials each."""
    rng = np.random.default_rng(seed)
    rng.standard_exponential(2 * laplaces)
    return rng.bit_generator.state


def episodes_lazily(p, s, w, rng, noise_rng, grid, regret):
    """`run_lazy` to round 300."""
    Z = np.random.default_rng(3).standard_normal((256, p.d))
    for episode in range(9):
        s = run_lazy(p, s, w, Part(1 << episode, Z, grid, regret), rng, noise_rng)


def test_noise_comes_from_the_stream_of_noise_and_contexts_from_theirs():
    """Peeling 6 of 10, so few that `lazy_peel` is `peel`, takes 10 + 9 + ... + 5 variables for the
    picks and 6 for the values; the program draws whole vectors in advance and only the values
    later."""
    env, grid, picks = autoregressive(3, pad(SIGNAL, 10)), np.array([300]), sum(range(5, 11)) + 6
    for run, make in (
        (episodes_lazily, residual),
        (run_scores, one_step),
        (as_run.run, one_step),
    ):
        p = make(10).params
        contexts, noise = np.random.default_rng(1), np.random.default_rng(2)
        pool = [np.empty((len(p.iterations) + 6, 10))] if run is as_run.run else []
        run(p, init(p), scored(env), contexts, noise, *pool, grid, np.zeros(1))
        count = p.iterations.sum() * (6 if pool else picks) + sum(a.size for a in pool)
        assert noise.bit_generator.state == drawn(2, int(count))


def test_policies_share_the_rows_that_they_store_and_no_scores(monkeypatch):
    """One row of d normals a stored round for all policies of a call, and each policy's result is
    what it is alone: also beside one that keeps its rows, or one of another horizon."""
    from companion.fliphat import shortcuts

    env, counts, seed = autoregressive(3, pad(SIGNAL, 20)), [], repetitions(1, 1)
    keeps, other = (
        residual_fliphat(20, 300, sparsity=6, epsilon=e, delta=0.01, forget=False).renamed(
            f"keeps, {e}"
        )
        for e in (10.0, 100.0)
    )
    longer = residual(20, 600).renamed("longer")
    draw = shortcuts.draw_rows
    monkeypatch.setattr(
        shortcuts, "draw_rows", lambda phi, rng, Z: (counts.append(Z.size), draw(phi, rng, Z))
    )
    together = simulate_sparse(env, [residual(20), keeps], 300, seed)
    assert sum(counts) == 255 * 20
    everything = [longer, residual(20), keeps, other, lasso(20)]
    mixed = simulate_sparse(env, everything, 300, seed)
    assert sum(counts) == 255 * 20 + 300 * 20
    for policy in everything:
        alone = simulate_sparse(env, [policy], 300, seed)
        for result in (together, mixed):
            if policy.name in result.names:
                np.testing.assert_array_equal(alone.regret[:, 0], result.of(policy.name))


def test_the_scores_path_draws_two_normals_an_arm():
    """And one reward in every round, a row in every episode that is released, an arm at random
    while nothing is known."""
    env, p = autoregressive(3, pad(SIGNAL, 30), noise=0.3), one_step().params
    used, counted = np.random.default_rng(1), np.random.default_rng(1)
    run_scores(
        p, init(p), scored(env), used, np.random.default_rng(2), np.array([300]), np.zeros(1)
    )
    for episode in range(9):
        for _ in range(min(1 << episode, 300 - (1 << episode) + 1)):
            if episode == 0 or p.iterations[episode - 1] == 0:
                counted.integers(0, 3)
            counted.standard_normal(2 * 3 + 1)
        counted.standard_normal(30 if episode < 8 else 0)
    assert used.bit_generator.state == counted.bit_generator.state


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
        as_run.final_regret(sphere(3, 30), one_step(), 300, seeds)


def test_the_cheap_path_is_refused_where_it_is_not_exact():
    env, seeds = autoregressive(3, pad(SIGNAL, 30)), repetitions(1, 1)
    assert aggregated_is_exact(one_step())
    corrected = fliphat(30, 300, sparsity=6, epsilon=8.0, delta=0.01, b_max=2.4)  # clips contexts
    deep = fliphat(
        30,
        300,
        sparsity=6,
        epsilon=8.0,
        delta=0.01,
        b_max=2.4,
        calibration="paper",
        iteration_rate=1.0,
    )
    often = lasso_bandit(30, 300, penalty=0.1)
    for policy in (corrected, deep, residual(), often):
        assert not aggregated_is_exact(policy)
        with pytest.raises(ValueError, match="aggregation"):
            simulate_sparse(env, [policy], 300, seeds, path="scores")
    p, clips = one_step().params, ("row_clip", "gradient_clip", "residual_clip")
    changes = [{"iterations": 2 * p.iterations}, {"warm": True}, {"forget": False}]
    for change in [*changes, *({name: 1.0} for name in clips)]:
        assert not aggregated_is_exact(one_step()._replace(params=p._replace(**change)))
    with pytest.raises(ValueError, match="policies"):
        simulate_sparse(env, [random()], 300, seeds)
    with pytest.raises(ValueError, match="env"):
        simulate_sparse(sphere(3, 30), [one_step()], 300, seeds)
    with pytest.raises(ValueError, match="T"):
        simulate_sparse(env, [one_step()], 301, seeds)


@pytest.mark.filterwarnings("ignore:FLIPHAT cannot learn")
def test_no_regret_with_one_arm_or_no_signal():
    T, seeds = 100, repetitions(1, 2)
    policy = fliphat(10, T, sparsity=2, epsilon=1.0, delta=0.01, b_max=1.0, calibration="paper")
    for env in (autoregressive(1, pad(SIGNAL, 10)), autoregressive(3, np.zeros(10))):
        for path in ("lazy", "scores", "full"):
            assert not simulate_sparse(env, [policy], T, seeds, path=path).regret.any()


@pytest.mark.slow
def test_published_regret():
    """200 runs against an independent implementation's means and standard errors (400 runs): 5
    standard errors.
    """
    signal = [0.7484285, 0.6370087, 0.63445336, 0.6964115, 0.7199168]
    env = autoregressive(3, pad(signal, 400))
    make = [
        fliphat(
            400, 20_000, sparsity=10, epsilon=e, delta=0.01, b_max=sum(signal), calibration="paper"
        ).renamed(str(e))
        for e in (1, 5)
    ]
    result = simulate_sparse(env, make, 20_000, repetitions(8, 200), grid=[5000, 10_000, 20_000])
    mean, se = result.regret.mean(axis=0), result.regret.std(axis=0) / np.sqrt(200)
    expected = np.array([[5002, 5496, 5639], [1218, 1255, 1311.0]])
    error = np.array([[34, 42, 42], [11, 11, 11.0]])
    assert (np.abs(mean - expected) < 5 * np.hypot(se, error)).all()


def test_reused_noise_changes_nothing_before_the_second_release():
    """Same law while one release is in use; later picks come back.  z at 5.5 standard errors."""
    env = autoregressive(3, pad(SIGNAL, 30), phi=0.6)
    policy = one_step(T=255)
    assert policy.params.iterations[-1] == 1
    policy.params.iterations[:-1] = 0  # a single step, before round 128
    fresh = simulate_sparse(env, [policy], 255, repetitions(1, 2000)).final[:, 0]
    reused = as_run.final_regret(env, policy, 255, repetitions(2, 2000))
    z, p = distances(fresh[:, None], reused[:, None])
    assert z < 5.5
    assert p > 1e-7
    for other in (residual(), lasso()):
        with pytest.raises(ValueError, match="policy"):
            as_run.final_regret(env, other, 255, repetitions(2, 2))
