"""Several worlds at once: what each is alone, from rows that are drawn once; and worlds with a
margin by the fast paths.

False alarms: every Kolmogorov-Smirnov test is at 1e-7, every z test at 5.5 standard errors; seeds
are fixed.
"""

import numpy as np
import pytest
from sparse_streams import distances

from companion.environments import sphere
from companion.fliphat import shortcuts
from companion.fliphat.environments import autoregressive, margin, pad
from companion.fliphat.policy import fliphat
from companion.fliphat.residual import residual_fliphat
from companion.fliphat.shortcuts import simulate_sparse
from companion.fliphat.two_scores import factor, play_margin, scored
from companion.fliphat.worlds import simulate_worlds
from companion.simulate import repetitions, simulate

BETA, T = pad([1.0, 0.0, -0.8, 0.0, 0.6], 12), 300
WARM = residual_fliphat(
    12, T, sparsity=6, epsilon=1000.0, delta=0.01, l1_radius=2.4, iterations=2, warm=True
)
ONE = fliphat(
    12,
    T,
    sparsity=6,
    epsilon=1000.0,
    delta=0.01,
    b_max=2.4,
    calibration="paper",
    eta=0.1,
    iteration_rate=0.26,
)


@pytest.mark.parametrize("n", [600, pytest.param(10_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("alpha", [np.inf, 0.7])
@pytest.mark.parametrize("policy", [WARM, ONE])
def test_worlds_with_a_margin_have_one_law_by_both_paths(policy, alpha, n):
    env = margin(BETA, gap=1.5, alpha=alpha)
    fast = simulate_sparse(env, [policy], T, repetitions(1, n), grid=[128, T]).regret[:, 0]
    full = simulate(env, [policy], T, repetitions(2, n), grid=[128, T]).regret[:, 0]
    z, p = distances(fast, full)
    assert z < 5.5
    assert p > 1e-7
    early, late = full.mean(axis=0)
    blind = 0.75 / (1.0 + env.power)  # that random play pays a round
    assert late - early < 0.6 * blind * (T - 128)  # they have learned


@pytest.mark.parametrize("theta", [[0.5, -0.2, 0.0, 0.3], [1.2, 0.0, -1.6, 0.0], [0.0] * 4])
def test_a_round_with_a_margin_has_the_scores_of_rows_drawn_in_full(theta):
    """What the played arm shows along theta, its mean reward, the reward and the regret."""
    env, theta = margin([0.6, 0.0, -0.8, 0.0], gap=0.7, alpha=1.0, noise=0.4), np.array(theta)
    w, rng, n, found = scored(env), np.random.default_rng(7), 20_000, []
    f, zero = factor(w, theta), not theta.any()
    for _ in range(n):
        before = w.sums[3]
        one, two, y = play_margin(w, f, zero, rng)
        found.append([f.a * one, f.b * one + f.c * two, y, w.sums[3] - before])
    X, R, mu = (np.concatenate(a) for a in zip(*env.blocks(n, rng), strict=True))
    t = np.arange(n)
    arm = rng.integers(0, 2, n) if zero else (X @ theta).argmax(axis=1)
    slow = np.column_stack([X[t, arm] @ theta, mu[t, arm], R[t, arm], mu.max(axis=1) - mu[t, arm]])
    for a in (fast := np.array(found), slow):
        a[:, 3] = np.where(a[:, 3] < 1e-6, 0.0, a[:, 3])
    fast, slow = (np.column_stack([a, a[:, 1] * a[:, 3], a[:, 0] - a[:, 1]]) for a in (fast, slow))
    kept = fast.std(axis=0) > 1e-12
    assert distances(fast[:, kept], slow[:, kept])[1] > 1e-7


def test_every_world_is_what_it_is_alone_and_rows_are_drawn_once(monkeypatch):
    laws = {"wide": (0.5, np.inf), "close": (0.1, 1.0)}
    places = {name: margin(BETA, gap=gap, alpha=alpha) for name, (gap, alpha) in laws.items()}
    policies, seeds, counts = [WARM, ONE], repetitions(3, 2), []
    alone = {
        name: simulate_sparse(env, policies, T, seeds, path="lazy") for name, env in places.items()
    }
    draw = shortcuts.draw_rows
    monkeypatch.setattr(
        shortcuts, "draw_rows", lambda phi, rng, Z: (counts.append(Z.size), draw(phi, rng, Z))
    )
    both = simulate_worlds(places, policies, T, seeds)
    assert sum(counts) == 2 * 255 * 12
    for name, result in alone.items():
        np.testing.assert_array_equal(both[name].regret, result.regret)
        assert both[name].names == result.names
    assert (both["wide"].final != both["close"].final).all()


def test_worlds_of_other_kinds_or_correlations_are_refused():
    one, other = autoregressive(2, BETA), autoregressive(2, BETA, phi=0.5)
    with pytest.raises(ValueError, match="correlation"):
        simulate_worlds({"a": one, "b": other}, [WARM], T, [1])
    with pytest.raises(ValueError, match="env"):
        simulate_worlds({"a": one, "b": sphere(2, 12)}, [WARM], T, [1])
    with pytest.raises(ValueError, match="worlds"):
        simulate_worlds({}, [WARM], T, [1])
