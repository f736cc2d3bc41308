"""ShuffleGLM against a slow twin, its weights, ridges and eliminations."""

import numpy as np
import pytest

from companion.audits.faults import uncompiled
from companion.private_glm import batches
from companion.private_glm.environments import world
from companion.private_glm.shuffle import init, shuffle_glm, update, weight
from companion.simulate import repetitions, simulate


def test_weights_are_capped_whatever_the_estimate_says():
    policy = shuffle_glm(2, 3, 400, epsilon=1.0, delta=0.01, theta_bound=2.0, kappa_star=9.0)
    p, s = policy.params, init(policy.params)
    assert p.caps.tolist() == [1.0, 1 / 9, 1 / 9]
    s = s._replace(k=1)
    for theta in ([0.0, 0.0], [2.0, 0.0], [-1.0, 1.0]):
        s.theta[0, :] = theta
        for x in np.eye(2):
            assert weight(p.link, x @ theta, 0.0, p.theta_bound, p.caps[1]) <= 1 / 9
    assert shuffle_glm(2, 3, 400, epsilon=1.0, delta=0.01, link="logistic").params.caps[1] == 0.25


def test_a_message_has_the_weight_of_the_clipped_context():
    p, sums = (
        shuffle_glm(2, 3, 400, epsilon=np.inf, delta=0.01, theta_bound=2.0, first=50).params,
        [],
    )
    for size in (1.0, 30.0):
        s = init(p)._replace(t=60, k=1)
        s.theta[0, 0], s.V_inv[0] = 1.0, 0.1 * np.eye(2)
        context = size * np.array([0.6, 0.8])
        uncompiled(update)(p, s, 0, context, 1.0, np.random.default_rng(0))
        sums.append(s.batch.counts.copy())
    assert sums[0] == pytest.approx(sums[1])
    assert sums[0][0] > 0


def test_the_ridge_is_two_deviations_of_the_noise_that_is_drawn():
    """1 + 2 sqrt(d) times that of an entry of the released matrix; 6 standard errors."""
    p, rng = (
        shuffle_glm(3, 4, 1000, epsilon=1.0, delta=0.01, theta_bound=2.0, kappa_star=9.0).params,
        np.random.default_rng(1),
    )
    users = np.diff(p.ends, prepend=0)[:-1]
    for n, b, cap, g, ridge in zip(users, p.bits_matrix, p.caps, p.g, p.ridge, strict=False):
        spread = cap / g * rng.binomial(n * b, 0.25, 5000).std()
        assert ridge - 1.0 == pytest.approx(2.0 * np.sqrt(3.0) * spread, rel=0.06)
    assert shuffle_glm(3, 4, 1000, epsilon=np.inf, delta=0.01).params.ridge.tolist() == [1.0, 1.0]


def test_the_guarantee_is_that_of_the_worst_batch():
    policy = shuffle_glm(3, 4, 1000, epsilon=1.0, delta=0.01, first=60)
    users = np.diff(policy.params.ends, prepend=0)[:-1]
    proved = [batches.calibrated(int(n), 3, 20, 1.0, 0.01)[2] for n in users]
    assert min(proved) < policy.guarantee.epsilon == max(proved) <= 1.0


def test_the_width_follows_the_budget():
    for epsilon, gamma in ((0.25, 2.0), (4.0, 1.0), (np.inf, 1.0)):
        p = shuffle_glm(3, 4, 400, epsilon=epsilon, delta=0.01, kappa=9.0).params
        assert p.widths == pytest.approx([3.0 * gamma, gamma])


def test_it_learns_and_noise_costs():
    env = world("ball", 3, 2.0)
    policies = [
        shuffle_glm(3, 10, 6000, epsilon=e, delta=0.01, theta_bound=2.0, gamma=1.0).renamed(str(e))
        for e in (np.inf, 0.1)
    ]
    found = simulate(env, policies, 6000, repetitions(5, 4), grid=[1000, 6000])
    first, second = found.regret[:, :, 0].mean(axis=0), found.final.mean(axis=0)
    assert second[0] - first[0] < 2.5 * first[0]  # five times as many rounds
    assert second[1] > 2 * second[0]


