"""ECOLog against a twin written from the paper, and its width by hand."""

import numpy as np
import pytest
from maler_twin import project_in_norm
from scipy.special import expit
from streams import first_block, forms, run

from companion.baselines.ecolog import ecolog, radius
from companion.private_glm.environments import world


def test_width_before_any_data_by_hand():
    policy = ecolog(3, theta_bound=0.8)
    assert radius(policy.params, policy.init(policy.params)) == pytest.approx(
        5.36705391569, 1e-10
    )


def test_ecolog_against_a_twin():
    """Every step of both descents, without stopping early; lambda = 10, failure 0.01."""
    # the truth lies outside the ball, so that the projection is at work
    S = 0.8
    n = 250
    X, R = first_block(world("ball", 3, 3.0, K=6), n)
    arms, state = run(ecolog(3, theta_bound=S), X, R)
    V = 10 * np.eye(3)
    theta = np.zeros(3)
    C = 0.0

    def descend(centre, scale, target, x, steps):
        size = 0.75 / (0.25 + 1 / (1 + S / 2))
        direction = np.linalg.solve(V, x)
        v = centre
        for _ in range(steps):
            slope = scale * expit(x @ v) - target
            g = v - centre + slope * direction
            v = project_in_norm(V, v - size * g, S)
        return v

    def loss(z, y):
        return -y * np.log(expit(z)) - (1 - y) * np.log(expit(-z))

    for t in range(n):
        count = t + 1
        log_term = np.log(2 / 0.01 * np.sqrt(1 + count / 40))
        G = np.sqrt(10) / 2 + 2 / np.sqrt(10) * log_term
        width = np.sqrt(max(20 * S**2 + (1 + S) ** 2 * G + C, 0.0))
        squares = forms(X[t], V)
        index = expit(X[t] @ theta) + width * np.sqrt(squares)
        assert index[arms[t]] >= index.max() - 1e-7
        x = X[t, arms[t]]
        y = R[t, arms[t]]
        depth = np.ceil((9 / 4 + S / 8) * np.log(S * (count + 1)))
        steps = int(depth / 0.75)
        theta = descend(theta, 1.0, y, x, steps)
        other = descend(theta, 2.0, 1.0, x, steps)
        gap = theta - other
        gain = loss(x @ other, y) - loss(x @ theta, y)
        C += 2 * (1 + S) * gain - np.sqrt(gap @ V @ gap) / 2
        V = V + expit(x @ theta) * expit(-x @ theta) * np.outer(x, x)
    np.testing.assert_allclose(state.theta_hat, theta, atol=1e-8)
    assert state.surplus == pytest.approx(C, abs=1e-6)
    assert np.linalg.norm(theta) > 0.99 * S
