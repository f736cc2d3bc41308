"""Baselines for generalized linear rewards: regret bands of Table 2, twins, bad input."""

import numpy as np
import pytest
from scipy import optimize

from companion.baselines.ecolog import ecolog
from companion.baselines.glm_ucb import glm_ucb
from companion.baselines.gloc import gloc
from companion.baselines.rs_glinucb import rs_glinucb
from companion.glm import mean
from companion.private_glm.environments import paper_world, world
from companion.simulate import repetitions, simulate


def test_gloc_against_a_twin():
    X, R, _ = next(world("ball", 3, 2.0, "probit", K=6).blocks(300, np.random.default_rng(4)))
    policy = gloc(3, link="probit", theta_bound=2.0, kappa=18.4)
    arms = np.empty(300, np.int64)
    policy.play(policy.params, policy.init(policy.params), X, R, np.random.default_rng(0), arms)
    V, theta, k, L = 3 * np.eye(3), np.zeros(3), 1 / 18.4, 1 / np.sqrt(2 * np.pi)
    q, B = L**2 / k, 2 * k * 4 * 3
    for t in range(300):
        inside = 1 + 2 * B / k + 4 * q**4 / 0.01**2
        width = np.sqrt(1 + 4 / k * B + 8 * q**2 * np.log(2 / 0.01 * np.sqrt(inside)))
        norms = np.sqrt(np.einsum("ki,ij,kj->k", X[t], np.linalg.inv(V), X[t]))
        index = np.array([mean(2, z) for z in X[t] @ theta]) + width * norms
        assert index[arms[t]] >= index.max() - 1e-9
        x = X[t, arms[t]]
        V = V + np.outer(x, x)
        g = (mean(2, x @ theta) - R[t, arms[t]]) * x
        B += g @ np.linalg.inv(V) @ g / (2 * k)
        theta = theta - np.linalg.inv(V) @ g / k
        theta *= 2 / np.linalg.norm(theta)


def test_regret_of_table_2_within_four_standard_errors():
    """Against another implementation (20, 60 runs); bands of 4 joint standard errors."""
    env = paper_world(5000, 3, 2.5, "probit")
    kw = {"link": "probit", "theta_bound": 2.5, "kappa": env.kappa[0]}
    found = simulate(
        env, [gloc(3, **kw), rs_glinucb(3, 5000, **kw)], 5000, repetitions(3, 10)
    ).final
    assert abs(found[:, 0].mean() - 637.5) < 4 * np.hypot(2.1, 3.0)
    assert abs(found[:, 1].mean() - 119.0) < 4 * np.hypot(3.0, 7.4)


@pytest.mark.parametrize("make", [glm_ucb, gloc, rs_glinucb, ecolog])
def test_all_learn(make):
    link = {} if make is ecolog else {"link": "probit", "kappa": 6.0}
    horizon = () if make in (gloc, ecolog) else (2000,)
    policy = make(3, *horizon, theta_bound=1.5, failure=0.9, **link)
    env = world("ball", 3, 1.5, "logistic" if make is ecolog else "probit")
    found = simulate(env, [policy], 2000, repetitions(2, 3), grid=[500, 2000])
    early, late = found.regret[:, 0, 0].mean() / 500, np.diff(found.regret[:, 0]).mean() / 1500
    assert late < 0.97 * early


@pytest.mark.parametrize("make", [glm_ucb, gloc, rs_glinucb, ecolog])
@pytest.mark.parametrize(
    ("name", "value"),
    [("d", 0), ("theta_bound", -1.0), ("failure", 1.0), ("kappa", 1.0), ("link", "linear")],
)
def test_bad_input_is_refused_by_name(make, name, value):
    if make is ecolog and name in ("kappa", "link"):
        name, value = "ridge", 0.0
    horizon = {} if make in (gloc, ecolog) else {"T": 10}
    with pytest.raises(ValueError, match=name):
        make(**({"d": 3} | horizon | {name: value}))


def test_clipped_rewards_are_counted():
    live = gloc(2).start(0)
    for r in (0.5, 3.0, -1.0):
        live.select(np.eye(2))
        live.update(0, r)
    assert live.state.clipped == 2


def play_some(policy, env, n, seed=4):
    """(X, R, arms, state) of n rounds."""
    X, R, _ = next(env.blocks(n, np.random.default_rng(seed)))
    arms = np.empty(n, np.int64)
    rng = np.random.default_rng(0)
    return X, R, arms, policy.play(policy.params, policy.init(policy.params), X, R, rng, arms)


def into_ball(V, z, S):
    """Projection of z on the ball of radius S in the norm of V, by bisection in its eigenbasis."""
    if np.linalg.norm(z) <= S:
        return z
    size, Q = np.linalg.eigh(V)
    w, low, high = size * (Q.T @ z), 0.0, 1e6
    for _ in range(200):
        middle = (low + high) / 2
        if np.linalg.norm(w / (size + middle)) > S:
            low = middle
        else:
            high = middle
    return Q @ (w / (size + high))


