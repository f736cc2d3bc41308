"""Maler against a slow twin, published values and its regret bounds."""

import numpy as np
import pytest
from maler_twin import Twin, project

from companion.online_linucb import maler


def clip(g, G):
    return g * min(1.0, G / np.linalg.norm(g))


@pytest.mark.parametrize(
    ("d", "D", "G", "seed"), [(2, 1.0, 3.0, 0), (4, 0.5, 1.0, 1), (3, 2, 9, 2)]
)
def test_equals_the_slow_twin_over_noisy_steps(d, D, G, seed):
    rng, T = np.random.default_rng(seed), 400
    p = maler.learner("maler", d, T, ball=D, gradient=G)
    s, twin, left = maler.init(p), Twin(d, T, D, G), 0
    for _ in range(T):
        g = clip(2.0 * (s.theta - D) + 2.0 * G * rng.standard_normal(d), G)
        left += np.linalg.norm(s.newton, axis=0).max() > D * (1 - 1e-9)
        s = maler.update(p, s, g)
        twin.update(g)
        np.testing.assert_allclose(s.theta, twin.theta, rtol=0, atol=1e-12)
        np.testing.assert_allclose(np.exp(s.log_w), twin.w, rtol=0, atol=1e-12)
        everyone = np.vstack([s.convex, s.strong.T, s.newton.T])
        assert np.linalg.norm(everyone, axis=1).max() <= D * (1 + 1e-12)
        assert np.linalg.norm(s.theta) <= D * (1 + 1e-12)
    assert left > 10  # the projection in the Newton norm was really used
    S = np.tril(s.S[:, :, 0]) + np.tril(s.S[:, :, 0], -1).T
    np.testing.assert_allclose(S @ s.S_inv[:, :, 0], np.eye(d), atol=1e-9)


# d = 2, D = 1, G = 6, T = 64, g_t = 2 (theta_t - (.6, -.3)) + (sin t, cos 2t), clipped at 6:
# round: theta, then the weights of the convex and the first strong and Newton experts.
GOLDEN = {
    1: ((0.17613035781, -0.09031939422), (0.33246584365, 0.20860442386, 0.20860442386)),
    2: ((0.119600993755, -0.005040481985), None),
    8: ((0.38673739076, -0.17381591342), None),
    64: ((0.55405510630, -0.27580720290), (0.28654177192, 0.23069097244, 0.21406901183)),
}


def test_golden_values():
    p = maler.learner("maler", 2, 64, gradient=6.0)
    s, n = maler.init(p), len(p.rates)
    for t in range(1, 65):
        g = 2 * (s.theta - (0.6, -0.3)) + (np.sin(t), np.cos(2 * t))
        s = maler.update(p, s, clip(g, 6.0))
        if t in GOLDEN:
            theta, weights = GOLDEN[t]
            np.testing.assert_allclose(s.theta, theta, atol=1e-10)
            if weights is not None:
                np.testing.assert_allclose(np.exp(s.log_w)[[0, 1, 1 + n]], weights, atol=1e-10)


@pytest.mark.parametrize("T", [1, 2, 3, 64, 65, 20_000, 2**40])
def test_priors_sum_to_one_and_there_are_enough_rates(T):
    p = maler.learner("maler", 2, T, gradient=1.0)
    assert abs(np.exp(maler.init(p).log_w).sum() - 1) < 1e-14
    assert len(p.rates) == np.ceil(0.5 * np.log2(T)) + 1
    assert p.rates[-1] <= 1 / (10 * np.sqrt(T))  # the grid reaches down to 1/sqrt(T)


def test_convex_expert_is_projected_gradient_descent_and_so_is_ogd():
    rng = np.random.default_rng(3)
    p, q = (maler.learner(kind, 3, 300, gradient=2.0) for kind in ("maler", "ogd"))
    s, o, theta = maler.init(p), maler.init(q), np.zeros(3)
    for t in range(1, 301):
        g = clip(rng.standard_normal(3) + 0.5, 2.0)
        s, o = maler.update(p, s, g), maler.update(q, o, g)
        theta = project(theta - 2 / (2.0 * np.sqrt(t)) * g, 1.0)
        np.testing.assert_allclose(s.convex, theta, atol=1e-13)
        np.testing.assert_allclose(o.theta, theta, atol=1e-13)


def regret(T, gradient, loss, best, d, G):
    p = maler.learner("maler", d, T, gradient=G)
    s, total = maler.init(p), 0.0
    for t in range(T):
        g = gradient(t, s.theta)
        assert np.linalg.norm(g) <= G
        total += loss(t, s.theta) - loss(t, best)
        s = maler.update(p, s, g)
    return total, p


def test_regret_on_convex_losses_is_below_the_lemma():
    a = np.stack([np.cos(np.arange(900)), np.sin(np.arange(900))], axis=1)
    best = np.array([0.5, -0.5])  # loss zero
    gap = lambda t, x: a[t] @ (x - best)  # noqa: E731
    total, p = regret(
        900, lambda t, x: np.sign(gap(t, x)) * a[t], lambda t, x: abs(gap(t, x)), best, 2, 1.0
    )
    assert 0 < total <= maler.regret_bound(p, 900)
    assert total < 0.2 * 900 * 0.5  # far from linear


def test_regret_on_strongly_convex_losses_is_below_the_lemma_and_logarithmic():
    c = 0.5 * np.stack([np.cos(np.arange(16_000)), 0.4 + np.sin(np.arange(16_000))], axis=1)
    finals = []
    for T in (4000, 16_000):
        best = c[:T].mean(0)
        total, p = regret(
            T, lambda t, x: 2 * (x - c[t]), lambda t, x: ((x - c[t]) ** 2).sum(), best, 2, 4.0
        )
        assert 0 < total <= maler.regret_bound(p, T, strong_convexity=2.0)
        finals.append(total)
    assert finals[1] < 1.7 * finals[0]  # sqrt(T) would double it


@pytest.mark.parametrize(
    ("name", "value"),
    [("d", 0), ("T", 0), ("ball", 0.0), ("ball", np.inf), ("gradient", np.nan), ("kind", "x")],
)
def test_rejects_bad_input_by_name(name, value):
    arguments = {"kind": "maler", "d": 2, "T": 10, "ball": 1.0, "gradient": 1.0, name: value}
    with pytest.raises(ValueError, match=name):
        maler.learner(**arguments)