def test_paper_calibration_says_what_it_gives():
    policy = shuffle_glm(3, 4, 1000, epsilon=1.0, delta=0.01, calibration="paper")
    assert policy.guarantee.claimed == (1.0, 0.01)
    assert 0 <= policy.guarantee.epsilon < 0.1


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("d", 0),
        ("K", 0),
        ("T", 2),
        ("epsilon", -1.0),
        ("delta", 0.0),
        ("theta_bound", np.inf),
        ("kappa", 2.0),
        ("kappa_star", 99.0),
        ("M", 1),
        ("first", 399),
        ("schedule", "even"),
        ("gamma", 0.0),
        ("widths", "all"),
        ("steps", 0),
        ("penalty", 0.0),
        ("tolerance", 1.0),
        ("calibration", "exact"),
        ("share", 0.0),
        ("link", "cloglog"),
    ],
)
def test_bad_input_is_refused_by_name(name, value):
    with pytest.raises(ValueError, match=name):
        shuffle_glm(**({"d": 3, "K": 4, "T": 400, "epsilon": 1.0} | {name: value}))


def twin_design(A, tolerance=2.0):
    """Wynn's algorithm with matrix inverses, on the arms that are not ruled out."""
    pi, ridge = np.full(len(A), 1 / len(A)), 1e-8 * (A**2).sum(axis=1).max()
    while True:
        M = A.T @ (pi[:, None] * A)
        g = np.einsum("ki,ij,kj->k", A, np.linalg.inv(M + ridge * np.eye(A.shape[1])), A)
        k, rank = int(g.argmax()), pi @ g
        if len(A) == 1 or g[k] <= tolerance * rank or g[k] <= 1.0:
            return pi
        s = (g[k] / rank - 1) / (g[k] - 1)
        pi = pi * (1 - s)
        pi[k] += s


def twin_arms(X, R, ends, S, kappa, gamma, steps):
    """Algorithm 1 with exact sums in NumPy (logistic, ridge 1, penalty 1)."""
    rng, start, arms, theta, V_inv = np.random.default_rng(0), 0, [], [], []
    for k, end in enumerate(ends):
        rows, seen = [], []
        for t in range(start, end):
            alive, doubt = np.arange(X.shape[1]), np.zeros(X.shape[1])
            for j in range(k):
                norm = np.sqrt(np.einsum("ki,ij,kj->k", X[t], V_inv[j], X[t]))
                half = gamma * norm * (np.sqrt(kappa) if j == 0 else 1)
                doubt = half if j == 0 else doubt
                score = X[t] @ theta[j]
                low = (score - half)[alive].max()
                alive = alive[(score + half)[alive] >= low]
            w = np.ones(X.shape[1])
            if k > 0:
                m = 1 / (1 + np.exp(-X[t] @ theta[0]))
                w = np.minimum(m * (1 - m) * np.exp(-np.minimum(2 * S, doubt)), 0.25)
            pi = twin_design(np.sqrt(w)[alive, None] * X[t][alive])
            u = rng.random() if len(alive) > 1 else 0.0
            arm = alive[min(np.searchsorted(np.cumsum(pi), u, side="right"), len(alive) - 1)]
            arms.append(arm)
            rows.append(w[arm] * np.outer(X[t, arm], X[t, arm]))
            seen.append((X[t, arm], R[t, arm]))
        start = end
        V = np.eye(X.shape[2]) + sum(rows)
        V_inv.append(np.linalg.inv(V))
        v, kept = theta[-1].copy() if theta else np.zeros(X.shape[2]), []
        P = np.linalg.inv((0.25 if k == 0 else 1.5) * V + np.eye(X.shape[2]))
        x, y = np.array([s[0] for s in seen]), np.array([s[1] for s in seen])
        for _ in range(steps):
            v = v - P @ (x.T @ (1 / (1 + np.exp(-x @ v)) - y) + v)
            v = v * min(1.0, S / np.linalg.norm(v))
            kept.append(v)
        theta.append(np.mean(kept[steps // 2 :], axis=0))
    return np.array(arms)


def test_without_noise_every_arm_is_the_twin_s():
    X, R, _ = next(world("ball", 3, 2.0, K=6).blocks(900, np.random.default_rng(4)))
    policy = shuffle_glm(
        3, 6, 900, epsilon=np.inf, delta=0.01, theta_bound=2.0, kappa=9.0, gamma=0.4, first=100
    )
    arms, ends = np.empty(900, np.int64), policy.params.ends
    state = policy.play(policy.params, init(policy.params), X, R, np.random.default_rng(0), arms)
    twin = twin_arms(X, R, ends, 2.0, 9.0, 0.4, 20)
    assert np.array_equal(arms, twin)
    assert state.k == 2
    assert state.alive.sum() < 6  # arms were ruled out


def test_a_new_batch_has_none_of_the_users_before():
    policy = shuffle_glm(2, 2, 400, epsilon=np.inf, delta=0.01, first=50)
    state, rng = init(policy.params), np.random.default_rng(0)
    for t in range(53):
        assert state.batch.size[0] == (t if t < 50 else t - 50)
        state = policy.update(policy.params, state, 0, np.array([0.6, 0.0]), 1.0, rng)
