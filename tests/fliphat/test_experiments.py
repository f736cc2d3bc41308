"""The paper's settings, and the errors of N-IHT, against the kernels called one by one."""

import numpy as np
import pytest

from companion.fliphat import simulate_sparse, theory
from companion.fliphat.accounting import exact_factor
from companion.fliphat.environments import autoregressive, gaussian_statistics, margin, pad
from companion.fliphat.experiments import (
    as_published,
    honest_variants,
    niht_errors,
    regret_terms,
    scaling,
)
from companion.fliphat.regression import Regression, niht_statistics, work_for
from companion.fliphat.residual import residual_fliphat
from companion.simulate import simulate

TRUTH = np.array([1.0, -0.5, 0.0, 0.0])


def test_errors_are_those_of_algorithm_1_with_exactly_composed_noise():
    options = {"sparsity": 2, "delta": 0.02, "iterations": 3, "eta": 0.3}
    found = niht_errors(TRUTH, [50, 5000], [2.0, np.inf], [7], **options)
    assert found.shape == (1, 2, 2)
    rng = np.random.default_rng(np.random.SeedSequence(7))
    for i, n in enumerate((50, 5000)):
        G, c = gaussian_statistics(rng, n, TRUTH, 1.0)
        for j, e in enumerate((2.0, np.inf)):
            xi = 4 * 0.3 * 3 * (6 + 3 * 1.5) / n * exact_factor(6, e, 0.02)
            q = Regression(2, 3, 0.3, 1.5, np.inf, np.inf, np.inf, xi, xi)
            theta, picks, errors = np.zeros(4), np.zeros(2, np.int64), np.empty(3)
            niht_statistics(q, G, c, n, rng, theta, picks, 0, work_for(4, 2), errors, TRUTH)
            assert found[0, j, i] == pytest.approx(((theta - TRUTH) ** 2).sum())


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("ns", {"ns": [4]}),
        ("sparsity", {"sparsity": 5}),
        ("iterations", {"iterations": 0}),
        ("eta", {"eta": 0.0}),
        ("truth", {"truth": [np.nan]}),
        ("epsilon", {"epsilons": [0.0]}),
        ("seeds", {"seeds": []}),
    ],
)
def test_bad_input_is_named(name, change):
    keys = {"truth": TRUTH, "ns": [50], "epsilons": [1.0], "seeds": [1], "sparsity": 2}
    with pytest.raises(ValueError, match=name):
        niht_errors(**keys | {"delta": 0.1} | change)


def test_settings_are_those_of_the_paper():
    policy = as_published(1.0, 400, 20_000, signal=[0.75, -0.5], sparsity=10, delta=0.01)
    p = policy.params
    assert (p.l1_radius, p.eta, p.row_clip, policy.name) == (1.25, 1e-4, np.inf, "ε = 1")
    assert policy.guarantee.claimed == (1.0, 0.01)
    made = honest_variants(1.0, 30, 2000, signal=[0.75, -0.5], sparsity=4)
    assert [(v.params.iterations.max(), v.params.warm) for v in made.values()] == [
        (1, False),
        (1, True),
        (3, False),
    ]
    for v in made.values():
        assert (v.params.l1_radius, v.params.gradient_clip, v.params.residual_clip) == (1.25, 1, 1)
        assert v.guarantee[:3] == ("joint", 1.0, 0.01)


def test_growth_is_measured_in_worlds_of_their_own():
    """Every (world, budget) has the regret of `simulate_sparse` under its own name."""
    options = {"signal": [0.75, -0.5], "sparsity": 3, "iteration_rate": 0.3}
    worlds = {f"d = {n}": (autoregressive(3, pad([0.75, -0.5], n)), options) for n in (10, 20)}
    found = scaling(worlds, [1.0, 50.0], 100, [1, 2, 3])
    assert list(found) == [1.0, 50.0]
    policy = as_published(50.0, 20, 100, **options).renamed("ε = 50, d = 20")
    alone = simulate_sparse(worlds["d = 20"][0], [policy], 100, [1, 2, 3]).final[:, 0]
    np.testing.assert_array_equal(found[50.0][:, 1], alone)
    assert found[1.0].shape == (3, 2)
    assert len(np.unique(np.concatenate(list(found.values())))) == 12


