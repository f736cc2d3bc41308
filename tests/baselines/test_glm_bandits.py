"""Baselines for generalized linear rewards: regret bands of Table 2, twins, bad input."""

import numpy as np
import pytest

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