def test_ecolog_against_a_twin():
    """Every step of both descents, without stopping early; lambda = 10, failure 0.01."""
    S, n = 0.8, 250  # the truth lies outside the ball, so that the projection is at work
    X, R, arms, state = play_some(ecolog(3, theta_bound=S), world("ball", 3, 3.0, K=6), n)
    V, theta, C = 10 * np.eye(3), np.zeros(3), 0.0

    def m(z):
        return 1 / (1 + np.exp(-z))

    def descend(centre, scale, target, x, steps):
        v = centre.copy()
        for _ in range(steps):
            g = v - centre + (scale * m(x @ v) - target) * np.linalg.solve(V, x)
            v = into_ball(V, v - 0.75 / (0.25 + 1 / (1 + S / 2)) * g, S)
        return v

    def loss(z, y):
        return -y * np.log(m(z)) - (1 - y) * np.log(m(-z))

    for t in range(n):
        count = t + 1
        G = np.sqrt(10) / 2 + 2 / np.sqrt(10) * np.log(2 / 0.01 * np.sqrt(1 + count / 40))
        width = np.sqrt(max(20 * S**2 + (1 + S) ** 2 * G + C, 0.0))
        norms = np.sqrt(np.einsum("ki,ij,kj->k", X[t], np.linalg.inv(V), X[t]))
        index = m(X[t] @ theta) + width * norms
        assert index[arms[t]] >= index.max() - 1e-7
        x, y = X[t, arms[t]], R[t, arms[t]]
        steps = int(np.ceil((9 / 4 + S / 8) * np.log(S * (count + 1))) / 0.75)
        theta = descend(theta, 1.0, y, x, steps)
        other = descend(theta, 2.0, 1.0, x, steps)
        gap = theta - other
        C += 2 * (1 + S) * (loss(x @ other, y) - loss(x @ theta, y)) - np.sqrt(gap @ V @ gap) / 2
        V = V + m(x @ theta) * m(-x @ theta) * np.outer(x, x)
    np.testing.assert_allclose(state.theta_hat, theta, atol=1e-8)
    assert state.surplus == pytest.approx(C, abs=1e-6)
    assert np.linalg.norm(theta) > 0.99 * S


def test_rs_glinucb_against_a_twin():
    """Warm-up, both fits, elimination and index; fits by SciPy."""
    S, n, kappa = 1.5, 300, 6.0
    policy = rs_glinucb(3, n, theta_bound=S, kappa=kappa, tolerance=1e-14)
    X, R, arms, state = play_some(policy, world("ball", 3, S, K=6), n)

    def fit(rows):
        x, y = np.array([r[0] for r in rows]), np.array([r[1] for r in rows])

        def objective(v):
            z = x @ v
            return np.logaddexp(0, z).sum() - y @ z + 0.25 * v @ v

        return optimize.minimize(objective, np.zeros(3), method="BFGS", options={"gtol": 1e-9}).x

    root = np.sqrt(3 * np.log(n / 0.01))
    V, H, last = 0.5 * np.eye(3), 0.5 * np.eye(3), None
    warm, every, theta_w, theta_h = [], [], np.zeros(3), np.zeros(3)
    for t in range(n):
        norms = np.einsum("ki,ij,kj->k", X[t], np.linalg.inv(V), X[t])
        x, y = X[t, arms[t]], R[t, arms[t]]
        if norms.max() > 100 / (kappa * S**2 * 3):
            assert norms[arms[t]] >= norms.max() - 1e-12
            warm.append((x, y))
            every.append((x, y))
            V = V + np.outer(x, x)
            theta_w = fit(warm)
            continue
        if last is None or np.linalg.det(H) >= 1.5 * np.linalg.det(last):
            last, theta_h = H.copy(), fit(every) if every else np.zeros(3)
        half = S * root * np.sqrt(kappa * norms)
        keep = X[t] @ theta_w + half >= (X[t] @ theta_w - half).max()
        width = np.sqrt(np.einsum("ki,ij,kj->k", X[t], np.linalg.inv(last), X[t]))
        index = np.where(keep, X[t] @ (theta_w + theta_h) / 2 + 4 * root * width, -np.inf)
        assert index[arms[t]] >= index.max() - 1e-4
        every.append((x, y))
        m = mean(1, x @ theta_w)
        H = H + m * (1 - m) * np.outer(x, x)
    assert state.n_warm == len(warm)
    np.testing.assert_allclose(state.H, H, atol=1e-4)
    np.testing.assert_allclose(state.theta_hat, theta_h, atol=1e-4)