def test_bounds_of_the_theorems_at_hand():
    free, private = theory.regret_bound(0.0, 10**6, 10, 6.0, 0.5, 0.01)
    n = np.arange(15)
    assert free == pytest.approx(999 * np.sqrt(600))
    assert private == pytest.approx((n**2).sum() * np.sqrt(1000 * 36 * np.log(100)) / 0.5)
    assert theory.regret_bound(1.0, 10**6, 10, 6.0, 0.5, 0.01)[0] == pytest.approx(
        np.log(10**6) / 2 * 600
    )
    private, other = theory.lower_bound(10**4, 5, 4.0, 0.5, 0.01)
    assert (private, other) == pytest.approx((np.sqrt(5 * 16 * np.log(100)) / 0.5, 100 * 20**0.5))
    assert theory.lower_bound(10**4, 5, 4.0, 0.5, 0.0)[0] == pytest.approx(5 * 8 / 0.5)


def peeled(rng, d):
    """Error of peeling and the bound of Lemma D.1 at many c, by the words of the lemma."""
    size = rng.integers(2, d + 1)
    kept = rng.integers(1, size)
    rivals = rng.integers(1, kept + 1)
    v, rival = np.zeros(d), np.zeros(d)
    v[rng.choice(d, size, replace=False)] = rng.standard_normal(size)
    best = np.argsort(-np.abs(v))[:rivals]
    rival[best] = v[best] + rng.exponential(0.3) * rng.standard_normal(rivals)
    noise, left = rng.laplace(0, rng.exponential(0.5), (kept, d)), list(range(d))
    for w in noise:
        left.remove(max(left, key=lambda j: abs(v[j]) + w[j]))
    c = np.geomspace(1e-6, 1e6, 200_001)
    first = (1 + 1 / c) * (size - kept) / (size - rivals) * np.sum((rival - v) ** 2)
    return np.sum(v[left] ** 2), (first + 4 * (1 + c) * np.sum(np.max(np.abs(noise), 1) ** 2)).min()


def test_peeling_stays_below_its_bound_and_comes_close():
    for seed in range(30):
        error, bound = peeled(np.random.default_rng(seed), 8)
        found = theory.peeling_error(np.random.default_rng(seed), 8)
        assert found == pytest.approx(error / bound, rel=1e-6, abs=1e-12)
    rng = np.random.default_rng(1)
    found = [theory.peeling_error(rng, int(rng.integers(3, 12))) for _ in range(2000)]
    assert 0.8 < max(found) <= 1 + 1e-12


def test_terms_of_the_regret_are_those_of_the_run():
    """They add up to the regret of `simulate`, and the proof's inequalities hold in every mean;
    with a constant gap few rounds are close once the estimate is good."""
    world = margin(pad([0.7, -0.7], 10), gap=0.5, alpha=np.inf, noise=0.2)
    options = {"sparsity": 4, "epsilon": np.inf, "iterations": 2, "warm": True}
    policy = residual_fliphat(10, 1000, **options)
    found = regret_terms(world, policy, 1000, [1, 2])
    assert found.shape == (2, 10, 4)
    lost, off, near, close = np.moveaxis(found, -1, 0)
    rounds = np.diff(np.minimum(2 ** np.arange(11), 1001))
    run = simulate(world, [policy], 1000, [1, 2]).final[:, 0]
    np.testing.assert_allclose(lost @ rounds, run)
    assert (lost <= near + 1e-12).all()
    assert (near <= off).all()
    assert close[:, 0].tolist() == [1.0, 1.0]
    assert (close[:, -1] < 0.5).all()
